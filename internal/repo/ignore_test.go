package repo_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestIgnoredAgreesWithGit asks git itself for each case.
func TestIgnoredAgreesWithGit(t *testing.T) {
	cases := map[string]struct {
		files map[string]string // relative to the repository; "~/" to the home folder
		track bool
		by    string // the rule, as `git check-ignore -v` and we name it; "" for not ignored
	}{
		"nothing said":               {nil, false, ""},
		"by name":                    {map[string]string{"etl/.gitignore": "pipeline.lock\n"}, false, ".gitignore:1: pipeline.lock"},
		"by pattern":                 {map[string]string{"etl/.gitignore": "# locks\n\n*.lock\n"}, false, ".gitignore:3: *.lock"},
		"anchored at the project":    {map[string]string{"etl/.gitignore": "/pipeline.lock\n"}, false, ".gitignore:1: /pipeline.lock"},
		"anchored above":             {map[string]string{".gitignore": "/pipeline.lock\n"}, false, ""},
		"from above":                 {map[string]string{".gitignore": "etl/*.lock\n"}, false, "../.gitignore:1: etl/*.lock"},
		"the folder":                 {map[string]string{".gitignore": "etl/\n"}, false, "../.gitignore:1: etl/"},
		"the folder, brought back":   {map[string]string{".gitignore": "etl\n", "etl/.gitignore": "!pipeline.lock\n"}, false, "../.gitignore:1: etl"},
		"everything but":             {map[string]string{"etl/.gitignore": "*\n!pipeline.*\n"}, false, ""},
		"brought back below":         {map[string]string{".gitignore": "*.lock\n", "etl/.gitignore": "!pipeline.lock\n"}, false, ""},
		"ignored again":              {map[string]string{"etl/.gitignore": "!pipeline.lock\npipeline.lock\n"}, false, ".gitignore:2: pipeline.lock"},
		"any depth":                  {map[string]string{".gitignore": "**/pipeline.lock\n"}, false, "../.gitignore:1: **/pipeline.lock"},
		"only as a folder":           {map[string]string{"etl/.gitignore": "pipeline.lock/\n"}, false, ""},
		"the repository's exclude":   {map[string]string{".git/info/exclude": "*.lock\n"}, false, "../.git/info/exclude:1: *.lock"},
		"the user's default list":    {map[string]string{"~/.config/git/ignore": "*.lock\n"}, false, "~/.config/git/ignore:1: *.lock"},
		"the user's own list":        {map[string]string{"~/.gitconfig": "[core]\n\texcludesFile = ~/mine\n", "~/mine": "*.lock\n"}, false, "~/mine:1: *.lock"},
		"tracked in spite of a rule": {map[string]string{"etl/.gitignore": "*.lock\n"}, true, ""},
		"white space behind":         {map[string]string{"etl/.gitignore": "pipeline.lock  \n"}, false, ".gitignore:1: pipeline.lock"},
		"windows line ends":          {map[string]string{"etl/.gitignore": "pipeline.lock\r\n"}, false, ".gitignore:1: pipeline.lock"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			top := p.dir
			p.dir = filepath.Join(top, "etl")
			p.setLock("1")
			if c.track {
				p.in(top, "add", "-A")
			}
			for file, text := range c.files {
				if rest, ok := cutHome(file); ok {
					write(t, text, p.home, rest)
				} else {
					write(t, text, top, file)
				}
			}

			ask := exec.Command("git", "check-ignore", "-q", "etl/pipeline.lock")
			ask.Dir = top
			ask.Env = []string{"HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1"}
			if err := ask.Run(); (err == nil) != (c.by != "") {
				t.Fatalf("the table is wrong: git says ignored = %v", err == nil)
			}

			want := c.by
			if rest, ok := cutHome(want); ok {
				want = filepath.Join(p.home, rest)
			}
			ok, by := p.open().Ignored("pipeline.lock", p.home)
			if !ok {
				by = ""
			}
			if ok != (c.by != "") {
				t.Fatalf("Ignored = %v by %q", ok, by)
			}
			if by != want {
				t.Errorf("by %q, want %q", by, want)
			}
		})
	}
}

func cutHome(s string) (string, bool) {
	if len(s) > 2 && s[:2] == "~/" {
		return s[2:], true
	}
	return s, false
}
