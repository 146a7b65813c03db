package scenario_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestOneFactOneRun: a fact that one resource reads costs one CheckApply of that resource when it changes, also through a template, a loop, a module
// and an expression with a sent value. All other resources keep their vertices, and do not run.
func TestOneFactOneRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"g.yaml": `
use: [{module: m, with: {os: "${{ facts.os }}"}}]
resources:
  value: [{name: v, any: x}]
  file:
  - {name: /cpus, content: "${{ facts.cpus }}"}
  - {name: /plain, content: "x", depend: ["file[/cpus]"]}
  - {name: "/loop-${{ each.key }}", for_each: {a: 1, b: 2}, content: "${{ each.key == 'a' ? facts.fqdn : 'x' }}"}
  - {name: /template, content: "${{ template('t.tmpl', {'k': facts.kernel}) }}"}
  - {name: /sent, content: "${{ string(sent('value[v].any')) + facts.arch }}"}
`,
		"t.tmpl":        "{{ .k }}",
		"m/module.yaml": "module: m\ninputs: {os: text}\nresources: {file: [{name: /module, content: \"${{ module.inputs.os }}\"}]}\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	machine, host := simulate.NewMachine(), simulate.NewHost()
	kinds, err := machine.Kinds(engine.DefaultRegistry(), "value")
	if err != nil {
		t.Fatal(err)
	}
	host.SetClock(clock.System{})
	ran := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{
		Registry: kinds, Host: host, Hostname: "w1", NoAutoGroup: true,
		Observer: mgmt.Observer{Ran: func(run reactor.Run) { ran <- run.Resource }},
	}, yaml.New(filepath.Join(dir, "g.yaml"), yaml.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = e.Wait() }()
	const resources = 8
	first := map[string]bool{}
	for len(first) < resources {
		first[<-ran] = true
	}
	facts := host.Facts()
	// The runs come in the order of the changes. So a run that should not be would stand in front of the next one.
	for _, step := range []struct {
		alter func()
		want  string
	}{
		{func() { facts.CPUs = 77 }, "file[/cpus]"},
		{func() { facts.FQDN = "other" }, "file[/loop-a]"},
		{func() { facts.Kernel = "other" }, "file[/template]"},
		{func() { facts.Arch = "other" }, "file[/sent]"},
		{func() { facts.OS = "other" }, "file[/module]"},
		{func() { facts.Virtual = "other"; facts.CPUs = 78 }, "file[/cpus]"}, // nothing reads the first one
	} {
		step.alter()
		host.SetFacts(facts)
		if got := <-ran; got != step.want {
			t.Errorf("%s ran, not %s", got, step.want)
		}
	}
	for id, want := range map[string]string{"file[/cpus]": "78", "file[/sent]": "xother", "file[/module]": "other", "file[/template]": "other"} {
		thing, _ := machine.Thing(id)
		if thing["content"] != want {
			t.Errorf("%s has the content %v, not %s", id, thing["content"], want)
		}
	}
}
