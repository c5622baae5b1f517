package view_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pipe/internal/view"
	"pipe/lockfile"
	"pipe/pipeline/plan"
	"pipe/pipeline/run"
)

// screen is as much of a terminal as the printer uses: lines, cursor up, clear to the end.
type screen struct {
	mu     sync.Mutex
	lines  []string
	writes int
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	text := string(data)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			var n int
			if _, err := fmt.Sscanf(rest, "%dA", &n); err == nil {
				if n > len(s.lines) {
					panic("the cursor leaves the screen")
				}
				s.lines = s.lines[:len(s.lines)-n] // J follows each time
				text = rest[strings.IndexByte(rest, 'A')+1:]
				continue
			}
			if rest[0] == 'J' {
				text = rest[1:]
				continue
			}
		}
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			panic("a line without an end: " + text)
		}
		s.lines = append(s.lines, line)
		text = rest
	}
	return len(data), nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n") + "\n"
}

func (s *screen) drawings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func finished(stage string, o run.Outcome, rows, added int64, seconds float64) run.Event {
	return run.Event{Kind: run.EventFinished, Stage: stage, Seconds: seconds, Result: &run.StageResult{
		Name: stage, Outcome: o, Outs: []run.OutResult{{Out: lockfile.Out{Table: "p." + stage, Sink: "lake", Rows: rows}, Added: added}},
	}}
}

// play tells a short run to a talk.
func play(k view.Talk) {
	k.Event(run.Event{Kind: run.EventWaiting, Text: "pipe repro (pid 7)"})
	k.Event(run.Event{Kind: run.EventStarted, Stage: "events"})
	_, _ = io.WriteString(k.Output("events"), "first\nno end")
	k.Event(run.Event{Kind: run.EventProgress, Stage: "events", Rows: 250})
	k.Event(finished("events", run.Ran, 1500, 1000, 0.24))
	k.Event(run.Event{Kind: run.EventNote, Stage: "b", Text: "attempt 1 of 2 failed"})
	k.Event(run.Event{Kind: run.EventFailed, Stage: "b", Seconds: 75})
	k.Event(run.Event{Kind: run.EventSkipped, Stage: "after", Text: "b"})
	k.Event(finished("idle", run.UpToDate, 3, 0, 0))
	e := finished("again", run.Reused, 3, 0, 0)
	e.Step = &plan.Step{Run: "01J"}
	k.Event(e)
	k.Event(finished("equal", run.RanSame, 3, 0, 3725))
	k.Close()
}

func TestPlainLines(t *testing.T) {
	for name, c := range map[string]struct {
		opts view.TalkOptions
		want string
	}{
		"normal": {view.TalkOptions{}, `
waiting for pipe repro (pid 7)
events | first
events | no end
events  ran      1000 rows added, 1500 total  0.2s
note: b: attempt 1 of 2 failed
b       failed   1m15s
after   skipped  b failed
again   reused   3 rows  of run 01J
equal   same     3 rows  1h02m
`},
		"quiet": {view.TalkOptions{Quiet: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			c.opts.Names, c.opts.Now = 6, time.Now
			play(view.NewPrinter(&b, c.opts))
			want(t, b.String(), c.want)
		})
	}
}

func TestVerboseTellsOfStagesThatNeedNothing(t *testing.T) {
	var b strings.Builder
	play(view.NewPrinter(&b, view.TalkOptions{Verbose: true, Names: 6, Now: time.Now}))
	for _, line := range []string{"events  started\n", "idle    up to date  3 rows\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}

func TestLiveLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{}
		p := view.NewPrinter(s, view.TalkOptions{Names: 6, Now: time.Now, Size: func() (int, int) { return 60, 24 }})
		p.Event(run.Event{Kind: run.EventStarted, Stage: "events"})
		p.Event(run.Event{Kind: run.EventStarted, Stage: "b"})
		for i := range 1000 {
			p.Event(run.Event{Kind: run.EventProgress, Stage: "events", Rows: int64(i) * 1000})
		}
		if n := s.drawings(); n > 2 {
			t.Errorf("%d drawings at one instant", n)
		}
		time.Sleep(time.Second + time.Millisecond)
		want(t, s.text(), `
events  running  999000 rows  999k rows/s  1.0s
b       running  1.0s
`)
		if n := s.drawings(); n > 12 {
			t.Errorf("%d drawings in a second", n)
		}
		p.Event(finished("b", run.Ran, 1, 0, 1))
		want(t, s.text(), "b       ran      1 row  1.0s\n") // drawn again with the next tick
		time.Sleep(200 * time.Millisecond)
		want(t, s.text(), `
b       ran      1 row  1.0s
events  running  999000 rows  832k rows/s  1.2s
`)
		p.Close()
		want(t, s.text(), "b       ran      1 row  1.0s\n")
		p.Event(run.Event{Kind: run.EventNote, Text: "too late"})
		p.Close()
		want(t, s.text(), "b       ran      1 row  1.0s\n")
	})
}

func TestLiveLinesFitTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{}
		p := view.NewPrinter(s, view.TalkOptions{Names: 2, Now: time.Now, Size: func() (int, int) { return 80, 6 }})
		for i := range 9 {
			p.Event(run.Event{Kind: run.EventStarted, Stage: fmt.Sprint("s", i)})
		}
		time.Sleep(101 * time.Millisecond)
		want(t, s.text(), `
s0  running  0.1s
s1  running  0.1s
s2  running  0.1s
and 6 more
`)
		p.Close()
		if left := s.text(); left != "\n" {
			t.Errorf("left on the screen: %q", left)
		}
	})
}

func TestOutputOfStagesSideBySideKeepsLinesWhole(t *testing.T) {
	var b strings.Builder
	p := view.NewPrinter(&b, view.TalkOptions{Names: 1, Now: time.Now})
	var all sync.WaitGroup
	for _, stage := range []string{"a", "b"} {
		w := p.Output(stage)
		all.Go(func() {
			for range 200 {
				_, _ = io.WriteString(w, stage+stage)
				_, _ = io.WriteString(w, stage+"\n")
			}
		})
	}
	all.Wait()
	p.Close()
	count := map[string]int{}
	for line := range strings.Lines(b.String()) {
		count[line]++
	}
	if len(count) != 2 || count["a | aaa\n"] != 200 || count["b | bbb\n"] != 200 {
		t.Errorf("lines were torn: %v", count)
	}
}

func TestAProgressBarShowsItsLastState(t *testing.T) {
	var b strings.Builder
	p := view.NewPrinter(&b, view.TalkOptions{Names: 1, Now: time.Now})
	_, _ = io.WriteString(p.Output("a"), "10%\r50%\r100%\r\n")
	p.Close()
	want(t, b.String(), "a | 100%\n")
}

func TestLogIsOneObjectALine(t *testing.T) {
	at := time.Date(2025, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
	var b strings.Builder
	l := view.NewLogger(&b, view.TalkOptions{Now: func() time.Time { return at }})
	e := finished("events", run.Ran, 1500, 1000, 0.24)
	e.Time, e.Run = at, "01J"
	l.Event(e)
	_, _ = io.WriteString(l.Output("events"), "first\nno end")
	l.Event(run.Event{Kind: run.EventProgress, Stage: "events", Rows: 1, Time: at}) // only under -v
	l.Event(run.Event{Kind: run.EventPublished, Time: at, Run: "01J", Moves: []run.MoveInfo{moved("p.t", 3, 0)}})
	l.Close()
	var got []string
	for line := range strings.Lines(b.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		got = append(got, line)
	}
	if len(got) != 4 {
		t.Fatalf("%d lines:\n%s", len(got), b.String())
	}
	same(t, got[0], `{"level": "info", "time": "2025-01-02T02:04:05.006Z", "run": "01J", "event": "finished", "stage": "events", "result": "ran",
		"seconds": 0.24, "tables": [{"table": "p.events", "snapshot": "", "rows": 1500, "added": 1000}]}`)
	same(t, got[1], `{"level": "info", "time": "2025-01-02T02:04:05.006Z", "event": "output", "stage": "events", "line": "first"}`)
	same(t, got[2], `{"level": "info", "time": "2025-01-02T02:04:05.006Z", "run": "01J", "event": "published",
		"moves": [{"table": "p.t", "from": "1", "to": "2", "rows": 3}]}`)
	same(t, got[3], `{"level": "info", "time": "2025-01-02T02:04:05.006Z", "event": "output", "stage": "events", "line": "no end"}`)
}
