package view

import (
	"fmt"
	"io"
	"path"
	"sort"
	"strings"

	"pipe/pipeline"
	"pipe/pipeline/plan"
)

// Drawing is a directed graph of names, ready to be drawn: stages, or their outs.
type Drawing struct {
	nodes []string // in the graph's order
	downs map[string][]string
	ups   map[string]int
}

// Stages is the drawing of the selected stages.
func Stages(g *pipeline.Graph, selected map[string]bool) *Drawing {
	d := newDrawing()
	for _, name := range g.Order() {
		if !selected[name] {
			continue
		}
		d.node(name)
		for _, up := range g.Upstream(name) {
			if selected[up] {
				d.edge(up, name)
			}
		}
	}
	return d
}

// Outs is the drawing of what the selected stages make: an out leads to each out of a stage that reads it. A stage that makes
// nothing stands for itself.
func Outs(g *pipeline.Graph, selected map[string]bool) *Drawing {
	d := newDrawing()
	for _, name := range g.Order() {
		if !selected[name] {
			continue
		}
		s := g.Stage(name)
		own := outNames(s)
		for _, o := range own {
			d.node(o)
		}
		for _, up := range g.Upstream(name) {
			if !selected[up] {
				continue
			}
			for _, out := range readOf(s, g.Stage(up)) {
				for _, o := range own {
					d.edge(out, o)
				}
			}
		}
	}
	return d
}

func outNames(s *pipeline.Stage) []string {
	if len(s.Outs) == 0 {
		return []string{s.Name}
	}
	names := make([]string, len(s.Outs))
	for i, o := range s.Outs {
		names[i] = outName(o)
	}
	return names
}

func outName(o pipeline.Out) string {
	if o.Path != "" {
		return o.Path
	}
	return plan.TableKey{Sink: o.Sink, Table: o.Table}.String()
}

// readOf gives the outs of up that s reads; all of them where the deps do not tell which.
func readOf(s, up *pipeline.Stage) []string {
	var names []string
	for _, o := range up.Outs {
		if reads(s, o) {
			names = append(names, outName(o))
		}
	}
	if names == nil {
		return outNames(up)
	}
	return names
}

// reads reports whether a dep of the stage is the out, lies inside it, or holds it.
func reads(s *pipeline.Stage, o pipeline.Out) bool {
	for _, d := range s.Deps {
		switch {
		case o.Table != "" || d.Table != "":
			if o.Table == d.Table && o.Sink == d.Sink {
				return true
			}
		case d.Glob:
			if matches(strings.Split(d.Path, "/"), strings.Split(o.Path, "/")) {
				return true
			}
		case within(d.Path, o.Path) || within(o.Path, d.Path):
			return true
		}
	}
	return false
}

// matches reports whether a pattern names the out, or something inside it. Alternatives in braces are taken for anything: whether the
// stages are connected at all was decided by the graph.
func matches(pattern, out []string) bool {
	switch {
	case len(out) == 0:
		return true
	case len(pattern) == 0:
		return false
	case pattern[0] == "**":
		return matches(pattern[1:], out) || len(out) > 1 && matches(pattern, out[1:])
	case !strings.Contains(pattern[0], "{"):
		if ok, err := path.Match(pattern[0], out[0]); err != nil || !ok {
			return false
		}
	}
	return matches(pattern[1:], out[1:])
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func newDrawing() *Drawing { return &Drawing{downs: map[string][]string{}, ups: map[string]int{}} }

func (d *Drawing) node(name string) {
	if _, ok := d.ups[name]; !ok {
		d.nodes = append(d.nodes, name)
		d.ups[name] = 0
	}
}

func (d *Drawing) edge(from, to string) {
	for _, have := range d.downs[from] {
		if have == to {
			return
		}
	}
	d.downs[from] = append(d.downs[from], to)
	d.ups[to]++
}

// DagText draws a tree from each node that nothing leads to. What several nodes lead to is drawn with what follows it below the
// last of them, and named with an arrow below the others.
func DagText(w io.Writer, d *Drawing) error {
	var b strings.Builder
	left := map[string]int{}
	for n, ups := range d.ups {
		left[n] = ups
	}
	var draw func(name, lead, branch, below string)
	draw = func(name, lead, branch, below string) {
		left[name]--
		if left[name] > 0 {
			b.WriteString(lead + branch + name + " ...\n")
			return
		}
		b.WriteString(lead + branch + name + "\n")
		downs := d.downs[name]
		for i, n := range downs {
			if i == len(downs)-1 {
				draw(n, lead+below, "└─ ", "   ")
			} else {
				draw(n, lead+below, "├─ ", "│  ")
			}
		}
	}
	for _, n := range d.nodes {
		if d.ups[n] == 0 {
			draw(n, "", "", "")
		}
	}
	return send(w, &b)
}

// DagMermaid writes a Mermaid flowchart, its nodes numbered in order of their names.
func DagMermaid(w io.Writer, d *Drawing) error {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	number := map[string]int{}
	for i, n := range d.sorted() {
		number[n] = i + 1
		fmt.Fprintf(&b, "\tnode%d[\"%s\"]\n", i+1, strings.ReplaceAll(n, `"`, "#quot;"))
	}
	d.edges(func(from, to string) {
		fmt.Fprintf(&b, "\tnode%d-->node%d\n", number[from], number[to])
	})
	return send(w, &b)
}

// DagDot writes a Graphviz digraph.
func DagDot(w io.Writer, d *Drawing) error {
	var b strings.Builder
	b.WriteString("strict digraph {\n")
	for _, n := range d.sorted() {
		b.WriteString("\t" + dotName(n) + ";\n")
	}
	d.edges(func(from, to string) {
		b.WriteString("\t" + dotName(from) + " -> " + dotName(to) + ";\n")
	})
	b.WriteString("}\n")
	return send(w, &b)
}

func dotName(n string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(n) + `"`
}

// DagJSON writes nodes and edges.
func DagJSON(w io.Writer, d *Drawing) error {
	edges := [][2]string{}
	d.edges(func(from, to string) { edges = append(edges, [2]string{from, to}) })
	nodes := d.sorted()
	if nodes == nil {
		nodes = []string{}
	}
	return JSON(w, map[string]any{"nodes": nodes, "edges": edges})
}

func (d *Drawing) sorted() []string {
	names := append([]string(nil), d.nodes...)
	sort.Strings(names)
	return names
}

// edges calls yield for each edge, in order of names.
func (d *Drawing) edges(yield func(from, to string)) {
	for _, from := range d.sorted() {
		downs := append([]string(nil), d.downs[from]...)
		sort.Strings(downs)
		for _, to := range downs {
			yield(from, to)
		}
	}
}
