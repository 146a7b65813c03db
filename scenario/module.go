package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// # A test of a module
//
// The engine runs graphs, and not modules. So the test of a module gets a graph that uses the module with the inputs of the test. This graph is made
// in memory, under a path that need not exist. Each input has a line of its own there, so a finding about an input is told at its place in
// the test.

// moduleGraph is the name of that graph, next to the module.
const moduleGraph = "module.yaml of the test"

// ofModule reports whether the test is about a module.
func (r *run) ofModule() bool { return filepath.Base(r.graph) == expand.ModuleFile }

// wrongInputs reports the values of a test that its graph can't take.
func (r *run) wrongInputs() bool {
	inputs, vars, around := r.test.node.Get("inputs"), r.test.node.Get("vars"), r.test.node.Get("resources")
	switch {
	case r.ofModule() && vars != nil:
		r.failf(vars.Pos, "variables from outside do not reach into a module: write inputs")
	case !r.ofModule() && inputs != nil:
		r.failf(inputs.Pos, "only a module has inputs: write vars for a graph, or graph: %s", expand.ModuleFile)
	case !r.ofModule() && around != nil:
		r.failf(around.Pos, "a graph has its own resources: only the test of a module gives those around it")
	default:
		return false
	}
	return true
}

// unseen reports the values of a test that the program of its graph can't see.
func (r *run) unseen() (bad bool) {
	if r.program() == nil {
		return false
	}
	for _, v := range []struct{ key, text string }{
		{"secrets", "a program reads no secrets"}, {"hosts", "a program does not see other hosts"}, {"scheduled", "a program does not see the schedules of a store"},
	} {
		if n := r.test.node.Get(v.key); n != nil {
			r.failf(n.Pos, "%s: vars gives it values", v.text)
			bad = true
		}
	}
	return bad
}

// useModule has the test read the graph that uses the module, and returns its text.
func (r *run) useModule() ([]byte, error) {
	r.graph = filepath.Join(filepath.Dir(r.graph), moduleGraph)
	var b bytes.Buffer
	b.WriteString(`{"use": [{"module": ".", "with": {`)
	if inputs := r.test.node.Get("inputs"); inputs != nil {
		for i, p := range inputs.Pairs {
			value, err := json.Marshal(r.test.Inputs[p.Key])
			if err != nil {
				return nil, err
			}
			key, err := json.Marshal(p.Key)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n%s: %s", key, value)
		}
	}
	b.WriteString("}}]")
	if r.test.Resources != nil {
		list, err := json.Marshal(r.test.Resources)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",\n%q: %s", "resources", list)
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// hinted adds the key of the test to a finding about a reference that leads out of a module, and to one about a variable without a value.
func (r *run) hinted(message string) string {
	if lacks, _, flag := strings.Cut(message, ", so write --var "); flag {
		return lacks + ", so write it under vars of the test"
	}
	if filepath.Base(r.graph) == moduleGraph && strings.HasSuffix(message, " is not in the graph") {
		return message + ": the key resources of the test gives what is around the module"
	}
	return message
}

// placed returns a place in the test for one in the graph that uses its module, and any other place as it is.
func (r *run) placed(pos schema.Pos) schema.Pos {
	if filepath.Base(pos.File) != moduleGraph {
		return pos
	}
	at := int(pos.Line) - 2 // the first line has no input
	if inputs := r.test.node.Get("inputs"); inputs != nil {
		if at >= 0 && at < len(inputs.Pairs) {
			return inputs.Pairs[at].Value.Pos
		}
		at -= len(inputs.Pairs)
	}
	if around := r.test.node.Get("resources"); around != nil && at == 0 {
		return around.Pos
	}
	return r.test.node.Pos
}
