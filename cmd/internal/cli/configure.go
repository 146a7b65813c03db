package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// SettingMark is the annotation of a flag that is a setting. Its value is the key.
const SettingMark = "mgmt_setting"

// Bind adds the flag of a setting, which sets target: a *bool, *int, *string, *[]string, or a pflag.Value. If the flag is
// absent, the environment or the configuration file sets it.
// The flag has the default of the setting. An old name of the setting becomes a hidden flag.
func Bind(cmd *cobra.Command, key string, target any) {
	BindAs(cmd, key, Settings.Get(key).FlagName(), target)
}

// BindAs is Bind with another flag name, for the verb config, whose own flag --check would collide with that of a setting.
func BindAs(cmd *cobra.Command, key, name string, target any) {
	s := Settings.Get(key)
	fl := cmd.Flags()
	usage := s.Doc
	switch v := target.(type) {
	case *bool:
		fl.BoolVarP(v, name, s.Short, false, usage)
	case *int:
		// 0 selects the engine's default.
		fl.IntVar(v, name, 0, usage)
	case *string:
		fl.StringVar(v, name, s.Default, usage)
	case *[]string:
		fl.StringSliceVar(v, name, nil, usage)
	case *Choice:
		Choose(cmd, v, name, "", usage, s.Type.Enum...)
	case pflag.Value:
		fl.Var(v, name, usage)
	default:
		panic("no flag sets a value of this type: " + key) // a programmer's error, which any test shows
	}
	f := fl.Lookup(name)
	// A setting may have a value for its flag without one, as --noop stands for --noop=all.
	f.NoOptDefVal = cmp.Or(s.Alone, f.NoOptDefVal)
	if s.Type.Kind == schema.KindBool {
		// pflag sets it for a *bool, but not for a pflag.Value that is a truth value.
		f.NoOptDefVal = "true"
	}
	_ = fl.SetAnnotation(name, SettingMark, []string{key})
	if old := s.OldFlag(); old != "" {
		fl.Var(&oldFlag{cmd, old, f}, old, usage)
		fl.Lookup(old).NoOptDefVal = f.NoOptDefVal
		_ = fl.MarkHidden(old)
	}
}

// oldFlag is a flag under the name that it had before. It sets the flag of today, and says so.
// A later version can drop it: scripts had a warning meanwhile.
type oldFlag struct {
	cmd  *cobra.Command
	name string      // without the dashes
	now  *pflag.Flag // the one that Bind has added
}

// String and Type are those of the flag of today.
func (o *oldFlag) String() string { return o.now.Value.String() }

func (o *oldFlag) Type() string { return o.now.Value.Type() }

// Set implements pflag.Value.
func (o *oldFlag) Set(text string) error {
	fmt.Fprintf(o.cmd.ErrOrStderr(), "warning: %s\n", config.Renamed("--"+o.name, "--"+o.now.Name))
	return o.cmd.Flags().Set(o.now.Name, text)
}

// Bound returns the flags of a verb that are settings, by key.
// A verb without settings has none, and reads neither the environment nor the file.
func Bound(cmd *cobra.Command) map[string]*pflag.Flag {
	out := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if mark := f.Annotations[SettingMark]; len(mark) == 1 {
			out[mark[0]] = f
		}
	})
	return out
}

// ConfigFlag adds the flag that names the configuration file, to all verbs.
func (a *App) ConfigFlag(root *cobra.Command) {
	root.PersistentFlags().Var((*Place)(&a.Config), "config", "configuration `file` (default $MGMT_CONFIG, then the optional "+DefaultConfig+")")
	_ = root.MarkPersistentFlagFilename("config", yaml.FlagExtensions("yaml")...)
}

// ConfigureAll makes every verb with settings read the environment and the configuration file before anything else.
func (a *App) ConfigureAll(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		a.ConfigureAll(cmd)
		// The verb config is marked: it must work where the configuration is broken.
		if len(Bound(cmd)) > 0 && cmd.Annotations[SettingMark] == "" {
			a.Before(cmd, func() schema.Diagnostics { return a.Configure(cmd) })
		}
	}
}

// Configure gives the absent flags of a verb the values of the environment and of the
// configuration file, and returns the faults of both.
// A flag that was given wins over the environment, and that over the file. A fault in one
// of the sources keeps the verb from running.
// It also keeps both for the verb: flags are the given ones alone, and settled has all settings.
func (a *App) Configure(cmd *cobra.Command) schema.Diagnostics {
	flags := Bound(cmd)
	given := config.Resolved{}
	for key, f := range flags {
		if f.Changed {
			// The value was set by pflag already. It is noted here with its source, so that messages
			// can name the flag.
			given[key] = config.Value{Texts: flagTexts(f), Source: config.SourceFlag, Name: "--" + f.Name}
		}
	}
	now, ds := a.Resolve(given)
	if ds.Err() != nil {
		return ds
	}
	a.Flags, a.Settled = given, now
	// A variable such as MGMT_PREFX would otherwise be ignored in silence.
	ds = append(ds, Settings.Misspelled(withoutVars(os.Environ()))...)
	return append(ds, Settings.Apply(now, func(key, text string) error {
		if f := flags[key]; f != nil {
			return f.Value.Set(text)
		}
		return nil
	})...)
}

