package sched_test

import (
	"maps"
	"slices"
	"strings"
)

// drawing is a graph as a transcript draws it.
type drawing struct {
	order []string
	has   map[string]bool
	anew  map[string]bool
	edges [][2]string
	keys  []string
	batch map[string]int32
}

func parse(lines []string) *drawing {
	d := &drawing{has: map[string]bool{}, anew: map[string]bool{}, batch: map[string]int32{}}
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "batch "); ok {
			key, members, _ := strings.Cut(rest, ":")
			d.add(strings.Fields(members), nil)
			for name := range strings.FieldsSeq(members) {
				d.batch[name] = int32(len(d.keys))
			}
			d.keys = append(d.keys, key)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "new "); ok {
			for name := range strings.FieldsSeq(rest) {
				d.anew[name] = true
			}
			line = rest
		}
		var above []string
		for part := range strings.SplitSeq(line, "->") {
			names := strings.Fields(part)
			d.add(names, above)
			above = names
		}
	}
	return d
}

func (d *drawing) add(names, above []string) {
	for _, name := range names {
		if !d.has[name] {
			d.has[name] = true
			d.order = append(d.order, name)
		}
		for _, a := range above {
			d.edges = append(d.edges, [2]string{a, name})
		}
	}
}

func (d *drawing) key(name string) int32 {
	if k, ok := d.batch[name]; ok {
		return k
	}
	return -1
}

// copy returns s as it is, for the case that a graph is refused.
func (s *script) copy() *script {
	return &script{
		m:     s.m,
		slot:  maps.Clone(s.slot),
		names: slices.Clone(s.names),
		busy:  slices.Clone(s.busy),
		runs:  maps.Clone(s.runs),
		ended: s.ended,
	}
}
