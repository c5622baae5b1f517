package run

import (
	"container/heap"
	"context"
	"sync"

	"pipe/pipeline"
)

// task is one stage's place in the schedule.
type task struct {
	stage   *pipeline.Stage
	index   int    // in the graph's order: what runs first among those that are ready
	pending int    // selected stages above that are not done
	root    string // the failed stage that this one waits for in vain
	result  *StageResult
}

type ready []*task

func (r ready) Len() int           { return len(r) }
func (r ready) Less(i, j int) bool { return r[i].index < r[j].index }
func (r ready) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ready) Push(x any)        { *r = append(*r, x.(*task)) }
func (r *ready) Pop() any {
	old := *r
	t := old[len(old)-1]
	*r = old[:len(old)-1]
	return t
}

// schedule runs do for every selected stage, each after all above it, at most jobs at once, those that come first in the graph's
// order first. After a failure nothing new starts, unless keepGoing; what hangs below a failure is skipped and names the stage
// that failed first. After a cancel running ones finish and nothing new starts.
func schedule(ctx context.Context, g *pipeline.Graph, selected map[string]bool, jobs int, keepGoing bool,
	do func(ctx context.Context, s *pipeline.Stage) *StageResult, skipped func(s *pipeline.Stage, root string) *StageResult,
) []StageResult {
	tasks := map[string]*task{}
	var order []*task
	for i, name := range g.Order() {
		if selected[name] {
			t := &task{stage: g.Stage(name), index: i}
			tasks[name] = t
			order = append(order, t)
		}
	}
	var queue ready
	for _, t := range order {
		for _, up := range g.Upstream(t.stage.Name) {
			if tasks[up] != nil {
				t.pending++
			}
		}
		if t.pending == 0 {
			queue = append(queue, t)
		}
	}
	heap.Init(&queue)

	var mu sync.Mutex
	wake := sync.NewCond(&mu)
	left, failed := len(order), false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		wake.Broadcast()
	})
	defer stop()

	// done marks a task and frees, or skips, what waits for it. Callers hold mu.
	var done func(t *task)
	done = func(t *task) {
		left--
		bad := t.result.Outcome == Failed || t.result.Outcome == Skipped
		for _, name := range g.Downstream(t.stage.Name) {
			d := tasks[name]
			if d == nil {
				continue
			}
			if bad && d.root == "" {
				d.root = t.root
				if t.result.Outcome == Failed {
					d.root = t.stage.Name
				}
			}
			if d.pending--; d.pending > 0 {
				continue
			}
			if d.root != "" {
				d.result = skipped(d.stage, d.root)
				done(d)
				continue
			}
			heap.Push(&queue, d)
		}
		wake.Broadcast()
	}

	halted := func() bool { return ctx.Err() != nil || failed && !keepGoing }
	var wg sync.WaitGroup
	for range min(jobs, len(order)) {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(queue) == 0 && left > 0 && !halted() {
					wake.Wait()
				}
				if left == 0 || halted() {
					return
				}
				t := heap.Pop(&queue).(*task)
				mu.Unlock()
				r := do(ctx, t.stage)
				mu.Lock()
				t.result = r
				failed = failed || r.Outcome == Failed
				done(t)
			}
		})
	}
	wg.Wait()

	var out []StageResult
	for _, t := range order {
		if t.result != nil {
			out = append(out, *t.result)
		}
	}
	return out
}
