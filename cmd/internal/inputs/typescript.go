package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// IsProgram reports whether a graph of that name is made by a program. No graph in YAML has a name such as main.ts.
func IsProgram(name string) bool { return yaml.NotationOf(name).Flag == "ts" }

// Tested returns the frontend of a program that mgmt test runs; nil for a graph of another sort. mgmt validate checks its types.
func Tested(a *cli.App, path string, inputs map[string]any) gapi.Frontend {
	if !IsProgram(path) {
		return nil
	}
	e := Surroundings(a)
	e.Run, e.Said = runOnce, func(line string) { fmt.Fprintln(a.Err, render.Visible(line)) }
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
		return nil, cli.LinuxOnly("--ts")
	}
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return h.Command(ctx, c)
}
