package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// modelsFlag adds the flag that names a folder of models. The verb calls loadModels when all kinds are there, since a
// model may refer to a kind.
func (a *app) modelsFlag(cmd *cobra.Command) {
	bind(cmd, "models", source{place{&a.modelsFolder}, "put all models into one folder"})
	_ = cmd.MarkFlagDirname("models")
}

// loadModels makes the models of the folder tables of the store, and returns their faults.
func (a *app) loadModels() schema.Diagnostics {
	a.models = nil
	if a.modelsFolder == "" {
		return nil
	}
	nodes, ds := yaml.Documents(a.modelsFolder, yaml.Options{Source: a.source(), Ours: gapi.HasKey("model"), Form: "model"})
	ds = a.from("models", ds)
	r := model.NewRegistry(a.kinds())
	var found schema.Findings
	found.Add(ds...)
	found.Add(r.Load(nodes)...)
	if found.Errors() == 0 {
		a.models = r
	}
	return found.All()
}

// tables returns the models of the stored objects: the kinds, and the models of the folder.
func (a *app) tables() *model.Registry {
	if a.models != nil {
		return a.models
	}
	return model.NewRegistry(a.kinds())
}
