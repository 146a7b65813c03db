package cmd

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// modelsFlag adds the flag that names a folder of models. The verb calls loadModels when all kinds are there, since a
// model may refer to a kind.
// The flag may be given once: of two folders the first one would count for nothing.
func (a *app) modelsFlag(cmd *cobra.Command) {
	bind(cmd, "models", source{place{&a.modelsFolder}, "put all models into one folder"})
	_ = cmd.MarkFlagDirname("models")
}

// loadModels makes the models of the folder tables of the store, and returns their faults.
// An earlier reading is dropped first, so that with an error there are the models of the program
// alone. Models are checked together, since they refer to each other.
func (a *app) loadModels() schema.Diagnostics {
	a.models, a.modelNodes = nil, nil
	if a.modelsFolder == "" {
		return nil
	}
	nodes, ds := yaml.Documents(a.modelsFolder, yaml.Options{Source: a.source(), Ours: gapi.HasKey("model"), Form: "model"})
	ds = a.from("models", ds)
	r := newTables(a.kinds())
	var found schema.Findings
	found.Add(ds...)
	found.Add(r.Load(nodes)...)
	if found.Errors() == 0 {
		a.models, a.modelNodes = r, nodes
	}
	return found.All()
}

// tables returns the models of the stored objects: the kinds, those of the program itself, and the models of the folder. It is the
// same registry at each call, so that a reload reaches all that use it; see takeModels.
func (a *app) tables() *model.Registry {
	if a.models == nil {
		a.models = newTables(a.kinds())
	}
	return a.models
}

// The tables that tell of hosts that are gone.
const (
	admittedTable = "admitted"
	seenTable     = "seen"
)

// hostTables returns the models of the records of hosts. Each host, or mgmt hosts allow, writes them: all can only be read.
func hostTables() ([]*model.Model, error) {
	there, err := hosts.Model()
	if err != nil {
		return nil, err
	}
	admitted, err := model.Define(model.Spec{
		Name: "Admitted", Table: admittedTable, Doc: "The hosts that mgmt hosts allow has given a record, whether they are there or not.",
		Foreign: &model.Foreign{Prefix: deploy.HostKey(""), Read: func([]byte) (map[string]any, error) { return map[string]any{}, nil }},
	})
	if err != nil {
		return nil, err
	}
	seen, err := model.Define(model.Spec{
		Name: "Seen", Table: seenTable, Doc: "When each host has last said that it is there.",
		Fields:  []model.Field{{Key: "time", Type: &schema.Type{Kind: schema.KindString}, Doc: "By the clock of the host."}},
		Foreign: &model.Foreign{Prefix: hosts.SeenKey(""), Read: readSeen},
	})
	return []*model.Model{there, admitted, seen}, err
}

// readSeen reads when a host was last there.
func readSeen(value []byte) (map[string]any, error) {
	var r struct{ Time time.Time }
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, err
	}
	return map[string]any{"time": r.Time.Format(time.RFC3339Nano)}, nil
}

// newTables returns a registry with the kinds and the models of the program itself.
// It panics where one of these is faulty, which every test of a verb would show.
func newTables(kinds *engine.Registry) *model.Registry {
	r := model.NewRegistry(kinds)
	list, err := hostTables()
	for _, m := range list {
		err = errors.Join(err, r.Add(m))
	}
	if err != nil {
		panic(err) // the models are data of this program
	}
	return r
}

// takeModels has the registry of a running program take over the kinds and the models that next has read, where these are others.
// The registry stays the same value, and next goes on with it.
// Users of the registry hold its pointer, so it is filled anew and not exchanged. The order of
// the files counts as a difference, too, and costs no more than a replacement.
func (a *app) takeModels(next *app) (others bool) {
	r := a.tables()
	others = !reflect.DeepEqual(a.modelNodes, next.modelNodes)
	if others || r.Kinds() != next.kinds() {
		r.Replace(next.tables())
	}
	next.models = r
	return others
}
