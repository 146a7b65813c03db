package author

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// NewPlugin makes the verb plugin and those verbs below it that work without a daemon: they read files, and one of these runs
// a program of the author for a moment. Package ask has those that ask the daemon, whose processes the providers are.
func NewPlugin(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "List, inspect, restart or test providers",
		Long: `Plugin manages providers: programs that serve their own kinds. A folder of descriptors
names them; see --plugins and docs/reference/providers.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginList(a), newPluginTest(a))
	return cmd
}

// newPluginList makes the verb that lists providers. It starts none, so it says nothing of their processes.
func newPluginList(a *cli.App) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the providers of a folder, with their kinds",
		Long:    `List shows the providers described in the folder of --plugins. It starts none of them.`,
		Example: `  mgmt plugin list --plugins /etc/mgmt/plugins`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return listPlugins(a, output) },
	}
	cli.Forms(cmd, &output, "output format", []plugin.Status{}, "text")
	cli.TypesFlag(a, cmd)
	return cmd
}

// listPlugins writes them, a line for each. Everything in it comes from the descriptors and the schema files.
func listPlugins(a *cli.App, form cli.Output) error {
	if a.Set.Plugins() == nil {
		return errors.New("there is no folder of providers: name one with --plugins, or with plugins: in the configuration file")
	}
	// The phase in JSON is always stopped, since this process has started none.
	list := []plugin.Status{}
	t := render.Table{{"NAME", "VERSION", "KINDS"}}
	for _, p := range a.Set.Plugins().Plugins() {
		list = append(list, p.Status())
		t.Row(p.Name, p.Version(), strings.Join(p.Kinds(), " "))
	}
	return form.Write(a.Out, list, t.Write)
}

// pluginTest has the flags of the verb that tests a provider. None of them is a setting: a daemon has no use for them, so no file
// and no variable gives them.
type pluginTest struct {
	// schema, config and inputs are paths from the present folder. transport is lines or grpc, as the key
	// transport of a descriptor.
	schema, config, transport, inputs string
}

// newPluginTest makes the verb that tests a provider. The suite is that of package plugintest, so an author of a provider in Go has the
// same rules in a test, and an author in another language has them in a script.
func newPluginTest(a *cli.App) *cobra.Command {
	f := &pluginTest{}
	cmd := &cobra.Command{
		Use:   "test PROGRAM [ARGUMENT...]",
		Short: "Test that a provider follows the protocol",
		Long: `Test starts a provider and makes every request that mgmt makes. It creates one real
resource of each type, and deletes it again. Each broken rule is a line of output, and
the exit code is 4 if there are any.

Test generates inputs from the schema, with its patterns and bounds; if that is not
enough, --inputs gives them: {"TOKEN": {"PROPERTY": VALUE}}. The file of --config has
the settings of the provider, like config in its descriptor: {"SETTING": VALUE}.`,
		Example: `  mgmt plugin test ./notes-provider --schema schema/notes.json
  mgmt plugin test ./cloud-provider --config test-account.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	cmd.Flags().StringVar(&f.schema, "schema", "schema.json", "`file` with the schema of its types")
	cmd.Flags().StringVar(&f.config, "config", "", "JSON `file` with the settings of the provider")
	cmd.Flags().StringVar(&f.transport, "transport", "lines", "transport to the provider: `lines` or grpc")
	cmd.Flags().StringVar(&f.inputs, "inputs", "", "JSON `file` with inputs for each type")
	return cmd
}

// run starts the program, checks it, and ends it. The exit code 4 stands for broken rules and for a program that does not start, so
// that a script of an author can go by it. The findings go to standard output, one on each line, and the verdict to standard error.
// The host that runs the program ends with the verb, so nothing is left of a provider that ignores the end of its input.
func (f *pluginTest) run(ctx context.Context, a *cli.App, args []string) error {
	p, err := f.plugin(a, args)
	if err != nil {
		return err
	}
	o := plugintest.Options{}
	if err := readJSON(a, f.inputs, &o.Inputs); err != nil {
		return err
	}
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	found, err := plugintest.Run(ctx, p, h, o)
	if err != nil {
		return cli.WithCode(cli.ExitFailed, err)
	}
	for _, one := range found {
		fmt.Fprintln(a.Out, one)
	}
	if len(found) > 0 {
		return cli.WithCode(cli.ExitFailed, fmt.Errorf("the provider %s breaks %d rules", p.Name, len(found)))
	}
	fmt.Fprintf(a.Out, "the provider %s keeps the rules, with %d types\n", p.Name, len(p.Types()))
	return nil
}

// readJSON reads a file of JSON into a value. It does nothing without a path.
func readJSON(a *cli.App, path string, to any) error {
	if path == "" {
		return nil
	}
	text, err := inputs.ReadNamed(a, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// A provider that is about to be written has no folder of descriptors yet, so the verb goes by a program and a schema file.
//
// plugin makes a descriptor of the arguments. The name of the provider is that of its schema.
func (f *pluginTest) plugin(a *cli.App, args []string) (*plugin.Plugin, error) {
	text, err := inputs.ReadNamed(a, f.schema)
	if err != nil {
		return nil, err
	}
	var doc protocol.Schema
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", f.schema, err)
	}
	config := map[string]any{}
	if err := readJSON(a, f.config, &config); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	n, err := schema.NodeOf(map[string]any{"name": doc.Name, "command": anyList(args), "schema": f.schema, "transport": f.transport, "config": config})
	if err != nil {
		return nil, err
	}
	// A descriptor finds its files from its own folder on. So the place of this one, which is in
	// no file, is in the present folder.
	n.Pos.File = filepath.Join(dir, "command line")
	attach, err := plugin.ParseAttach(os.Getenv(cli.AttachVariable))
	if err != nil {
		return nil, err
	}
	// There is no Trust: the author has named the program on the command line.
	set, ds := plugin.Load([]*schema.Node{n}, plugin.Options{ReadFile: os.ReadFile, Attach: attach, Program: a.Program(), Version: cli.CurrentVersion().Version})
	if err := ds.Err(); err != nil {
		return nil, err
	}
	return set.Plugins()[0], nil
}

// anyList returns texts as a list of plain values.
func anyList(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
