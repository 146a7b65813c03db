package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// newInterfaceCheck makes the verb that compares a backend with its interface. It calls nothing of
// the backend. If no backend can be chosen, callCode decides about the exit code.
func newInterfaceCheck(a *cli.App) *cobra.Command {
	m := modules{a}
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "check MODULE [BACKEND]",
		Short: "Check how a backend implements each function of a module",
		Long: `Check shows what a call of each function would do with a backend on this machine, and how
the backend's function differs from the declared one. BACKEND defaults to the selected one.

The exit code is 4 if the parameters of a function prevent calling it, or if the backend
has a function but it does not apply.`,
		Example: `  mgmt interface check pkg
  mgmt interface check pkg mine --backends ./backends`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: m.completeCheck,
		RunE: func(_ *cobra.Command, args []string) error {
			// The added empty text stands for a backend that is not named.
			i, b, err := m.backend(append(args, "")[0], append(args, "")[1])
			if err != nil {
				return cli.WithCode(callCode(err), err)
			}
			return m.check(i, b, output)
		},
	}
	cli.Forms(cmd, &output, "output format", []functionJSON{}, "text")
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// completeCheck offers modules, then the backends of the named one.
func (m modules) completeCheck(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return m.backends(args), cobra.ShellCompDirectiveNoFileComp
	}
	return m.complete(cmd, args, word)
}

// backend returns a module and one of its backends, chosen here if it is not named.
// A named backend need not suit the machine.
// So a person can check a backend for another machine, or a folder of own ones.
func (m modules) backend(module, name string) (*virtual.Interface, *virtual.Backend, error) {
	if name == "" {
		i, sel, err := inputs.Modules(m.app).Select(module, m.machine(), "")
		if err != nil {
			return nil, nil, err
		}
		return i, sel.Backend, nil
	}
	i, err := inputs.Modules(m.app).Interface(module)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, b := range inputs.Modules(m.app).Backends(module) {
		if names = append(names, b.Name); b.Name == name {
			return i, b, nil
		}
	}
	return nil, nil, fmt.Errorf("there is no backend %s of %s, only %s%s", name, module, strings.Join(names, ", "), cli.Meant(name, names))
}

// check writes the verdicts, with warnings about odd declarations on standard error. The
// exit code tells whether a call could fail.
// A contradiction is a function that the backend has although the interface says that it
// can not apply here.
func (m modules) check(i *virtual.Interface, b *virtual.Backend, output cli.Output) error {
	system := m.machine()
	// The facts count, since a function may be applicable on some machines alone.
	verdicts := virtual.Check(i, b, system.Facts)
	for _, f := range append(i.Lint(system.Facts), b.Lint(system.Facts)...) {
		// A warning alters no exit code: it is for the authors of the interface and of the backend.
		fmt.Fprintln(m.app.Err, render.Visible("warning: "+f.String()))
	}
	err := output.Write(m.app.Out, verdictsJSON(i, b, verdicts), checkTable(verdicts).Write)
	if err == nil && slices.ContainsFunc(verdicts, func(v virtual.Verdict) bool {
		return v.Status == virtual.SignatureMismatch || v.Contradicts || len(v.Lacks()) > 0 || v.Misfit() != ""
	}) {
		err = cli.WithCode(cli.ExitFailed, nil)
	}
	return err
}

// checkTable shows the verdicts: each function, then its differences by weight.
// Differences without effect on a call are left out.
func checkTable(verdicts []virtual.Verdict) (t render.Table) {
	for _, v := range verdicts {
		t.Row(render.OneLine(v.Function), v.Status)
		if v.Contradicts {
			t.Row("", "  the backend has it although it is not applicable here")
		}
		for _, d := range v.Differences {
			if d.Severity() > virtual.SeverityOK {
				t.Row("", "  "+render.OneLine(d.String()))
			}
		}
	}
	return t
}

// verdictsJSON describes the verdicts; functions that only the backend has are among them.
// Here all differences are shown, each with its weight.
func verdictsJSON(i *virtual.Interface, b *virtual.Backend, verdicts []virtual.Verdict) []functionJSON {
	list := []functionJSON{}
	for _, v := range verdicts {
		f := i.Function(v.Function)
		if f == nil {
			f = ownFunction(b, v.Function)
		}
		j := newFunctionJSON(f)
		j.Status = &v.Status
		for _, d := range v.Differences {
			j.Differs = append(j.Differs, differenceJSON{d.Kind.String(), d.Severity().String(), d.String()})
		}
		list = append(list, j)
	}
	return list
}

