package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// configFlags are the flags of config.
type configFlags struct {
	// output is for the settings, and format for the findings of check.
	output cli.Output
	format cli.Findings
	// At most one of these three is true. They work also where the configuration is broken.
	check   bool
	schema  bool
	example bool
}

// newConfig makes the verb config. It takes the flags of run, so it shows exactly the
// settings that such a run would have.
func newConfig(a *cli.App) *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use:   "config [SETTING...]",
		Short: "Show settings with their values and sources",
		Long: `Config shows all settings that run would use, or the named ones, with their values and
sources: a flag, an environment variable, a position in the configuration file, or the
default. It accepts the flags of run. With -o json or -o yaml, it prints a list.

The file is /etc/mgmt/mgmt.yaml, unless --config or MGMT_CONFIG names another. With
--check, config reads only that file, or the one named after --check, and reports every
finding with its position on standard output. The exit code is 1 if one is an error.`,
		Example: `  mgmt config
  mgmt config socket -o json
  mgmt config --check new.yaml
  mgmt config --example > /etc/mgmt/mgmt.yaml       # all settings, as comments
  mgmt config --schema > mgmt-config.schema.json    # for editors`,
		Args:        knownSettings,
		ValidArgs:   settingKeys(),
		Annotations: map[string]string{cli.SettingMark: "read by itself"},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(a, cmd, args) },
	}
	fl := cmd.Flags()
	cli.Forms(cmd, &f.output, "output format", []settingJSON{}, "text")
	f.format.Flag(cmd, "format of the findings of --check")
	fl.BoolVar(&f.check, "check", false, "report every error in the file, and show nothing")
	fl.BoolVar(&f.schema, "schema", false, "print the JSON Schema of the file")
	fl.BoolVar(&f.example, "example", false, "print a file with all settings as comments")
	// They come last, so that a flag of the verb itself keeps its name.
	bindAll(cmd)
	cli.Exclude(cmd, "check", "schema", "example")
	return cmd
}

// bindAll adds the flags of all settings.
// Settings of one group exclude each other, such as debug and quiet. Where the verb has a flag of that name, the
// flag of the setting has the name of its key. So --check of run is --ts-check here.
// The values are checked and shown, and no target of run is set by them.
func bindAll(cmd *cobra.Command) {
	groups := map[string][]string{}
	for _, s := range cli.Settings.Settings {
		name := s.FlagName()
		if cmd.Flags().Lookup(name) != nil {
			name = strings.ReplaceAll(s.Key, "_", "-")
		}
		cli.BindAs(cmd, s.Key, name, &cli.AnySetting{Setting: s})
		if s.Group != "" {
			groups[s.Group] = append(groups[s.Group], s.FlagName())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		cli.Exclude(cmd, groups[name]...)
	}
}

// run does the parts without settings also where the configuration is broken.
// With a fault in a source nothing is shown and the code is 1: half of the settings would mislead.
func (f *configFlags) run(a *cli.App, cmd *cobra.Command, keys []string) error {
	switch {
	case f.check:
		if len(keys) == 1 {
			// The argument counts like --config, so a file that is missing is an error.
			a.Config = keys[0]
		}
		return f.checkFile(a)
	case f.schema:
		text, err := cli.Settings.JSONSchema()
		if err == nil {
			_, err = a.Out.Write(text)
		}
		return err
	case f.example:
		_, err := io.WriteString(a.Out, cli.Settings.Example(cli.DefaultConfig))
		return err
	}
	ds := a.Configure(cmd)
	render.PrintDiagnostics(a.Err, a.Program(), ds)
	if ds.Err() != nil {
		return cli.WithCode(cli.ExitUsage, nil)
	}
	return f.show(a, keys)
}

// settingKeys returns the keys of all settings, in the order of the reference.
func settingKeys() []string {
	keys := make([]string, len(cli.Settings.Settings))
	for i, s := range cli.Settings.Settings {
		keys[i] = s.Key
	}
	return keys
}

// knownSettings refuses arguments other than settings. Behind --check stands a file.
// It is the Args of the verb, so cobra calls it before run, and an error is one of usage.
func knownSettings(cmd *cobra.Command, args []string) error {
	if check, _ := cmd.Flags().GetBool("check"); check {
		return cobra.MaximumNArgs(1)(cmd, args)
	}
	for _, arg := range args {
		if cli.Settings.Get(arg) == nil {
			return fmt.Errorf("there is no setting %q%s", arg, cli.Meant(arg, settingKeys()))
		}
	}
	return nil
}

// checkFile says what is wrong with the configuration file.
// The environment is read too, since it may name the file or trust other users.
func (f *configFlags) checkFile(a *cli.App) error {
	path, _ := cli.ConfigPath(a)
	env, ds := cli.Settings.Environment(os.Getenv)
	file, more := a.ReadConfig(nil, env)
	ds = append(ds, more...)
	if err := f.format.Write(a, ds); err != nil {
		return err
	}
	switch {
	case ds.Err() != nil:
		return cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	// A program takes the empty list of findings for ok, so no line follows it.
	case !f.format.Text():
	case !file.Exists:
		fmt.Fprintf(a.Out, "ok: there is no %s, the defaults count\n", path)
	default:
		fmt.Fprintf(a.Out, "ok: %s, %s\n", path, render.Plural(len(file.Given), "setting"))
	}
	return nil
}

// settingJSON is one setting in JSON.
// Line and column count from 1.
type settingJSON struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"`          // null where nothing is given and the machine has none
	Source  string `json:"source"`         // flag, environment, file or default
	From    string `json:"from,omitempty"` // the flag, the variable, or file:line:col
	File    string `json:"file,omitempty"` // with the source file
	Line    int32  `json:"line,omitempty"`
	Col     int32  `json:"col,omitempty"`
}

