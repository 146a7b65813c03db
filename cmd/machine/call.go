package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// callFlags are the flags of call. With lax, parameters that a backend lacks are left out.
// The verb needs no daemon: it calls the backend in its own process, with the rights of the user.
type callFlags struct {
	modules
	log     show.Flags
	output  cli.Output
	backend string
	// lax accepts results that do not fit the interface. Each of them is a warning.
	lax bool
}

// NewCall makes the verb call. Completion offers modules, functions and parameters of this
// machine.
// The flag output concerns the result alone. Log lines always go to standard error.
func NewCall(a *cli.App) *cobra.Command {
	f := &callFlags{modules: modules{a}}
	cmd := &cobra.Command{
		Use:   "call MODULE.FUNCTION [VALUE...] [PARAMETER=VALUE...]",
		Short: "Call a function of a virtual module on this machine",
		Long: `Call runs a function of a virtual module with the backend that suits this machine, at
once, even if the function changes the machine.

An argument is positional, or has one of these forms:

  refresh=true       text, read by the type of the parameter
  pkgs:='{"git":""}' JSON
  password@FILE      content of a file; @- is standard input. A secret is given only so.
  extra.NAME=VALUE   for a parameter that only the backend has; := and @ work too

Call prints the result that the interface declares; with -o json or yaml, also what only
this backend reports (extra). The exit code is 1 for bad usage, and 4 if the backend
lacks the function, fails, or does not find what the call is about.`,
		Example: `  mgmt call pkg.list_installed
  mgmt call pkg.install pkgs:='{"git": ""}' refresh=true
  mgmt call svc.status cron -o json
  mgmt call pkg.owner /usr/bin/git`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.completeFunction,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	f.log.Flags(cmd)
	cli.Forms(cmd, &f.output, "output format", resultJSON{}, "text")
	inputs.BackendFlag(a, cmd, &f.backend, f.backends)
	cmd.Flags().BoolVar(&f.lax, "lax", false, "only warn about results that do not match the interface")
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	return cmd
}

// completeFunction offers the functions to the shell.
// It asks no backend, so a wrong machine does not slow the shell down.
func (f *callFlags) completeFunction(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, module := range inputs.Modules(f.app).Modules() {
			fs, _ := f.functions(module)
			for _, fn := range fs {
				names = append(names, module+"."+fn.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// backends returns the names of the backends of the module whose function is called, or of all modules.
// It serves the completion of --backend. The names are sorted, each once.
func (m modules) backends(args []string) []string {
	modules := inputs.Modules(m.app).Modules()
	if len(args) > 0 {
		module, _, _ := strings.Cut(args[0], ".")
		modules = []string{module}
	}
	var names []string
	for _, module := range modules {
		for _, b := range inputs.Modules(m.app).Backends(module) {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// run makes the call and writes its result. The exit code tells a refused call from a
// failed one, see callCode.
// A result that was not found gives ExitFailed too, so a script need not read the output.
func (f *callFlags) run(ctx context.Context, args []string) (err error) {
	module, function, ok := strings.Cut(args[0], ".")
	if !ok || module == "" || function == "" {
		return fmt.Errorf("%q is no function: write MODULE.FUNCTION; %s interface list shows the modules", args[0], f.app.Program())
	}
	p := f.log.Presenter(f.app)
	defer p.Close()
	r, err := f.call(ctx, p, module, function, args[1:])
	if err != nil {
		return cli.WithCode(callCode(err), err)
	}
	if err := f.write(module, function, r); err != nil {
		return err
	}
	if !r.Found {
		return cli.WithCode(cli.ExitFailed, fmt.Errorf("%s.%s: it is not there", module, function))
	}
	return nil
}

// call makes the call. A signal ends it, and the programs that the backend has started.
// The host is started for this call alone. Backend and host are closed before the result
// is returned.
func (f *callFlags) call(ctx context.Context, p *show.Presenter, module, function string, args []string) (_ *virtual.Result, err error) {
	system := f.machine()
	// A mistyped name is a wrong call, with code 1. Select would tell of it by a *NoBackendError,
	// which is code 4.
	if f.backend != "" {
		if _, _, err := f.modules.backend(module, f.backend); err != nil {
			return nil, err // no model knows that one
		}
	}
	i, sel, err := inputs.Modules(f.app).Select(module, system, f.backend)
	if err != nil {
		return nil, err
	}
	// The arguments are read before the host starts: a wrong one costs nothing.
	given, err := readCallArgs(f.app, i.Function(function), args)
	if err != nil {
		return nil, err
	}
	// The host is made for the watches and commands of this one call.
	h, err := host.New(ctx, host.Options{Logger: p.Logger, Roles: f.app.Folders.Roles})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	// The first signal ends the context, and the second kills the programs of the backend.
	ctx, stop := f.app.OnSignals(ctx, cli.SignalHooks{Tell: p.Signalled, Abandon: h.KillAll})
	defer stop()
	var options []virtual.Option
	if f.lax {
		options = append(options, virtual.Lax())
	}
	m, err := virtual.Bind(ctx, i, sel.Backend, virtual.Env{Host: h, Facts: system.Facts, Log: p.Logger}, options...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return m.Call(ctx, function, given)
}

// callCode is the exit code of an error of a call: was it called wrongly, or can
// it not be done?
// A script can tell by it whether to correct its call, or to look at the machine.
func callCode(err error) int {
	// All other errors, such as those of arguments, are told before anything was done.
	for _, cannot := range []any{
		new(*virtual.NotImplementedError), new(*virtual.NotSupportedError), new(*virtual.SignatureMismatchError),
		new(*virtual.NoBackendError), new(*virtual.ReturnShapeError), new(*virtual.CallError),
	} {
		if errors.As(err, cannot) {
			return cli.ExitFailed
		}
	}
	return cli.ExitUsage
}

// resultJSON is the result of a call in JSON.
// Its keys are part of the command line, and docs/reference/cli/call.md has them. Common is the
// declared result, Extra the further parts of the backend.
type resultJSON struct {
	Module   string         `json:"module"`
	Function string         `json:"function"`
	Backend  string         `json:"backend"`
	Status   virtual.Status `json:"status"`
	Found    bool           `json:"found"`
	Common   any            `json:"common"`
	Extra    map[string]any `json:"extra"`
	// Warnings are also log lines on standard error. They are here for programs that read the result
	// alone.
	Warnings []warningJSON `json:"warnings,omitempty"`
}

// warningJSON is one of the warnings of a result.
type warningJSON struct {
	Event string `json:"event"`
	Text  string `json:"text"`
}

// write writes a result. Text is for people and may change; JSON and YAML have the same
// keys in every version.
// A plain text is written without quotes, for use in a script. Control characters in it are made
// visible.
func (f *callFlags) write(module, function string, r *virtual.Result) error {
	out := resultJSON{module, function, r.Backend, r.Status, r.Found, r.Common, r.Extra, nil}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, warningJSON(w))
	}
	return f.output.Write(f.app.Out, out, func(w io.Writer) error { return writeResult(w, r) })
}

// writeResult writes what a function has returned, for people.
func writeResult(w io.Writer, r *virtual.Result) error {
	// A function without a result writes nothing, as most programs of Unix do.
	if r.Common == nil || !r.Found {
		return nil
	}
	if s, ok := r.Common.(string); ok {
		_, err := fmt.Fprintln(w, render.Visible(s))
		return err
	}
	var b strings.Builder
	if err := render.WriteYAML(&b, r.Common); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), " "))
	return err
}

// readCallArgs reads the arguments of a call. function is nil if the interface
// does not have it: then texts are texts.
// All faults come together, each with the name of its parameter. The first = or @ decides about
// the form, as for the verb resource.
func readCallArgs(a *cli.App, function *virtual.Function, args []string) (virtual.Args, error) {
	out := virtual.Args{Named: map[string]any{}, Extra: map[string]any{}}
	var errs []error
	for _, arg := range args {
		key, form, rest := cli.SplitArg(arg)
		// An address or a path may have = or @ in it: without a name before that, the argument counts
		// by its place.
		if form == "" || !isParamName(key) {
			v, err := callText(placeParam(function, len(out.Positional)), arg)
			out.Positional = append(out.Positional, v)
			errs = append(errs, err)
			continue
		}
		into := out.Named
		name, extra := strings.CutPrefix(key, "extra.")
		if extra {
			into = out.Extra
		}
		v, err := callValue(a, namedParam(function, name, extra), name, form, rest)
		if _, twice := into[name]; twice {
			err = errors.Join(err, fmt.Errorf("%s is given twice", name))
		}
		into[name] = v
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// isParamName tells a parameter from a value that has = or @ in it, such as a path
// or an address.
func isParamName(key string) bool {
	return virtual.IsIdentifier(strings.TrimPrefix(key, "extra."))
}

// placeParam returns the type of the argument at a place.
// Places count from 0. After the declared places a list of further arguments takes all; nil means
// that the type is not known.
func placeParam(f *virtual.Function, n int) *schema.Type {
	if f == nil {
		return nil
	}
	for _, p := range f.Params {
		switch {
		// The list takes all that is left, so each text is read by the type of its elements.
		case p.Kind == virtual.VarArgs && p.Type != nil:
			return p.Type.Elem
		case p.Kind == virtual.Positional && n == 0:
			return p.Type
		}
		n--
	}
	return nil
}

// namedParam returns the type of a declared parameter; nil for further parameters of a
// backend, whose types are not known.
func namedParam(f *virtual.Function, name string, extra bool) *schema.Type {
	if f == nil || extra {
		return nil
	}
	for _, p := range f.Params {
		if p.Name == name {
			return p.Type
		}
	}
	return nil
}

// callText reads a text by a type.
// A secret in an argument is refused, since other users could read it there.
func callText(t *schema.Type, text string) (any, error) {
	if t == nil {
		return text, nil
	}
	if t.Secret {
		return nil, cli.ErrSecret
	}
	v, ds := schema.Value(t, textNode(t, text))
	return v, ds.Err()
}

// callValue reads one argument in one of its forms: as text, as JSON, or from a file. An error
// begins with the name of the parameter. The content of a file is a secret if its type is text or
// not known, since a backend may log its arguments.
func callValue(a *cli.App, t *schema.Type, name, form, rest string) (v any, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	switch form {
	case cli.FormText:
		return callText(t, rest)
	case cli.FormFile:
		data, err := inputs.ReadNamed(a, rest)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSuffix(string(data), "\n")
		if t == nil || t.Kind == schema.KindString {
			return schema.NewSecret(text), nil
		}
		if v, err = callText(t, text); err != nil { // it may repeat the text
			return nil, fmt.Errorf("what is in the file is not %s", t)
		}
		return v, nil
	}
	if t != nil && t.Secret {
		return nil, cli.ErrSecret
	}
	if v, err = strictjson.Parse([]byte(rest)); err != nil {
		return nil, fmt.Errorf("%w (in JSON, text stands in double quotes)", err)
	}
	return v, nil
}
