package puppet

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Pair is an edge between two resources, with what is between them left out.
type Pair struct {
	Source, Target string
	Refresh        bool
}

// Relations returns the edges of a catalog between resources that are no
// containers, automatic ones too, and the order of the manifest, nil for a cycle.
func Relations(file string, src []byte, reg *engine.Registry) ([]Pair, []string, schema.Diagnostics) {
	var found schema.Findings
	cat := readCatalog(file, src, gapi.DefaultMaxResources, &found)
	cat.classify(reg)
	rs := relate(cat, newIndex(cat, &found))
	soft, known := rs.automatic()
	o := newOrder(rs.edges)
	edges := slices.Concat(rs.edges, o.join(slices.Concat(soft, known)))
	next := map[vertex][]relation{}
	for _, e := range edges {
		next[e.from] = append(next[e.from], e)
	}
	direct := map[[2]*resource]bool{}
	var walk func(from *resource, v vertex, refresh bool, seen map[vertex]bool)
	walk = func(from *resource, v vertex, refresh bool, seen map[vertex]bool) {
		for _, e := range next[v] {
			through := refresh && e.refresh
			if e.to.side == itself {
				key := [2]*resource{from, e.to.res}
				direct[key] = direct[key] || through
			} else if !seen[e.to] {
				seen[e.to] = true
				walk(from, e.to, through, seen)
				delete(seen, e.to)
			}
		}
	}
	var list []Pair
	for _, r := range cat.resources {
		if !r.container {
			walk(r, vertex{res: r}, true, map[vertex]bool{})
		}
	}
	for k, refresh := range direct {
		list = append(list, Pair{k[0].ref(), k[1].ref(), refresh})
	}
	slices.SortFunc(list, func(a, b Pair) int {
		if c := strings.Compare(a.Source, b.Source); c != 0 {
			return c
		}
		return strings.Compare(a.Target, b.Target)
	})
	if o.sorted() == nil {
		return list, nil, found.All()
	}
	order := []string{}
	for _, r := range cat.resources {
		if !r.container {
			o.of(vertex{res: r})
		}
	}
	for _, v := range o.sorted() {
		if v.side == itself {
			order = append(order, v.res.ref())
		}
	}
	return list, order, found.All()
}

// RubyData writes a value as a file of data: YAML, JSON, and JSON with lines.
func RubyData(text string) [3]string {
	n, err := readData("json", text, nil)
	if err != nil {
		return [3]string{err.Error()}
	}
	return [3]string{writeYAML(n), writeJSON(n, false), writeJSON(n, true)}
}
