package model

import (
	"context"
	"errors"
)

// hostFacts are the fields of Facts.
type hostFacts struct {
	Roles []string       `yaml:"roles" model:"set" doc:"The roles of the host."`
	Facts map[string]any `yaml:"facts" doc:"What the host has found out about itself."`
}

// Facts returns the model of the facts of hosts: the table fact, whose ids are the names of hosts. Its
// objects are for everybody. A program makes it once and adds it to its registry.
func Facts() (*Model, error) {
	return Of(hostFacts{}, Spec{
		Name: "Fact", Table: "fact", Doc: "The facts of a host.", Mixins: []Mixin{Version, BasicEvents},
		Indexes: map[string][]string{"role": {"roles"}},
	})
}

// PutFacts writes the facts of a host in the place of the facts before. Equal facts write nothing and wake no reader,
// so a host may call it at each reading. m is the model that Facts has returned.
func (nb *NB) PutFacts(ctx context.Context, m *Model, host string, roles []string, facts map[string]any) error {
	o, err := m.New(map[string]any{"id": host, "roles": asAny(roles), "facts": facts})
	if err != nil {
		return err
	}
	_, err = nb.Txn(ctx, func(tx *Tx) error {
		_, err := tx.Replace(o, Write{})
		if errors.Is(err, NotFound) {
			_, err = tx.Create(o, Write{})
		}
		return err
	})
	return err
}

// asAny makes a list of plain values.
func asAny(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
