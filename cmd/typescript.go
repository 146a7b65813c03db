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

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// program returns the frontend of a program in TypeScript. The lines of console.log go to the log of a daemon. A verb
// that ends when the graph was read writes them to standard error, so that its own output stays as it is.
// The variables of --var and --vars, and those of the environment, are the inputs of the program. The program sees no other
// variable of the environment.
func (i *input) program(a *app) (gapi.Frontend, error) {
	o := a.programOptions(i.once)
	o.MaxResources, o.VarFiles, o.Check, o.Compiler = int(i.most), i.varFiles, typescript.Check(i.check.word), i.tsc
	if o.Check == typescript.CheckAuto && !i.typed && i.tsc == "" {
		o.Check = typescript.CheckOff // tsc takes longer than the program
	}
	set, err := i.options(a)
	if err != nil {
		return nil, err
	}
	for _, v := range set.Vars {
		o.Inputs[v.Name] = inputValue(v.Text)
	}
	return typescript.New(i.ts, o), nil
}

// programOptions are those of every program. once says that the verb has no engine, whose host would run it.
func (a *app) programOptions(once bool) typescript.Options {
	o := typescript.Options{Source: a.source(), Programs: a.programs(), Inputs: map[string]json.RawMessage{}, Parse: yaml.Document, Trusted: trustedProject}
	if once {
		o.Run, o.Said = runOnce, func(line string) { fmt.Fprintln(a.err, visible(line)) }
	}
	return o
}

// isProgram reports whether a graph of that name is made by a program. No graph in YAML has a name such as main.ts.
func isProgram(name string) bool { return yaml.NotationOf(name).Flag == "ts" }

// tested returns the frontend of a program that mgmt test runs; nil for a graph of another sort. mgmt validate checks its types.
func (a *app) tested(path string, inputs map[string]any) gapi.Frontend {
	if !isProgram(path) {
		return nil
	}
	o := a.programOptions(true)
	o.Check = typescript.CheckOff
	for name, v := range inputs {
		text, err := json.Marshal(v)
		if err != nil { // JSON has no infinity
			text = inputValue(fmt.Sprint(v))
		}
		o.Inputs[name] = text
	}
	return typescript.New(path, o)
}

// inputValue reads a variable as JSON, so that a program gets numbers and lists. Any other text is itself.
// The caller quotes a text that only looks like a number, such as a version: --var 'v="1.10"'. A variable of the
// environment follows the same rule, so both sources of one variable mean the same.
// The program sees each variable by its name in inputs.
func inputValue(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has a form always
	}
	return quoted
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
