package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// AttachVariable names providers that run already, in a debugger perhaps: NAME=unix:PATH, several with commas between them.
const AttachVariable = "MGMT_ATTACH_PROVIDERS"

// KindsMark is the annotation of a verb that loads the kinds, or whose daemon does.
const KindsMark = "mgmt_kinds"

// NeedKinds loads the kinds before cmd runs or its arguments are completed, once, however many flags name a folder of kinds.
func (a *App) NeedKinds(cmd *cobra.Command) {
	if cmd.Annotations[KindsMark] != "" {
		return
	}
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[KindsMark] = "true"
	a.Before(cmd, a.LoadKinds)
}

// TypesFlag adds the flags that name the folders of types, of providers and of targets.
func TypesFlag(a *App, cmd *cobra.Command) {
	Bind(cmd, "types", Once(&a.Folders.Types, "put all types into one folder"))
	_ = cmd.MarkFlagDirname("types")
	Bind(cmd, "targets", Once(&a.Folders.Targets, "put all targets into one folder"))
	_ = cmd.MarkFlagDirname("targets")
	Bind(cmd, "plugins", Once(&a.Folders.Plugins, "put all descriptors of providers into one folder"))
	_ = cmd.MarkFlagDirname("plugins")
	a.NeedKinds(cmd)
}

// ModelsFlag adds the flag that names the folder of models.
func ModelsFlag(cmd *cobra.Command, folder *string) {
	Bind(cmd, "models", Once(folder, "put all models into one folder"))
	_ = cmd.MarkFlagDirname("models")
}

// LoadModels adds the models of a folder to the tables, and returns their faults.
func (a *App) LoadModels(folder string) schema.Diagnostics {
	o, _ := a.KindOptions() // the faults of the other folders were told with the kinds
	o.Models = folder
	set, ds := kinds.LoadModels(o, a.Set)
	a.Set = set
	return ds
}

// LoadKinds makes the kinds of the folders that the flags name. With an error among the findings the kinds stay as they were.
func (a *App) LoadKinds() schema.Diagnostics {
	o, ds := a.KindOptions()
	if ds.Err() != nil {
		return ds
	}
	set, ds := kinds.Load(o, a.Set)
	if set != nil {
		a.Set = set
	}
	return ds
}

// KindOptions are what the flags say of the kinds.
func (a *App) KindOptions() (o kinds.Options, ds schema.Diagnostics) {
	o = a.Folders
	o.Source, o.Program, o.Version, o.Place = a.Source(), a.Program(), CurrentVersion().Version, a.placeOf
	if o.Plugins != "" {
		var err error
		if o.Attach, err = plugin.ParseAttach(os.Getenv(AttachVariable)); err != nil {
			ds.Errorf(schema.Pos{}, "%s: %v", AttachVariable, err)
		}
	}
	return o, ds
}

// placeOf returns where the configuration file has a setting; nowhere where another source gives it.
func (a *App) placeOf(key string) schema.Pos {
	if v := a.Settled[key]; v.Source == config.SourceFile {
		return v.Pos
	}
	return schema.Pos{}
}

// With returns a copy of the program with other settings.
func (a *App) With(now config.Resolved) *App {
	b := *a
	b.Settled = now
	f := &b.Folders
	f.Backends, f.Types, f.Targets, f.Plugins, f.Models = now["backends"].Text(), now["types"].Text(), now["targets"].Text(), now["plugins"].Text(), now["models"].Text()
	return &b
}

// Kinds returns the kinds.
func (a *App) Kinds() *engine.Registry { return a.Set.Kinds() }

// Tables returns the models of the stored objects.
func (a *App) Tables() *model.Registry {
	if a.Set == nil { // the verb has no folders
		a.Set, _ = kinds.Load(kinds.Options{}, nil)
	}
	return a.Set.Tables()
}

// Before calls load before cmd runs and before its arguments are completed. If load finds an error, cmd prints it and
// exits with code 1; warnings are printed only, and completion ignores both.
// The function added last runs first, since each one wraps the earlier ones.
func (a *App) Before(cmd *cobra.Command, load func() schema.Diagnostics) {
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		ds := load()
		render.PrintDiagnostics(a.Err, a.Program(), ds)
		switch {
		case ds.Err() != nil:
			return WithCode(ExitUsage, nil)
		case next != nil:
			return next(cmd, args)
		}
		return nil
	}
	if complete := cmd.ValidArgsFunction; complete != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			load()
			return complete(cmd, args, word)
		}
	}
}
