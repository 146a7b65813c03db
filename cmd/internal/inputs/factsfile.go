package inputs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// FactFlags adds the flags for the facts that the user sets: roles and hostname. Expressions and backends may depend on
// them, so every verb that reads a graph has both and sees the same machine as the daemon.
func FactFlags(cmd *cobra.Command, roles *[]string, hostname *string) {
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	// The flag takes a word as it is. A slice flag of pflag would split it at commas.
	list.StringArrayVar(roles, "role", nil, "")
	cli.Bind(cmd, "role", list.Lookup("role").Value)
	cli.Bind(cmd, "hostname", hostname)
}

// FactType is the type of the facts.
func FactType() *schema.Type {
	t, err := schema.Of(&engine.Facts{})
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	return t
}

// FactNames returns the names of the facts in engine.Facts, in field order.
func FactNames() []string { return FactType().Keys() }

// ProgramsKey is the key of a file of facts that lists programs; programs do not count as facts.
const ProgramsKey = "programs"

// FactsFlag adds --facts, which names the facts of another machine. Call it after MachineFlags, so that these
// facts select the backends.
func FactsFlag(a *cli.App, cmd *cobra.Command) {
	cmd.Flags().Var((*cli.Place)(&a.FactsFile), "facts", "check for the machine with the facts in this `file`, the output of mgmt facts --programs -o yaml there")
	_ = cmd.MarkFlagFilename("facts", yaml.FlagExtensions("yaml")...)
	a.Before(cmd, func() schema.Diagnostics { return readFacts(a) })
}

// readFacts reads the facts of the machine that a verb is to check for.
// The flags --role and --hostname win over the file. The same settings of this machine do not
// count, since they are about another machine.
func readFacts(a *cli.App) schema.Diagnostics {
	if a.FactsFile == "" {
		return nil
	}
	m, ds := factsOf(a.FactsFile, a)
	if ds.Err() != nil {
		return ds
	}
	// a.flags has the flags of this call; a.settled would have the roles of this machine, too.
	if given, ok := a.Flags["role"]; ok && given.Source == config.SourceFlag {
		m.Facts["roles"] = slices.Collect(anys(a.Folders.Roles))
	}
	if given, ok := a.Flags["hostname"]; ok && given.Source == config.SourceFlag {
		m.Facts["hostname"] = a.Folders.Hostname
	}
	a.Folders.Machine = &m
	return ds
}

// storeName is the name that the user gives to the machine; empty where the facts have it. A setting of this machine does not hold
// for the machine of a file of facts.
func storeName(a *cli.App) string {
	if a.Folders.Machine != nil {
		return ""
	}
	return a.Folders.Hostname
}

// NoMachine warns about the skipped checks if graphs cannot run on this machine and no other machine is named.
func NoMachine(a *cli.App) {
	if unix.Portable && a.Folders.Machine == nil {
		fmt.Fprintf(a.Err, "%s: note: without --facts FILE no machine is known, and whether its backends can do this is not checked\n", a.Program())
	}
}

// anys yields words as values, for a list of a facts file.
func anys(words []string) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		for _, w := range words {
			if !yield(w) {
				return
			}
		}
	}
}

// factsOf reads a file of facts. A fact that it does not say is not known; where it does not list
// programs, each is there. The file is opened as the files of a graph are, and bounded by
// config.MaxBytes.
func factsOf(path string, a *cli.App) (virtual.System, schema.Diagnostics) {
	var found schema.Findings
	fail := func(err error) (virtual.System, schema.Diagnostics) {
		found.Errorf(schema.Pos{File: path}, "%v", safepath.WithoutPath(err))
		return virtual.System{}, found.All()
	}
	f, err := a.Source().Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	src, err := gapi.ReadBounded(f, config.MaxBytes, "the file is too big: facts")
	if err != nil {
		return fail(err)
	}
	root, ds := yaml.Document(path, src)
	// The file may have been named by mistake, such as a file of passwords. So no finding repeats its
	// text.
	if gapi.Private(path) {
		root, ds = yaml.Discreet(path, root, ds, gapi.HasWords, "file of facts")
	}
	found.Add(ds...)
	switch {
	case found.Errors() > 0:
		return virtual.System{}, found.All()
	case root == nil || root.Kind != schema.NodeMap || len(root.Pairs) == 0:
		return fail(errors.New("there are no facts: write a map of them, as mgmt facts --programs -o yaml does on the machine, or at least os_family and init"))
	}
	s, ds := systemOf(root)
	found.Add(ds...)
	return s, found.All()
}

// systemOf takes the facts and the programs of a document, which is a map.
// Programs are compared by their names alone, without a path.
func systemOf(root *schema.Node) (virtual.System, schema.Diagnostics) {
	var programs []string
	var ds schema.Diagnostics
	// Has is true for each program until the file lists some: a list is what rules a program out.
	facts, said := *root, virtual.System{Facts: virtual.Facts{}, Has: func(string) bool { return true }}
	facts.Pairs = nil
	for _, p := range root.Pairs {
		if p.Key != ProgramsKey {
			facts.Pairs = append(facts.Pairs, p)
			continue
		}
		ds = append(ds, schema.Decode(p.Value, &programs)...)
		said.Has = func(name string) bool { return slices.Contains(programs, name) }
	}
	var read engine.Facts
	ds = append(ds, schema.Decode(&facts, &read)...)
	if ds.Err() != nil {
		return said, ds
	}
	all := read.Map()
	// Only the facts of the file count: the zero values of the others would be wrong facts.
	for _, p := range facts.Pairs {
		said.Facts[p.Key] = all[p.Key]
	}
	complete(said.Facts)
	return said, ds
}

// complete adds implied facts: the kernel is Linux, and init and systemd_booted say the same of
// systemd.
// A fact that the file has is never altered.
func complete(facts virtual.Facts) {
	if _, has := facts["kernel"]; !has {
		facts["kernel"] = "Linux"
	}
	init, hasInit := facts["init"]
	booted, hasBooted := facts["systemd_booted"]
	switch {
	case hasInit && !hasBooted:
		facts["systemd_booted"] = init == "systemd"
	case hasBooted && !hasInit && booted == true:
		facts["init"] = "systemd"
	}
}

// Sought returns the installed programs that backends look for, sorted, as a facts file lists them under programs.
func Sought(a *cli.App) []any {
	var names []string
	system := System(a)(nil)
	for _, module := range Modules(a).Modules() {
		for _, b := range Modules(a).Backends(module) {
			for _, need := range b.Needs {
				names = append(names, strings.Split(need, "|")...)
			}
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !system.Has(name) })
	return slices.Collect(anys(names))
}
