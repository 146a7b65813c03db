package cmd

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// attachVariable names providers that run already, in a debugger perhaps: NAME=unix:PATH, several with commas between them.
const attachVariable = "MGMT_ATTACH_PROVIDERS"

// kindsMark is the annotation of a verb that loads the kinds, or whose daemon does.
const kindsMark = "mgmt_kinds"

// needKinds has the kinds loaded before a verb runs, and before its arguments are completed: once, however many of its flags name a folder
// of them.
func (a *app) needKinds(cmd *cobra.Command) {
	if cmd.Annotations[kindsMark] != "" {
		return
	}
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[kindsMark] = "true"
	a.before(cmd, a.loadKinds)
}

// typesFlag adds the flags that name the folders of types, of providers and of targets.
func (a *app) typesFlag(cmd *cobra.Command) {
	bind(cmd, "types", once(&a.folders.Types, "put all types into one folder"))
	_ = cmd.MarkFlagDirname("types")
	bind(cmd, "targets", once(&a.folders.Targets, "put all targets into one folder"))
	_ = cmd.MarkFlagDirname("targets")
	bind(cmd, "plugins", once(&a.folders.Plugins, "put all descriptors of providers into one folder"))
	_ = cmd.MarkFlagDirname("plugins")
	a.needKinds(cmd)
}

// modelsFlag adds the flag that names the folder of models.
func modelsFlag(cmd *cobra.Command, folder *string) {
	bind(cmd, "models", once(folder, "put all models into one folder"))
	_ = cmd.MarkFlagDirname("models")
}

// loadModels adds the models of a folder to the tables, and returns their faults.
func (a *app) loadModels(folder string) schema.Diagnostics {
	o, _ := a.kindOptions() // the faults of the other folders were told with the kinds
	o.Models = folder
	set, ds := kinds.LoadModels(o, a.set)
	a.set = set
	return ds
}

// loadKinds makes the kinds of the folders that the flags name. With an error among the findings the kinds stay as they were.
func (a *app) loadKinds() schema.Diagnostics {
	o, ds := a.kindOptions()
	if ds.Err() != nil {
		return ds
	}
	set, ds := kinds.Load(o, a.set)
	if set != nil {
		a.set = set
	}
	return ds
}

// kindOptions are what the flags say of the kinds.
func (a *app) kindOptions() (o kinds.Options, ds schema.Diagnostics) {
	o = a.folders
	o.Source, o.Program, o.Version, o.Place = a.source(), a.program(), currentVersion().Version, a.placeOf
	if o.Plugins != "" {
		var err error
		if o.Attach, err = plugin.ParseAttach(os.Getenv(attachVariable)); err != nil {
			ds.Errorf(schema.Pos{}, "%s: %v", attachVariable, err)
		}
	}
	return o, ds
}

// placeOf returns where the configuration file has a setting; nowhere where another source gives it.
func (a *app) placeOf(key string) schema.Pos {
	if v := a.settled[key]; v.Source == config.SourceFile {
		return v.Pos
	}
	return schema.Pos{}
}

// with returns the program as it is with other settings. It is not altered itself.
func (a *app) with(now config.Resolved) *app {
	b := *a
	b.settled = now
	f := &b.folders
	f.Backends, f.Types, f.Targets, f.Plugins, f.Models = now["backends"].Text(), now["types"].Text(), now["targets"].Text(), now["plugins"].Text(), now["models"].Text()
	return &b
}

// kinds returns the kinds.
func (a *app) kinds() *engine.Registry { return a.set.Kinds() }

// tables returns the models of the stored objects.
func (a *app) tables() *model.Registry {
	if a.set == nil { // the verb has no folders
		a.set, _ = kinds.Load(kinds.Options{}, nil)
	}
	return a.set.Tables()
}
