package machine

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// modules is what the verbs interface and call have in common.
// It is made for each verb and has no state of its own.
type modules struct{ app *cli.App }

// machine is what this machine is.
// With --facts it is the machine of that file.
// The facts are read at each call, so a verb asks once and hands them on.
func (m modules) machine() virtual.System { return inputs.System(m.app)(nil) }

// complete offers the modules to the shell.
func (m modules) complete(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return inputs.Modules(m.app).Modules(), cobra.ShellCompDirectiveNoFileComp
}

// NewInterface makes the verb interface with its own verbs.
// None of its verbs calls a function of a backend, so they alter nothing.
func NewInterface(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "interface",
		Short: "Show virtual modules, their functions and backends",
		Long: `A virtual module, such as pkg, has the same functions on every machine; its interface
declares them. Backends, such as apt and dnf, implement them. The facts and programs of
the machine select the backend.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInterfaceList(a), newInterfaceShow(a), newInterfaceCheck(a), newInterfaceMatrix(a), newInterfaceGenerate(a))
	return cmd
}

// moduleJSON is a module in JSON.
// A module without a fitting backend has the reason in Refused and nothing in Chosen.
type moduleJSON struct {
	Module string `json:"module"`
	Doc    string `json:"doc"`
	// All backends of the module, in the order of the catalog; never null.
	Backends []backendJSON `json:"backends"`
	Chosen   string        `json:"chosen,omitempty"` // on this machine
	Refused  string        `json:"refused,omitempty"`
}

// backendJSON is a backend in the output of interface; its keys are part of the interface of the program.
type backendJSON struct {
	Backend string `json:"backend"`
	Doc     string `json:"doc,omitempty"`
	// A backend suits a machine with these facts (when), without these (unless), and with these
	// programs (needs).
	When   virtual.Match `json:"when,omitempty"`
	Unless virtual.Match `json:"unless,omitempty"`
	Needs  []string      `json:"needs,omitempty"`
	// Among several that suit, the highest counts, and then the first by name.
	Priority int               `json:"priority,omitempty"`
	Watch    virtual.WatchMode `json:"watch"`
}

// newBackendJSON describes a backend.
func newBackendJSON(b *virtual.Backend) backendJSON {
	return backendJSON{b.Name, b.Doc, b.When, b.Unless, b.Needs, b.Priority, b.Watch}
}

// newInterfaceList makes the verb that lists modules with the backend that this machine
// would use.
func newInterfaceList(a *cli.App) *cobra.Command {
	m := modules{a}
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List modules, their backends, and the one selected on this machine",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list := m.list()
			var t render.Table
			for _, l := range list {
				t.Row(render.OneLine(l.Module), l.choice(), render.OneLine(l.Doc))
			}
			return output.Write(a.Out, list, t.Write)
		},
	}
	cli.Forms(cmd, &output, "output format", []moduleJSON{}, "text")
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// choice says which backend is chosen, and which others there are.
// It is one cell of a table: the chosen backend first, the others in parentheses.
func (l *moduleJSON) choice() string {
	var others []string
	for _, b := range l.Backends {
		if b.Backend != l.Chosen {
			others = append(others, b.Backend)
		}
	}
	text := l.Chosen
	if text == "" {
		text = "none"
	}
	if len(others) > 0 {
		text += " (not " + strings.Join(others, ", ") + ")"
	}
	return text
}

// list describes all modules. A module without a fitting backend is in it, with the
// reason.
// Every module is asked with the same facts, read once.
func (m modules) list() []moduleJSON {
	all := []moduleJSON{}
	system := m.machine()
	for _, name := range inputs.Modules(m.app).Modules() {
		i, sel, err := inputs.Modules(m.app).Select(name, system, "")
		// The module is a known one, so an error is that of the choice, and the interface is there
		// all the same.
		l := moduleJSON{Module: name, Doc: i.Doc, Backends: []backendJSON{}}
		for _, b := range inputs.Modules(m.app).Backends(name) {
			l.Backends = append(l.Backends, newBackendJSON(b))
		}
		if err != nil {
			l.Refused = err.Error()
		} else {
			l.Chosen = sel.Backend.Name
		}
		all = append(all, l)
	}
	return all
}

// functionJSON is a function in JSON.
// Status and Differs are set by the verb check alone.
type functionJSON struct {
	Function  string      `json:"function"`
	Signature string      `json:"signature"`
	Doc       string      `json:"doc,omitempty"`
	Returns   string      `json:"returns,omitempty"`
	Params    []paramJSON `json:"params"`
	// Few backends have the function, and none must; see virtual.Function.
	Extra   bool             `json:"extra,omitempty"`
	Leaves  string           `json:"deprecated,omitempty"` // why, and the verb to call instead
	Status  *virtual.Status  `json:"status,omitempty"`
	Differs []differenceJSON `json:"differences,omitempty"`
}

// paramJSON is a parameter of a function.
type paramJSON struct {
	Name     string            `json:"name"`
	Kind     virtual.ParamKind `json:"kind"`
	Type     string            `json:"type,omitempty"`
	Doc      string            `json:"doc,omitempty"`
	Optional bool              `json:"optional,omitempty"`
	Default  any               `json:"default,omitempty"`
}

// differenceJSON is a difference between a function of a backend and its declaration.
// Severity is a word, and orders the differences by weight.
type differenceJSON struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// newFunctionJSON describes a function with its parameters.
func newFunctionJSON(f *virtual.Function) functionJSON {
	j := functionJSON{Function: f.Name, Signature: f.Signature(), Doc: f.Doc, Extra: f.Extra, Leaves: f.Deprecated, Params: []paramJSON{}}
	if f.Returns != nil {
		j.Returns = f.Returns.String()
	}
	for _, p := range f.Params {
		q := paramJSON{Name: p.Name, Kind: p.Kind, Doc: p.Doc, Optional: p.Optional, Default: p.Default}
		if p.Type != nil {
			q.Type = p.Type.String()
		}
		j.Params = append(j.Params, q)
	}
	return j
}

// newInterfaceShow makes the verb that shows a module or a function.
func newInterfaceShow(a *cli.App) *cobra.Command {
	m := modules{a}
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "show MODULE[.FUNCTION]",
		Short: "Show the functions of a module, or one function",
		Example: `  mgmt interface show pkg
  mgmt interface show pkg.install`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: m.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			fs, err := m.functions(args[0])
			if err != nil {
				return err
			}
			list := []functionJSON{}
			for i := range fs {
				list = append(list, newFunctionJSON(&fs[i]))
			}
			return output.Write(a.Out, list, func(w io.Writer) error {
				_, err := io.WriteString(w, render.VisibleLines(functionsText(fs)))
				return err
			})
		},
	}
	cli.Forms(cmd, &output, "output format", []functionJSON{}, "text")
	inputs.MachineFlags(a, cmd)
	return cmd
}

// functions returns the functions of a module, or the named one.
// A name without a point is a module. The error of an unknown function has the nearest
// name.
func (m modules) functions(name string) ([]virtual.Function, error) {
	module, function, one := strings.Cut(name, ".")
	i, err := inputs.Modules(m.app).Interface(module)
	if err != nil || !one {
		if err != nil {
			return nil, err
		}
		return i.Functions, nil
	}
	at := slices.IndexFunc(i.Functions, func(f virtual.Function) bool { return f.Name == function })
	if at < 0 {
		var names []string
		for _, f := range i.Functions {
			names = append(names, f.Name)
		}
		return nil, &virtual.UnknownFunctionError{FunctionError: virtual.FunctionError{Module: module, Function: function}, Near: schema.Nearest(function, names)}
	}
	return i.Functions[at : at+1], nil
}

// functionsText describes functions; of a single one the parameters too.
// Each function has its signature on a line, and its text below.
func functionsText(fs []virtual.Function) string {
	var b strings.Builder
	for i := range fs {
		f := &fs[i]
		fmt.Fprintf(&b, "%s%s\n    %s\n", f.Name, f.Signature(), f.Doc)
		if f.Deprecated != "" {
			fmt.Fprintf(&b, "    Deprecated: %s.\n", f.Deprecated)
		}
		if len(fs) > 1 {
			// A list of all functions stays short: the parameters are shown for one function alone.
			continue
		}
		for _, p := range f.Params {
			fmt.Fprintf(&b, "    %s: %s%s\n", p.Name, p.Doc, typeText(p.Type))
		}
		if f.Returns != nil {
			fmt.Fprintf(&b, "    Returns %s.\n", f.Returns)
			keysText(&b, f.Returns)
		}
	}
	return b.String()
}

// keysText describes the keys of a result that is a record, or has records in it.
// A list or a map of records is described by the keys of its elements.
func keysText(b *strings.Builder, t *schema.Type) {
	for t.Elem != nil {
		t = t.Elem
	}
	for _, f := range t.Fields {
		if f.Type.Optional {
			fmt.Fprintf(b, "    %s: %s (%s, or missing)\n", f.Key, f.Doc, f.Type)
		} else {
			fmt.Fprintf(b, "    %s: %s%s\n", f.Key, f.Doc, typeText(f.Type))
		}
	}
}

// typeText is a type in parentheses, nothing for nil.
func typeText(t *schema.Type) string {
	if t == nil {
		return ""
	}
	return " (" + t.String() + ")"
}
