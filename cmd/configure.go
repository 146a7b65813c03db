package cmd

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

// settingMark is the annotation of a flag that is a setting. Its value is the key.
const settingMark = "mgmt_setting"

// bind adds the flag of a setting, which sets the target: a *bool, *int, *string, *[]string, or
// a pflag.Value. The environment and the configuration file set it too, where the flag is absent.
// The default of a flag is that of the setting, so help shows what counts without the
// file. A setting with an old name gets a hidden flag too.
func bind(cmd *cobra.Command, key string, target any) {
	bindAs(cmd, key, settings.Get(key).FlagName(), target)
}

// bindAs is bind with another name of the flag.
// The verb config needs it: its own flag --check is taken, so the setting gets another name there.
func bindAs(cmd *cobra.Command, key, name string, target any) {
	s := settings.Get(key)
	fl := cmd.Flags()
	usage := s.Doc
	switch v := target.(type) {
	case *bool:
		fl.BoolVarP(v, name, s.Short, false, usage)
	case *int:
		// Of a number, 0 stands for the default, which the engine knows.
		fl.IntVar(v, name, 0, usage)
	case *string:
		fl.StringVar(v, name, s.Default, usage)
	case *[]string:
		fl.StringSliceVar(v, name, nil, usage)
	case *choice:
		choose(cmd, v, name, "", usage, s.Type.Enum...)
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
	_ = fl.SetAnnotation(name, settingMark, []string{key})
	if old := s.OldFlag(); old != "" {
		fl.Var(&oldFlag{cmd, old, f}, old, usage)
		fl.Lookup(old).NoOptDefVal = f.NoOptDefVal
		_ = fl.MarkHidden(old)
	}
}

// oldFlag is a flag under the name that it had before. It sets the flag of today, and says so.
// A later version can drop it: scripts had a warning meanwhile.
type oldFlag struct {
	cmd *cobra.Command
	// name is without the dashes, and now is the flag that bind has added.
	name string
	now  *pflag.Flag
}

// String and Type are those of the flag of today.
func (o *oldFlag) String() string { return o.now.Value.String() }
func (o *oldFlag) Type() string   { return o.now.Value.Type() }

// Set implements pflag.Value.
func (o *oldFlag) Set(text string) error {
	fmt.Fprintf(o.cmd.ErrOrStderr(), "warning: %s\n", config.Renamed("--"+o.name, "--"+o.now.Name))
	return o.cmd.Flags().Set(o.now.Name, text)
}

// bound returns the flags of a verb that are settings, by key.
// A verb without settings has none, and reads neither the environment nor the file.
func bound(cmd *cobra.Command) map[string]*pflag.Flag {
	out := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if mark := f.Annotations[settingMark]; len(mark) == 1 {
			out[mark[0]] = f
		}
	})
	return out
}

// configFlag adds the flag that names the configuration file, to all verbs.
func (a *app) configFlag(root *cobra.Command) {
	root.PersistentFlags().Var((*place)(&a.config), "config", "the configuration `file`, which need not be there (default $MGMT_CONFIG, "+defaultConfig+")")
	_ = root.MarkPersistentFlagFilename("config", yaml.FlagExtensions("yaml")...)
}

// configureAll has each verb with settings read the environment and the configuration file
// before anything else of it.
func (a *app) configureAll(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		a.configureAll(cmd)
		// The verb config is marked: it must work where the configuration is broken.
		if len(bound(cmd)) > 0 && cmd.Annotations[settingMark] == "" {
			a.before(cmd, func() schema.Diagnostics { return a.configure(cmd) })
		}
	}
}

// configure gives the absent flags of a verb the values of the environment and of the
// configuration file, and returns the faults of both.
// A flag that was given wins over the environment, and that over the file. A fault in one
// of the sources keeps the verb from running.
// It also keeps both for the verb: flags are the given ones alone, and settled has all settings.
func (a *app) configure(cmd *cobra.Command) schema.Diagnostics {
	flags := bound(cmd)
	given := config.Resolved{}
	for key, f := range flags {
		if f.Changed {
			// The value was set by pflag already. It is noted here with its source, so that messages
			// can name the flag.
			given[key] = config.Value{Texts: flagTexts(f), Source: config.SourceFlag, Name: "--" + f.Name}
		}
	}
	now, ds := a.resolve(given)
	if ds.Err() != nil {
		return ds
	}
	a.flags, a.settled = given, now
	// A variable such as MGMT_PREFX would otherwise be ignored in silence.
	ds = append(ds, settings.Misspelled(withoutVars(os.Environ()))...)
	return append(ds, settings.Apply(now, func(key, text string) error {
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
	case *anySetting:
		return v.texts
	}
	return []string{f.Value.String()}
}

// resolve reads the environment and the configuration file, and puts them below the flags.
// A reload calls it with the flags of the start: they win over a file that has changed since.
func (a *app) resolve(flags config.Resolved) (config.Resolved, schema.Diagnostics) {
	env, ds := settings.Environment(os.Getenv)
	file, more := a.readConfig(flags, env)
	if ds = append(ds, more...); ds.Err() != nil {
		return nil, ds
	}
	return settings.Resolve(flags, env, file), ds
}

// configPath returns the configuration file, and whether a user has named it.
// A flag wins over MGMT_CONFIG, and that over the default. An empty variable counts as unset.
func (a *app) configPath() (path string, named bool) {
	path = cmp.Or(a.config, os.Getenv("MGMT_CONFIG"))
	return cmp.Or(path, defaultConfig), path != ""
}

// readConfig reads the configuration file. An ordinary user who may not read the one of the
// machine goes on without it.
// A file with a name from the user must exist, the default one need not. /dev/null
// as a name means none.
func (a *app) readConfig(flags, env config.Resolved) (config.File, schema.Diagnostics) {
	path, named := a.configPath()
	// Flag and environment belong to the caller. The file cannot vouch for itself.
	trust := slices.ContainsFunc([]config.Resolved{flags, env}, func(r config.Resolved) bool {
		return slices.Equal(r["trust_others"].Texts, []string{"true"})
	})
	file, ds := settings.Read(path, configSource(trust))
	// EMFILE says that this process may open no more files, see open(2).
	if errors.Is(file.Err, unix.EMFILE) {
		if err := enoughFiles(); err != nil { // the path is not at fault
			ds = schema.Diagnostics{{Severity: schema.Error, Message: err.Error()}}
		}
	}
	switch {
	case !file.Exists && named && path != os.DevNull:
		ds.Errorf(schema.Pos{File: path}, "there is no such configuration file")
	case !named && os.Geteuid() != 0 && errors.Is(file.Err, fs.ErrPermission):
		return config.File{Path: path}, schema.Diagnostics{{Severity: schema.Warning, Pos: schema.Pos{File: path}, Message: "this user may not read the configuration, the defaults count"}}
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
