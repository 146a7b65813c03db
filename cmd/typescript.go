package cmd

// Laws of the flag --ts:
//
//   - A program sees its files and its inputs, and nothing else of this process or of the machine.
//   - The engine checks the graph of a program as it checks that of any other source.
//   - The lines of a program never mix with the output of a verb.
//   - A verb without an engine starts no process that outlives it.
//   - Programs that a run starts, mgmt-ts and tsc, get no variable of the environment but PATH.
//
// The frontend is package gapi/typescript. Here stand the flags, and who runs the programs.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// isProgram reports whether a graph of that name is made by a program. No graph in YAML has a name such as main.ts.
func isProgram(name string) bool { return yaml.NotationOf(name).Flag == "ts" }

// tested returns the frontend of a program that mgmt test runs; nil for a graph of another sort. mgmt validate checks its types.
func (a *app) tested(path string, inputs map[string]any) gapi.Frontend {
	if !isProgram(path) {
		return nil
	}
	e := a.surroundings()
	e.Run, e.Said = runOnce, func(line string) { fmt.Fprintln(a.err, visible(line)) }
	o := e.Program()
	o.Check = typescript.CheckOff
	for name, v := range inputs {
		text, err := json.Marshal(v)
		if err != nil { // JSON has no infinity
			text = input.Value(fmt.Sprint(v))
		}
		o.Inputs[name] = text
	}
	return typescript.New(path, o)
}

// runOnce runs a program for a verb without an engine. The host lives for that one command: it kills the program with all
// its descendants when the context ends, and nothing is left behind.
func runOnce(ctx context.Context, c engine.Command) (_ *engine.Result, err error) {
	if unix.Portable {
		return nil, linuxOnly("--ts")
	}
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return h.Command(ctx, c)
}
