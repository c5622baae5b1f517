package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/diag"
	"pipe/internal/repo"
	"pipe/lockfile"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// project is a folder with a real git repository around it.
type project struct {
	t    *testing.T
	dir  string // the project's root
	home string
}

// in runs git in a folder, cut off from the machine's own configuration.
func (p *project) in(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_MERGE_AUTOEDIT=no", "GIT_EDITOR=true",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	return p.in(p.dir, args...)
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: real(t), home: real(t)}
	p.git("init", "-q", "-b", "main")
	return p
}

// lock gives the text of a lock in which stage s made prod.t at each snapshot in turn, "-" standing for no entry.
func lockText(snapshots ...string) string {
	l := lockfile.Lock{Stages: map[string]*lockfile.Entry{}}
	for i, id := range snapshots {
		if id == "-" {
			continue
		}
		l.Stages[fmt.Sprintf("s%d", i)] = &lockfile.Entry{
			Fingerprint: "1:00",
			Outs:        []lockfile.Out{{Table: fmt.Sprintf("prod.t%d", i), Sink: "lake", Snapshot: id, Digest: "1:00", Rows: 1}},
		}
	}
	return string(l.Encode())
}

func (p *project) setLock(snapshots ...string) {
	p.t.Helper()
	write(p.t, lockText(snapshots...), p.dir, "pipeline.lock")
}

func (p *project) commit(snapshots ...string) string {
	p.t.Helper()
	p.setLock(snapshots...)
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", "lock "+strings.Join(snapshots, " "))
	return p.git("rev-parse", "HEAD")
}

func (p *project) open() *repo.Git {
	p.t.Helper()
	l := open(p.t, p.dir)
	g, err := repo.OpenGit(l.Root)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = g.Close() })
	return g
}

func key(n int) plan.TableKey {
	return plan.TableKey{Sink: "lake", Table: fmt.Sprintf("prod.t%d", n)}
}

func (p *project) history() plan.History {
	p.t.Helper()
	h, err := p.open().History([]plan.TableKey{key(0), key(1)})
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *project) wantNames(want map[string]bool) {
	p.t.Helper()
	h := p.history()
	for id, w := range want {
		if got := h.Names(key(0), sinks.SnapshotID(id)); got != w {
			p.t.Errorf("Names(%s) = %v, want %v", id, got, w)
		}
	}
}

func (p *project) wantTurned(want map[string]bool) {
	p.t.Helper()
	h := p.history()
	for id, w := range want {
		if got := h.TurnedAway("s0", key(0), sinks.SnapshotID(id)); got != w {
			p.t.Errorf("TurnedAway(%s) = %v, want %v", id, got, w)
		}
	}
}

func TestWithoutGit(t *testing.T) {
	dir := real(t)
	g, err := repo.OpenGit(dir)
	if err != nil || g != nil {
		t.Fatalf("OpenGit = %v, %v", g, err)
	}
	if g.Revision() != "none" || g.Detached() {
		t.Errorf("revision %q, detached %v", g.Revision(), g.Detached())
	}
	h, err := g.History([]plan.TableKey{key(0)})
	if err != nil {
		t.Fatal(err)
	}
	if h.Names(key(0), "1") || h.TurnedAway("s0", key(0), "1") || h.Contains("none") || h.Revision() != "none" {
		t.Error("a folder without git knows something")
	}
	if ok, by := g.Ignored("pipeline.lock", ""); ok {
		t.Errorf("ignored by %q", by)
	}
}

func TestUnbornBranch(t *testing.T) {
	p := newProject(t)
	p.setLock("1")
	g := p.open()
	if g.Revision() != "none" || g.Detached() {
		t.Errorf("revision %q, detached %v", g.Revision(), g.Detached())
	}
	p.wantNames(map[string]bool{"1": false})
	p.wantTurned(map[string]bool{"1": false})
}

func TestNamesEverySnapshotOfTheHistoryAndNoOther(t *testing.T) {
	p := newProject(t)
	p.commit("1", "-")
	p.commit("2", "7")
	p.git("branch", "side")
	p.commit("3", "7")
	p.git("switch", "-q", "side")
	p.commit("4", "7")
	p.setLock("5", "7") // never committed
	p.wantNames(map[string]bool{"1": true, "2": true, "3": false, "4": true, "5": false, "7": false, "": false})
	if h := p.history(); !h.Names(key(1), "7") || h.Names(plan.TableKey{Sink: "other", Table: "prod.t1"}, "7") {
		t.Error("the sink does not count")
	}
}

func TestRevertTurnsTheLockAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.commit("2")
	p.wantTurned(map[string]bool{"1": true, "2": false}) // moving on turns away from the old one, which then is no head
	p.git("revert", "--no-edit", "HEAD")
	p.wantTurned(map[string]bool{"1": true, "2": true})
}

func TestCheckoutOfAnOldLockInTheWorkTreeTurnsAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.commit("2")
	p.git("checkout", "-q", "HEAD~", "--", "pipeline.lock")
	p.wantTurned(map[string]bool{"2": true})
}

func TestADiscardedRunIsNotTurnedAway(t *testing.T) {
	// A run made 2 and its lock was thrown away before it was ever committed: no history has been there.
	p := newProject(t)
	p.commit("1")
	p.setLock("2")
	p.git("checkout", "-q", "--", "pipeline.lock")
	p.wantTurned(map[string]bool{"2": false})
}

func TestAResetHistoryIsNotTurnedAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.commit("2")
	p.git("reset", "-q", "--hard", "HEAD~")
	p.wantTurned(map[string]bool{"2": false})
	p.wantNames(map[string]bool{"1": true, "2": false})
}

func TestALostEntryIsNotTurnedAway(t *testing.T) {
	p := newProject(t)
	p.commit("1", "7")
	p.commit("-", "7") // the stage is gone, so no lock says anything about its table
	p.wantTurned(map[string]bool{"1": false})
}

func TestADeletedLockIsNotTurnedAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	if err := os.Remove(filepath.Join(p.dir, "pipeline.lock")); err != nil {
		t.Fatal(err)
	}
	p.wantTurned(map[string]bool{"1": false})
}

func TestAMergeSettledForTheOtherSideIsNotTurnedAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.git("branch", "side")
	p.commit("2")
	p.git("switch", "-q", "side")
	p.commit("3")
	p.git("merge", "-q", "-s", "ours", "main")
	p.wantTurned(map[string]bool{"2": false, "3": false})
	p.wantNames(map[string]bool{"1": true, "2": true, "3": true})
}

func TestAMergeThatWaitsForItsCommitIsNotTurnedAway(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.git("branch", "side")
	p.commit("2")
	p.git("switch", "-q", "side")
	p.commit("3")
	cmd := exec.Command("git", "-C", p.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "merge", "main")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the merge did not conflict: %s", out)
	}
	p.setLock("2") // settled for main's side; HEAD's lock named 3
	p.wantTurned(map[string]bool{"3": false})
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "merged")
	p.wantTurned(map[string]bool{"3": false})
}

func TestARevertBelowAMergeIsSeen(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.git("branch", "side")
	p.commit("2")
	p.git("revert", "--no-edit", "HEAD")
	p.git("switch", "-q", "side")
	write(t, "x", p.dir, "other")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "other")
	p.git("merge", "-q", "main")
	p.wantTurned(map[string]bool{"2": true})
}

func TestALockThatDoesNotParseNamesNothing(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	text := lockText("2")
	write(t, strings.Replace(text, "stages:", "<<<<<<< ours\nstages:", 1), p.dir, "pipeline.lock")
	p.git("commit", "-q", "-a", "-m", "conflict markers")
	p.commit("3")
	p.wantNames(map[string]bool{"1": true, "2": false, "3": true})
	p.wantTurned(map[string]bool{"1": false, "2": false})
}

func TestTwoTablesWithOneIDAreToldApart(t *testing.T) {
	p := newProject(t)
	p.commit("7", "1")
	p.commit("8", "7") // prod.t0 leaves 7 while prod.t1 takes it
	p.wantTurned(map[string]bool{"7": false})
	p.commit("7", "7")
	p.commit("9", "7")
	p.wantTurned(map[string]bool{"7": true})
}

func TestContains(t *testing.T) {
	p := newProject(t)
	first := p.commit("1")
	p.git("branch", "side")
	second := p.commit("2")
	p.git("switch", "-q", "side")
	third := p.commit("3")
	h := p.history()
	for name, c := range map[string]struct {
		rev  string
		want bool
	}{
		"HEAD": {third, true}, "below": {first, true}, "another branch": {second, false}, "dirty": {first + "+dirty", false},
		"none": {"none", false}, "short": {first[:8], false}, "empty": {"", false},
	} {
		if got := h.Contains(c.rev); got != c.want {
			t.Errorf("%s: Contains(%q) = %v", name, c.rev, got)
		}
	}
}