// show writes the named settings, or all.
// No setting is a secret: at most it names the file of one. So each value may be shown.
func (f *configFlags) show(a *cli.App, keys []string) error {
	if len(keys) == 0 {
		keys = settingKeys()
	}
	list := make([]settingJSON, len(keys))
	for i, key := range keys {
		list[i] = f.setting(a, cli.Settings.Get(key))
	}
	t := render.Table{{"SETTING", "VALUE", "FROM"}}
	for _, s := range list {
		t.Row(s.Setting, valueText(s.Value), cmp.Or(s.From, s.Source))
	}
	return f.output.Write(a.Out, list, t.Write)
}

// valueText writes a value for people.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case []any: // of a setting that is more than words
		text, _ := json.Marshal(v)
		return string(text)
	default:
		return fmt.Sprint(v)
	}
}

// setting describes one setting: its value, the sort of its source, and the place in a
// file where it has one.
func (f *configFlags) setting(a *cli.App, s *config.Setting) settingJSON {
	out := settingJSON{Setting: s.Key}
	v, ok := a.Settled[s.Key]
	if !ok {
		out.Source = config.SourceDefault.String()
		out.Value, out.From = byDefault(a, s)
		return out
	}
	out.Value, out.Source, out.From = cli.Settings.Plain(s, v), v.Source.String(), v.From()
	if v.Source == config.SourceFile {
		out.File, out.Line, out.Col = v.Pos.File, v.Pos.Line, v.Pos.Col
	}
	return out
}

// byDefault returns the value of a setting that is not given. Where the machine or another
// variable decides, it says which one.
// It asks the machine as run would: the state folder, the socket, the host name, the
// number of processors.
func byDefault(a *cli.App, s *config.Setting) (value any, from string) {
	if s.Group == "graph" && slices.ContainsFunc(cli.Settings.Settings, func(o *config.Setting) bool { return o.Group == s.Group && a.Settled[o.Key].Texts != nil }) {
		return nil, ""
	}
	// The socket and the state folder depend on the prefix, which may be given while they are not.
	where := state.Place{Prefix: a.Settled["prefix"].Text()}
	switch s.Key {
	case "prefix":
		if dir, err := where.Path(); err == nil {
			if os.Getenv("STATE_DIRECTORY") != "" {
				from = "STATE_DIRECTORY"
			}
			return dir, from
		}
	case "socket":
		if places := (&remote.Socket{}).Places(where); len(places) > 0 {
			return places[0], ""
		}
	case "hostname":
		if name, err := os.Hostname(); err == nil {
			return name, ""
		}
	case "parallel":
		// It is the engine's own default: eight runs for each processor.
		return 8 * runtime.NumCPU(), ""
	}
	if s.Default == "" {
		return zero(s.Type), ""
	}
	return cli.Settings.Plain(s, config.Value{Texts: []string{s.Default}}), ""
}

// zero is the value of a setting that is not given and has no default.
func zero(t *schema.Type) any {
	switch t.Kind {
	case schema.KindBool:
		return false
	case schema.KindInt:
		return 0
	case schema.KindList:
		return []string{}
	default:
		return nil
	}
}