// flagTexts returns the value of a flag as it takes it.
// A list gives its items one by one, so an item with a comma in it stays whole.
func flagTexts(f *pflag.Flag) []string {
	switch v := f.Value.(type) {
	case pflag.SliceValue:
		return v.GetSlice()
	case *AnySetting:
		return v.texts
	}
	return []string{f.Value.String()}
}

// Resolve reads the environment and the configuration file, and puts them below the flags.
// A reload calls it with the flags of the start: they win over a file that has changed since.
func (a *App) Resolve(flags config.Resolved) (config.Resolved, schema.Diagnostics) {
	env, ds := Settings.Environment(os.Getenv)
	file, more := a.ReadConfig(flags, env)
	if ds = append(ds, more...); ds.Err() != nil {
		return nil, ds
	}
	return Settings.Resolve(flags, env, file), ds
}

// ConfigPath returns the configuration file, and whether a user has named it.
// A flag wins over MGMT_CONFIG, and that over the default. An empty variable counts as unset.
func ConfigPath(a *App) (path string, named bool) {
	path = cmp.Or(a.Config, os.Getenv("MGMT_CONFIG"))
	return cmp.Or(path, DefaultConfig), path != ""
}

// ReadConfig reads the configuration file. An ordinary user who may not read the one of the
// machine goes on without it.
// A file with a name from the user must exist, the default one need not. /dev/null
// as a name means none.
func (a *App) ReadConfig(flags, env config.Resolved) (config.File, schema.Diagnostics) {
	path, named := ConfigPath(a)
	// Flag and environment belong to the caller. The file cannot vouch for itself.
	trust := slices.ContainsFunc([]config.Resolved{flags, env}, func(r config.Resolved) bool {
		return slices.Equal(r["trust_others"].Texts, []string{"true"})
	})
	file, ds := Settings.Read(path, configSource(trust))
	// EMFILE says that this process may open no more files, see open(2).
	if errors.Is(file.Err, unix.EMFILE) {
		if err := EnoughFiles(); err != nil { // the path is not at fault
			ds = schema.Diagnostics{{Severity: schema.Error, Message: err.Error()}}
		}
	}
	switch {
	case !file.Exists && named && path != os.DevNull:
		ds.Errorf(schema.Pos{File: path}, "there is no such configuration file")
	case !named && os.Geteuid() != 0 && errors.Is(file.Err, fs.ErrPermission):
		return config.File{Path: path}, schema.Diagnostics{{Severity: schema.Warning, Pos: schema.Pos{File: path}, Message: "this user may not read the configuration; the defaults apply"}}
	}
	return file, ds
}

// configSource opens a configuration file: for root only where no other user can write
// it, whatever the verb.
// A user who can write that file decides what root does, so --trust-others in the file
// itself can not allow it.
func configSource(trust bool) gapi.Source {
	if trust || os.Geteuid() != 0 {
		return gapi.Source{}
	}
	w := safepath.System()
	return gapi.Source{Guard: &w, Caller: sudoCaller(), Hint: "or take it as it is with MGMT_TRUST_OTHERS=true, or read none with --config " + os.DevNull}
}

// withoutVars returns an environment without the settings of variables of a graph. Their names are the graph's, so none of them is a misspelled
// setting.
func withoutVars(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, input.VarPrefix) })
}

// AnySetting is the flag of a setting that is only shown.
type AnySetting struct {
	Setting *config.Setting
	// nil where the flag is not given.
	texts []string
}

// String implements pflag.Value. Only the verb config reads such a flag: it keeps the
// text, which Set has checked by the setting's own type.
func (v *AnySetting) String() string { return strings.Join(v.texts, ",") }

// Type implements pflag.Value; a bool needs no value behind it.
func (v *AnySetting) Type() string {
	if v.Setting.Type.Kind == schema.KindBool {
		return "bool"
	}
	return "text"
}

// Set implements pflag.Value. A list is added to with each flag.
// A text that the setting does not take is an error of the flag, as it would be for run.
func (v *AnySetting) Set(text string) error {
	texts, err := v.Setting.Parse(text)
	if err == nil && v.Setting.Type.Kind == schema.KindList {
		texts = append(v.texts, texts...)
	}
	if err == nil {
		v.texts = texts
	}
	return err
}