func TestShallowCloneKnowsLess(t *testing.T) {
	p := newProject(t)
	first := p.commit("1")
	p.commit("2")
	third := p.commit("3")
	clone := &project{t: t, dir: filepath.Join(real(t), "clone"), home: p.home}
	p.git("clone", "-q", "--depth", "2", "file://"+p.dir, clone.dir)
	clone.wantNames(map[string]bool{"1": false, "2": true, "3": true})
	clone.wantTurned(map[string]bool{"1": false, "2": true})
	if h := clone.history(); h.Contains(first) || !h.Contains(third) {
		t.Error("Contains does not end at the edge")
	}
}

func TestPartialAndSharedClones(t *testing.T) {
	p := newProject(t)
	p.git("config", "uploadpack.allowFilter", "true")
	p.commit("1")
	p.commit("2")
	p.git("revert", "--no-edit", "HEAD")
	p.git("gc", "-q")

	shared := &project{t: t, dir: filepath.Join(real(t), "shared"), home: p.home}
	p.git("clone", "-q", "--shared", p.dir, shared.dir)
	shared.wantNames(map[string]bool{"1": true, "2": true})
	shared.wantTurned(map[string]bool{"2": true})

	partial := &project{t: t, dir: filepath.Join(real(t), "partial"), home: p.home}
	p.git("clone", "-q", "--filter=blob:none", "file://"+p.dir, partial.dir)
	partial.wantNames(map[string]bool{"1": true, "2": false}) // only HEAD's blobs are there
	partial.wantTurned(map[string]bool{"2": false})
}

func TestProjectInASubfolder(t *testing.T) {
	p := newProject(t)
	top := p.dir
	write(t, lockText("9"), top, "pipeline.lock") // another project's
	p.dir = filepath.Join(top, "etl", "daily")
	p.setLock("1")
	p.in(top, "add", "-A")
	p.in(top, "commit", "-q", "-m", "one")
	p.commit("2")
	p.in(top, "revert", "--no-edit", "HEAD")
	p.wantNames(map[string]bool{"1": true, "2": true, "9": false})
	p.wantTurned(map[string]bool{"2": true})
	if rev := p.open().Revision(); strings.Contains(rev, "dirty") {
		t.Errorf("revision %q", rev)
	}
	write(t, lockText("8"), top, "pipeline.lock")
	if rev := p.open().Revision(); !strings.HasSuffix(rev, "+dirty") {
		t.Errorf("the other project's lock is tracked and changed, but the revision is %q", rev)
	}
}

func TestLinkedWorkTree(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	p.commit("2")
	linked := &project{t: t, dir: filepath.Join(real(t), "linked"), home: p.home}
	p.git("worktree", "add", "-q", "-b", "side", linked.dir)
	p.git("config", "extensions.worktreeConfig", "true")
	linked.git("revert", "--no-edit", "HEAD")
	linked.wantTurned(map[string]bool{"2": true})
	p.wantTurned(map[string]bool{"2": false})
	if got, want := linked.open().Revision(), linked.git("rev-parse", "HEAD"); got != want {
		t.Errorf("revision %q, want %q", got, want)
	}
	linked.git("checkout", "-q", "--detach")
	if !linked.open().Detached() || p.open().Detached() {
		t.Error("the work trees share a HEAD")
	}
}