// newInterfaceMatrix makes the verb for the table of functions and backends, which the
// reference contains.
// The Markdown goes into docs/reference, by make docs.
func newInterfaceMatrix(a *cli.App) *cobra.Command {
	m := modules{a}
	var output cli.Output
	cmd := &cobra.Command{
		Use:               "matrix [MODULE]",
		Short:             "Print a Markdown table of backends and their functions",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: m.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = inputs.Modules(m.app).Modules()
			}
			all, pages := []matrixJSON{}, []string{}
			for _, module := range args {
				i, err := inputs.Modules(m.app).Interface(module)
				if err != nil {
					return err
				}
				backends := inputs.Modules(m.app).Backends(module)
				all = append(all, newMatrixJSON(i, backends))
				pages = append(pages, virtual.Page(i, backends, Kind(m.app, module)))
			}
			return output.Write(a.Out, all, func(w io.Writer) error {
				_, err := io.WriteString(w, render.VisibleLines(strings.Join(pages, "\n")))
				return err
			})
		},
	}
	cli.Forms(cmd, &output, "output format; text is Markdown", []matrixJSON{}, "text")
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// Kind returns a resource of the kind that a module has; nil if it has none.
func Kind(a *cli.App, module string) engine.Res {
	r, err := a.Kinds().New(module)
	if err != nil {
		return nil
	}
	return r
}

// newInterfaceGenerate makes the verb that drafts an interface. A person names and
// documents the result.
// The draft has no texts where the backends have none.
func newInterfaceGenerate(a *cli.App) *cobra.Command {
	m := modules{a}
	var output cli.Output
	var from []string
	var aliases bool
	var as string
	cmd := &cobra.Command{
		Use:   "generate [MODULE] --from BACKEND",
		Short: "Draft an interface from the functions of one or more backends",
		Long: `Generate prints the signatures of all functions of a backend, or the functions and
parameters that several backends have in common, as a start for an interface. MODULE is
required if several modules have a backend of that name.`,
		Example: `  mgmt interface generate --from apt
  mgmt interface generate pkg --from apt --from dnf --from apk
  mgmt interface generate --from apt --as mine -o yaml >backends/mine.yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: m.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			i, err := m.generate(append(args, "")[0], from, aliases)
			if err != nil {
				return err
			}
			if as != "" {
				i.Module = as
			}
			return output.Write(a.Out, i.Describe(), func(w io.Writer) error {
				for _, f := range i.Functions {
					if _, err := fmt.Fprintln(w, render.VisibleLines(f.Name+f.Signature())); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cli.Forms(cmd, &output, "how to write it; what yaml and json write declares an interface in a folder of --backends", map[string]any{}, "text")
	cmd.Flags().StringVar(&as, "as", "", "`module` name (default the module of the backend)")
	cmd.Flags().StringArrayVar(&from, "from", nil, "`backend` to read; may be repeated")
	inputs.CompleteBackend(a, cmd, "from", m.backends)
	cmd.Flags().BoolVar(&aliases, "aliases", false, "include other names of functions")
	inputs.MachineFlags(a, cmd)
	return cmd
}

// generate drafts an interface from one backend, or from the common part of several.
// With several backends it keeps the common functions, since an interface may promise
// no more. The first one gives the order.
func (m modules) generate(module string, from []string, aliases bool) (*virtual.Interface, error) {
	if len(from) == 0 {
		return nil, errors.New("name a backend: --from BACKEND")
	}
	if module == "" {
		var err error
		if module, err = m.moduleOf(from[0]); err != nil {
			return nil, err
		}
	}
	var all []*virtual.Backend
	for _, name := range from {
		// An empty name would mean the chosen backend. No backend is called -, so the error
		// lists all.
		_, b, err := m.backend(module, cmp.Or(name, "-"))
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return virtual.Generate(module, aliases, all[0], all[1:]...), nil
}

// moduleOf returns the one module that has a backend of a name.
// Backends have their names within one module, so apt may stand in two of them.
func (m modules) moduleOf(backend string) (string, error) {
	var found, others []string
	for _, module := range inputs.Modules(m.app).Modules() {
		for _, b := range inputs.Modules(m.app).Backends(module) {
			if others = append(others, b.Name); b.Name == backend {
				found = append(found, module)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no backend %s%s; %s interface list has them", backend, cli.Meant(backend, others), m.app.Program())
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("the modules %s have a backend %s: name one of them", cli.OrList(found), backend)
}
