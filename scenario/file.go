package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// File is a file of tests, as it is written.
type File struct {
	Comment string   `yaml:"comment"`
	Graph   string   `yaml:"graph" mgmt:"required" doc:"The graph, relative to this file: a file or a folder in YAML, or a program."`
	Policy  []string `yaml:"policy" doc:"Files with the policy that judges the graph and its changes, relative to this file."`
	Tests   []Test   `yaml:"tests" mgmt:"required"`
}

// Test is one life of a simulated machine.
type Test struct {
	Name      string              `yaml:"name" mgmt:"required"`
	Facts     map[string]any      `yaml:"facts" doc:"Facts that differ from those of a plain machine."`
	Vars      map[string]any      `yaml:"vars" doc:"The variables of the graph, or the inputs of the program."`
	Inputs    map[string]any      `yaml:"inputs" doc:"The inputs of the module that the graph names."`
	Resources map[string]any      `yaml:"resources" doc:"The resources of the graph around the module, to which its references lead."`
	Secrets   map[string]string   `yaml:"secrets"`
	Hosts     map[string]any      `yaml:"hosts" doc:"The facts of other hosts of the store, by their names. They differ from those of a plain machine, too."`
	Scheduled map[string][]string `yaml:"scheduled" doc:"The hosts that each schedule has chosen, by its name."`
	Machine   any                 `yaml:"machine" doc:"The things that are there at the start, by kind."`
	Commands  []Command           `yaml:"commands"`
	Downloads Downloads           `yaml:"downloads" doc:"The contents of addresses that can be reached; or a list of such addresses, whose contents are empty."`
	Violates  map[string][]string `yaml:"violates" doc:"The resources that violate a rule of the policy, by the name of the rule; all that do, in any step. A graph that the policy denies is expected then, and takes no step."`
	Steps     []Step              `yaml:"steps"`

	node *schema.Node // for the places of failures
}

// Command is the outcome of a command that an exec runs. Each run of the command has the same one.
type Command struct {
	Cmd    string            `yaml:"cmd" mgmt:"required"`
	Exit   int               `yaml:"exit"`
	Output string            `yaml:"output"`
	Stderr string            `yaml:"stderr"`
	Files  map[string]string `yaml:"files" doc:"The contents of files that the command writes, by their paths."`
}

// Downloads are the contents of addresses.
type Downloads map[string]string

// UnmarshalYAML reads a map from addresses to contents, or a list of addresses. A content of a list is empty.
func (d *Downloads) UnmarshalYAML(unmarshal func(any) error) error {
	var either any
	if err := unmarshal(&either); err != nil {
		return err
	}
	all := map[string]string{}
	if _, ok := either.([]any); !ok {
		err := unmarshal(&all)
		*d = all
		return err
	}
	var list []string
	err := unmarshal(&list)
	for _, address := range list {
		all[address] = ""
	}
	*d = all
	return err
}

// Step alters the machine, and has the expectations for the moment when the graph is at rest again.
type Step struct {
	Drift  any               `yaml:"drift" doc:"Parameters that something else has altered, by kind."`
	Fail   map[string]string `yaml:"fail" doc:"By resource: why it can't be altered from now on; empty for the end of that."`
	After  time.Duration     `yaml:"after" mgmt:"unit=s" doc:"Virtual time that passes."`
	Expect any               `yaml:"expect"`

	node *schema.Node
}

// Read reads a file of tests. The things in it are read later, when the kinds of the test are known; their faults are failures of the
// test. The graph is relative to the file.
func Read(n *schema.Node) (*File, schema.Diagnostics) {
	f := &File{}
	ds := schema.Decode(n, f)
	if ds.Err() != nil {
		return nil, ds
	}
	for i, t := range n.Get("tests").Items {
		f.Tests[i].node = t
		steps := t.Get("steps")
		if steps == nil || len(steps.Items) == 0 {
			// The graph starts nevertheless, and nothing may fail.
			f.Tests[i].Steps = []Step{{node: t}}
			continue
		}
		for j, s := range steps.Items {
			f.Tests[i].Steps[j].node = s
		}
	}
	return f, ds
}

