package view

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"pipe/internal/diag"
	"pipe/pipeline/run"
)

// Logger is Talk for machines: one JSON object a line, with level, time, run, event, and what the event holds.
type Logger struct {
	log     zerolog.Logger
	mu      sync.Mutex
	outputs []*logOutput
	last    map[string]time.Time // by stage: when progress was last said
	now     func() time.Time
}

// NewLogger begins a log on w. Quiet leaves warnings and errors; Verbose adds each stage that needs nothing.
func NewLogger(w io.Writer, o TalkOptions) *Logger {
	level := zerolog.InfoLevel
	switch {
	case o.Quiet:
		level = zerolog.WarnLevel
	case o.Verbose:
		level = zerolog.DebugLevel
	}
	return &Logger{log: newLog(w).Level(level), last: map[string]time.Time{}, now: o.Now}
}

func newLog(w io.Writer) zerolog.Logger { return zerolog.New(zerolog.SyncWriter(w)) }

// stamp is the form of times in the log. zerolog's own is a variable of the whole process, and has no fractions.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// progressEvery keeps progress from drowning the rest of a log.
const progressEvery = time.Second

// Event implements Talk.
func (l *Logger) Event(e run.Event) {
	level := zerolog.InfoLevel
	switch e.Kind {
	case run.EventProgress:
		l.mu.Lock()
		early := e.Time.Sub(l.last[e.Stage]) < progressEvery
		if !early {
			l.last[e.Stage] = e.Time
		}
		l.mu.Unlock()
		if early {
			return
		}
		level = zerolog.DebugLevel
	case run.EventWaiting, run.EventRecovered, run.EventNote, run.EventSkipped:
		level = zerolog.WarnLevel
	case run.EventFailed:
		level = zerolog.ErrorLevel
	case run.EventFinished:
		if e.Result != nil && (e.Result.Outcome == run.UpToDate || e.Result.Outcome == run.Frozen) {
			level = zerolog.DebugLevel
		}
	}
	if level < l.log.GetLevel() {
		return
	}
	z := l.log.WithLevel(level).Str("time", stamp(e.Time)).Str("run", e.Run).Str("event", string(e.Kind))
	if e.Stage != "" {
		z = z.Str("stage", e.Stage)
	}
	if e.Rows > 0 {
		z = z.Int64("rows", e.Rows)
	}
	if e.Seconds > 0 {
		z = z.Float64("seconds", round(e.Seconds))
	}
	if e.Result != nil {
		z = z.Str("result", string(e.Result.Outcome))
		tables := zerolog.Arr()
		for _, o := range e.Result.Outs {
			if o.Table != "" {
				tables.Dict(zerolog.Dict().Str("table", o.Table).Str("snapshot", o.Snapshot).Int64("rows", o.Rows).Int64("added", o.Added))
			}
		}
		z = z.Array("tables", tables)
	}
	if len(e.Moves) > 0 {
		moves := zerolog.Arr()
		for _, m := range e.Moves {
			moves.Dict(zerolog.Dict().Str("table", m.TableKey.String()).Str("from", string(m.From)).Str("to", string(m.To)).Int64("rows", m.Rows))
		}
		z = z.Array("moves", moves)
	}
	if e.Err != nil {
		z = z.Str("error", e.Err.Error())
	}
	z.Msg(e.Text)
}

// Output implements Talk: each line a stage prints is one object.
func (l *Logger) Output(stage string) io.Writer {
	o := &logOutput{l: l, stage: stage}
	l.mu.Lock()
	l.outputs = append(l.outputs, o)
	l.mu.Unlock()
	return o
}

// Close implements Talk.
func (l *Logger) Close() {
	l.mu.Lock()
	outputs := l.outputs
	l.mu.Unlock()
	for _, o := range outputs {
		o.mu.Lock()
		if len(o.buf) > 0 {
			o.say(o.buf)
			o.buf = nil
		}
		o.mu.Unlock()
	}
}

type logOutput struct {
	l     *Logger
	stage string
	mu    sync.Mutex
	buf   []byte
}

// Write implements io.Writer; it never fails.
func (o *logOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
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
		o.say(o.buf)
		o.buf = nil
	}
	return len(data), nil
}

func (o *logOutput) say(line []byte) {
	o.l.log.Info().Str("time", stamp(o.l.now())).Str("event", "output").Str("stage", o.stage).Str("line", string(bytes.TrimRight(line, "\r"))).Msg("")
}

// ErrorLog writes every error inside err as one JSON object a line.
func ErrorLog(w io.Writer, now time.Time, err error) {
	log := newLog(w)
	for _, e := range diag.All(err) {
		z := log.Error().Str("time", stamp(now))
		if e.Stage != "" {
			z = z.Str("stage", e.Stage)
		}
		if e.Pos.File != "" {
			z = z.Str("file", e.Pos.File)
		}
		if e.Pos.Line > 0 {
			z = z.Int("line", e.Pos.Line).Int("column", e.Pos.Col)
		}
		if e.Hint != "" {
			z = z.Str("hint", e.Hint)
		}
		z.Msg(e.Msg)
	}
}
