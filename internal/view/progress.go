package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"pipe/internal/diag"
	"pipe/pipeline/run"
)

// Talk is what is said while a run lasts. Its methods may be called from several goroutines.
type Talk interface {
	// Event says what happened.
	Event(e run.Event)
	// Output takes what a stage prints.
	Output(stage string) io.Writer
	// Close ends the talk; nothing is written after it.
	Close()
}

// TalkOptions say how a run's talk looks.
type TalkOptions struct {
	Style   Style
	Quiet   bool              // say only what went wrong
	Verbose bool              // also of stages that need nothing
	Names   int               // width of the column of stage names
	Size    func() (int, int) // columns and rows of the terminal; nil: no terminal, plain lines only
	Now     func() time.Time
}

// redraw is the shortest time between two drawings of the live lines.
const redraw = 100 * time.Millisecond

// outputLine is how much of a stage's unfinished line is kept before it is written out as it is.
const outputLine = 64 << 10

// Printer is Talk for people: one line for each thing that is done, and, on a terminal, one live line below them for each stage
// that runs.
type Printer struct {
	w io.Writer
	o TalkOptions

	mu      sync.Mutex
	running []*live
	outputs []*output
	drawn   int // live lines on the screen
	last    time.Time
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

type live struct {
	stage string
	since time.Time
	rows  int64
}

// NewPrinter begins a talk on w.
func NewPrinter(w io.Writer, o TalkOptions) *Printer {
	p := &Printer{w: w, o: o, stop: make(chan struct{}), stopped: make(chan struct{})}
	if o.Size == nil || o.Quiet {
		close(p.stopped)
		return p
	}
	go p.tick() // ends in Close
	return p
}

// tick redraws while nothing happens, so that the time goes on.
func (p *Printer) tick() {
	defer close(p.stopped)
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// Close implements Talk.
func (p *Printer) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	for _, o := range p.outputs {
		p.flush(o)
	}
	p.running = nil
	p.erase()
	p.closed = true
	p.mu.Unlock()
	close(p.stop)
	<-p.stopped
}

// Event implements Talk.
func (p *Printer) Event(e run.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.o.Style
	switch e.Kind {
	case run.EventWaiting:
		p.say(st.yellow("waiting") + " for " + e.Text)
	case run.EventRecovered:
		p.say(st.yellow("recovered:") + " " + e.Text)
	case run.EventNote:
		if e.Stage != "" {
			e.Text = e.Stage + ": " + e.Text
		}
		p.say(st.yellow("note:") + " " + e.Text)
	case run.EventStarted:
		p.running = append(p.running, &live{stage: e.Stage, since: p.o.Now()})
		if p.o.Size == nil && p.o.Verbose {
			p.line(e.Stage, "started", "", nil)
		}
		p.draw()
	case run.EventProgress:
		if l := p.live(e.Stage); l != nil {
			l.rows = max(l.rows, e.Rows)
		}
		p.draw()
	case run.EventFinished:
		p.end(e.Stage)
		if e.Result == nil {
			break
		}
		switch r := e.Result; r.Outcome {
		case run.UpToDate, run.Frozen:
			if p.o.Verbose {
				p.line(e.Stage, string(r.Outcome), outs(r), nil)
			}
		case run.Reused:
			text := outs(r)
			if e.Step != nil && e.Step.Run != "" {
				text = strings.TrimSpace(text + "  of run " + e.Step.Run)
			}
			p.line(e.Stage, "reused", text, nil)
		default:
			p.line(e.Stage, string(r.Outcome), outs(r), &e.Seconds)
		}
	case run.EventFailed:
		p.end(e.Stage)
		p.line(e.Stage, "failed", "", &e.Seconds)
	case run.EventSkipped:
		text := e.Text
		if text != "" {
			text += " failed"
		}
		p.line(e.Stage, "skipped", text, nil)
	}
}

// line says what became of a stage.
func (p *Printer) line(stage, word, text string, secs *float64) {
	if p.o.Quiet {
		return
	}
	st := p.o.Style
	line := pad(stage, p.o.Names) + "  "
	padded := pad(word, len("skipped"))
	switch word {
	case "failed":
		line += st.red(padded)
	case "skipped", "started":
		line += st.yellow(padded)
	default:
		line += st.green(padded)
	}
	if text != "" {
		line += "  " + text
	}
	if secs != nil {
		line += "  " + st.dim(seconds(*secs))
	}
	p.say(strings.TrimRight(line, " "))
}

// say writes a line that stays.
func (p *Printer) say(line string) {
	if p.closed || p.o.Quiet {
		return
	}
	p.erase()
	_, _ = io.WriteString(p.w, line+"\n") // talk that nobody can hear ends no run
	p.draw()
}

func (p *Printer) live(stage string) *live {
	for _, l := range p.running {
		if l.stage == stage {
			return l
		}
	}
	return nil
}

func (p *Printer) end(stage string) {
	for i, l := range p.running {
		if l.stage == stage {
			p.running = append(p.running[:i], p.running[i+1:]...)
			break
		}
	}
	for _, o := range p.outputs {
		if o.stage == stage {
			p.flush(o)
		}
	}
	p.draw()
}

// erase takes the live lines from the screen.
func (p *Printer) erase() {
	if p.drawn > 0 {
		_, _ = fmt.Fprintf(p.w, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

// draw writes the live lines anew, unless it was done just now: a stage that prints much would else spend its time on them. tick
// makes up for what was left out.
func (p *Printer) draw() {
	if p.o.Size == nil || p.o.Quiet || p.closed || len(p.running) == 0 && p.drawn == 0 {
		return
	}
	now := p.o.Now()
	if now.Sub(p.last) < redraw {
		return
	}
	p.last = now
	columns, rows := p.o.Size()
	most := max(1, min(rows-2, 16))
	var b bytes.Buffer
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", p.drawn)
	}
	p.drawn = 0
	for i, l := range p.running {
		if p.drawn == most-1 && len(p.running) > most {
			fmt.Fprintf(&b, "and %d more\n", len(p.running)-i)
			p.drawn++
			break
		}
		took := now.Sub(l.since)
		text := pad(l.stage, p.o.Names) + "  running"
		if l.rows > 0 {
			text += fmt.Sprintf("  %d rows", l.rows)
			if s := took.Seconds(); s >= 0.5 {
				text += fmt.Sprintf("  %s rows/s", big(float64(l.rows)/s))
			}
		}
		b.WriteString(cut(text+"  "+short(took), max(10, columns-1)) + "\n")
		p.drawn++
	}
	_, _ = p.w.Write(b.Bytes())
}

// Output implements Talk: each line is written with the stage's name before it.
func (p *Printer) Output(stage string) io.Writer {
	o := &output{p: p, stage: stage}
	p.mu.Lock()
	p.outputs = append(p.outputs, o)
	p.mu.Unlock()
	return o
}

// output is what one stage prints, by lines.
type output struct {
	p     *Printer
	stage string
	buf   []byte // the line that has no end yet
}

// Write implements io.Writer. It never fails: a stage does not end because its talk is not heard.
func (o *output) Write(data []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.buf = append(o.buf, data...)
	for {
		line, rest, ok := bytes.Cut(o.buf, []byte{'\n'})
		if !ok {
			break
		}
		o.say(line)
		o.buf = rest
	}
	if len(o.buf) > outputLine {
		o.p.flush(o)
	}
	return len(data), nil
}

func (o *output) say(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:] // a progress bar: its last state
	}
	o.p.say(o.p.o.Style.dim(pad(o.stage, o.p.o.Names)+" |") + " " + string(line))
}

func (p *Printer) flush(o *output) {
	if len(o.buf) > 0 {
		o.say(o.buf)
		o.buf = nil
	}
}

// NameWidth gives the width of a column of names; a few long ones do not push the rest off the screen.
func NameWidth(names []string) int {
	width := 0
	for _, n := range names {
		width = max(width, diag.Columns(n))
	}
	return min(width, 40)
}