// settings returns the variables of a test, in their order. The graph reads the text of each as YAML, by the type of the variable.
func (t *Test) settings() (list []expand.Setting) {
	n := t.node.Get("vars")
	if n == nil {
		return nil
	}
	for _, p := range n.Pairs {
		v := t.Vars[p.Key]
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v) // which is YAML, too
			if err != nil {
				b = fmt.Append(nil, v)
			}
			text = string(b)
		}
		list = append(list, expand.Setting{Name: p.Key, Text: text, From: "vars of the test", Pos: p.Pos})
	}
	return list
}

// facts returns a plain machine with the facts of the test. A name of the host is its whole name, too, unless the test gives one.
func (t *Test) facts() (engine.Facts, schema.Diagnostics) {
	f := simulate.NewHost().Facts()
	n := t.node.Get("facts")
	if n == nil {
		return f, nil
	}
	ds := schema.Decode(n, &f)
	if n.Get("fqdn") == nil {
		f.FQDN = f.Hostname
	}
	return f, ds
}

// hosts returns the other hosts of a test with their facts. Each one is a plain machine with a name of its own, as far as the test does not say more.
// A wrong fact is a failure at its place, as with the facts of the machine itself.
func (t *Test) hosts() (map[string]map[string]any, schema.Diagnostics) {
	out := map[string]map[string]any{}
	var found schema.Findings
	for name := range t.Hosts {
		f := simulate.NewHost().Facts()
		f.Hostname, f.FQDN = name, name
		found.Add(schema.Decode(t.node.Get("hosts").Get(name), &f)...)
		out[name] = f.Map()
	}
	return out, found.All()
}

// thing is one thing that a test names.
type thing struct {
	pos  schema.Pos
	kind string
	name string
	id   string
	set  map[string]any
	keys map[string]*schema.Node // the nodes of its parameters
}

// notKinds are the keys of an expectation that name no kind.
var notKinds = []string{"order", "changed", "refreshed", "failed", "blocked", "ok"}

// things reads a map of lists by kind. It goes on after a fault, so that all of them are told at once.
func things(kinds *engine.Registry, n *schema.Node) (list []thing, ds schema.Diagnostics) {
	if n == nil || n.Kind == schema.NodeNull {
		return nil, nil
	}
	if n.Kind != schema.NodeMap {
		return nil, schema.Diagnostics{{Pos: n.Pos, Message: "write a map from kinds to lists of things, such as {pkg: [{name: nginx}]}"}}
	}
	for _, p := range n.Pairs {
		switch {
		case slices.Contains(notKinds, p.Key):
			continue
		case !kinds.Has(p.Key):
			ds = append(ds, schema.Diagnostic{
				Pos: p.Pos, Message: fmt.Sprintf("there is no kind %q", p.Key), Suggestion: schema.Nearest(p.Key, slices.Concat(notKinds, kinds.Kinds())),
			})
			continue
		case p.Value.Kind != schema.NodeList:
			ds = append(ds, schema.Diagnostic{Pos: p.Value.Pos, Message: "write a list of things, such as [{name: nginx}]"})
			continue
		}
		for _, item := range p.Value.Items {
			ref, set, found := simulate.Parameters(kinds, p.Key, item)
			ds = append(ds, found...)
			if found.Err() != nil {
				continue // it names no thing
			}
			th := thing{pos: item.Pos, kind: ref.Kind, name: ref.Name, id: ref.ID(), set: set, keys: map[string]*schema.Node{}}
			for _, pair := range item.Pairs {
				th.keys[pair.Key] = pair.Value
			}
			list = append(list, th)
		}
	}
	return list, ds
}