func TestRevision(t *testing.T) {
	edits := map[string]struct {
		edit  func(p *project)
		dirty bool
	}{
		"nothing":               {func(*project) {}, false},
		"the lock":              {func(p *project) { p.setLock("2") }, false},
		"the lock, staged":      {func(p *project) { p.setLock("2"); p.git("add", "-A") }, false},
		"the lock, deleted":     {func(p *project) { p.git("rm", "-q", "-f", "pipeline.lock") }, false},
		"a file git has not":    {func(p *project) { write(p.t, "x", p.dir, "new") }, false},
		"a new file, staged":    {func(p *project) { write(p.t, "x", p.dir, "new"); p.git("add", "-A") }, true},
		"an edit":               {func(p *project) { write(p.t, "edited\n", p.dir, "code", "a.sh") }, true},
		"an edit of equal size": {func(p *project) { write(p.t, "omt\n", p.dir, "code", "a.sh") }, true},
		"an edit, staged":       {func(p *project) { write(p.t, "edited\n", p.dir, "code", "a.sh"); p.git("add", "-A") }, true},
		"staged, then undone": {func(p *project) {
			write(p.t, "edited\n", p.dir, "code", "a.sh")
			p.git("add", "-A")
			write(p.t, "one\n", p.dir, "code", "a.sh")
		}, true},
		"an edit that restores size and time": {func(p *project) {
			st, err := os.Stat(p.path("code/a.sh"))
			p.must(err)
			write(p.t, "omt\n", p.dir, "code", "a.sh")
			p.must(os.Chtimes(p.path("code/a.sh"), st.ModTime(), st.ModTime()))
		}, true},
		"a touch":         {func(p *project) { p.touch("code/a.sh") }, false},
		"deleted":         {func(p *project) { p.remove("code/a.sh") }, true},
		"executable":      {func(p *project) { p.chmod("code/a.sh", 0o755) }, true},
		"another link":    {func(p *project) { p.remove("link"); p.symlink("elsewhere", "link") }, true},
		"file for link":   {func(p *project) { p.remove("link"); write(p.t, "code/a.sh", p.dir, "link") }, true},
		"folder in place": {func(p *project) { p.remove("code/a.sh"); write(p.t, "", p.dir, "code", "a.sh", "x") }, true},
	}
	for name, c := range edits {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			write(t, "one\n", p.dir, "code", "a.sh")
			p.symlink("code/a.sh", "link")
			want := p.commit("1")
			c.edit(p)
			if c.dirty {
				want += "+dirty"
			}
			if got := p.open().Revision(); got != want {
				t.Errorf("revision %q, want %q\n%s", got, want, p.git("status", "--short"))
			}
		})
	}
}

func (p *project) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) remove(name string) { p.t.Helper(); p.must(os.Remove(p.path(name))) }
func (p *project) symlink(target, name string) {
	p.t.Helper()
	p.must(os.Symlink(target, p.path(name)))
}

func (p *project) chmod(name string, m os.FileMode) { p.t.Helper(); p.must(os.Chmod(p.path(name), m)) }

// touch rewrites a file with what it holds.
func (p *project) touch(name string) {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	p.must(err)
	p.remove(name)
	p.must(os.WriteFile(p.path(name), data, 0o666))
}

func TestRepositoryBehindARelativeLink(t *testing.T) {
	p := newProject(t)
	want := p.commit("1")
	p.must(os.MkdirAll(p.path("sub/store"), 0o777))
	p.must(os.Rename(p.path(".git"), p.path("sub/store/git")))
	write(t, "gitdir: sub/store/git\n", p.dir, ".git")
	if got := p.open().Revision(); got != want {
		t.Errorf("revision %q, want %q", got, want)
	}
}

func TestDetached(t *testing.T) {
	p := newProject(t)
	first := p.commit("1")
	p.commit("2")
	if p.open().Detached() {
		t.Error("a branch counts as detached")
	}
	p.git("checkout", "-q", first)
	g := p.open()
	if !g.Detached() || g.Revision() != first {
		t.Errorf("detached %v at %q", g.Detached(), g.Revision())
	}
}

func TestPackedRefs(t *testing.T) {
	p := newProject(t)
	want := p.commit("1")
	p.git("pack-refs", "--all")
	p.git("gc", "-q")
	if got := p.open().Revision(); got != want {
		t.Errorf("revision %q, want %q", got, want)
	}
}

func TestARepositoryOfAnotherFormatIsNotTakenForNone(t *testing.T) {
	p := &project{t: t, dir: real(t), home: real(t)}
	p.git("init", "-q", "--object-format=sha256")
	_, err := repo.OpenGit(p.dir)
	wantError(t, err, diag.Broken, "objects named by sha256")
}

func TestACorruptHistoryIsAnError(t *testing.T) {
	p := newProject(t)
	p.commit("1")
	hash := p.git("rev-parse", "HEAD^{tree}")
	file := filepath.Join(p.dir, ".git", "objects", hash[:2], hash[2:])
	p.must(os.Chmod(file, 0o666))
	p.must(os.WriteFile(file, []byte("not zlib"), 0o666))
	_, err := p.open().History([]plan.TableKey{key(0)})
	wantError(t, err, diag.Broken, "is not readable", "git -C "+p.dir+" fsck")
}
