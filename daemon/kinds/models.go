package kinds

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// LoadModels returns a Set with the models of the folder too. With an error among the findings, which are those of models alone, it is the
// Set before.
func LoadModels(o Options, before *Set) (*Set, schema.Diagnostics) {
	l := &loading{Options: o, now: before.Kinds()}
	if before != nil {
		l.set = *before
	}
	if l.loadModels(); l.found.Errors() > 0 {
		return before, l.found.All()
	}
	return &l.set, l.found.All()
}

// loadModels adds the models of the folder to the tables. They are checked together, since they refer to each other.
func (l *loading) loadModels() {
	l.set.models, l.set.tables = nil, tablesOf(l.now)
	if l.Models == "" {
		return
	}
	nodes := l.read("models", l.Models, "model", gapi.HasKey("model"))
	r := newTables(l.now)
	if l.found.Add(r.Load(nodes)...); l.found.Errors() == 0 {
		l.set.models, l.set.tables = nodes, func() *model.Registry { return r }
	}
}

// The tables that tell of hosts that are gone.
const (
	AdmittedTable = "admitted"
	SeenTable     = "seen"
)

// HostTables returns the models of the records of hosts. Each host, or mgmt hosts allow, writes them: all can only be read.
func HostTables() ([]*model.Model, error) {
	there, err := hosts.Model()
	if err != nil {
		return nil, err
	}
	admitted, err := model.Define(model.Spec{
		Name: "Admitted", Table: AdmittedTable, Doc: "The hosts that mgmt hosts allow has given a record, whether they are there or not.",
		Foreign: &model.Foreign{Prefix: deploy.HostKey(""), Read: func([]byte) (map[string]any, error) { return map[string]any{}, nil }},
	})
	if err != nil {
		return nil, err
	}
	seen, err := model.Define(model.Spec{
		Name: "Seen", Table: SeenTable, Doc: "When each host has last said that it is there.",
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
	list, err := HostTables()
	for _, m := range list {
		err = errors.Join(err, r.Add(m))
	}
	if err != nil {
		panic(err) // the models are data of this program
	}
	return r
}
