package modeltest

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/model"
)

// modelSteps are about the registry.
type modelSteps struct{ *runner }

// all returns the steps by operation.
func (r modelSteps) all() map[string]operation {
	return map[string]operation{
		"define": r.opDefine, "model.get": r.opModel, "model.tables": r.opTables, "model.first_class": r.opFirstClass,
		"model.embedded": r.opEmbedded, "model.indexes": r.opIndexes, "model.events": r.opEvents, "model.order": r.opOrder,
		"model.deps": r.opDeps,
	}
}

// opDefine registers a model that was deferred, or once more.
func (r modelSteps) opDefine(step map[string]any) (outcome, error) {
	m, err := r.models.get(asText(step["name"]))
	if err != nil {
		return nil, err
	}
	return done, r.reg.Add(m)
}

// opModel looks a model up by name or table.
func (r modelSteps) opModel(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["arg"]))
	if err != nil {
		return nil, err
	}
	return outcome{"model": m.Name()}, nil
}

// opTables returns the tables of the registry.
func (r modelSteps) opTables(map[string]any) (outcome, error) {
	return outcome{"tables": list(r.reg.Tables())}, nil
}

// opFirstClass reports whether a model has a table.
func (r modelSteps) opFirstClass(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"value": m.FirstClass()}, nil
}

// names returns the names of models, sorted.
func names(models []*model.Model) []string {
	out := []string{}
	for _, m := range models {
		out = append(out, m.Name())
	}
	slices.Sort(out)
	return out
}

// opEmbedded returns the nested models.
func (r modelSteps) opEmbedded(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"types": names(m.Embedded())}, nil
}

// opIndexes returns the indexes, inherited ones too.
func (r modelSteps) opIndexes(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, x := range m.Indexes() {
		all[x.Name] = x.Paths
	}
	return outcome{"indexes": all}, nil
}

// opEvents returns the events, inherited ones too.
func (r modelSteps) opEvents(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"events": list(m.Events())}, nil
}

// opOrder returns the models by their references, and whether pairs of them are in order.
func (r modelSteps) opOrder(step map[string]any) (outcome, error) {
	order, err := r.reg.Order(step["first_class_only"] == false)
	if err != nil {
		return nil, err
	}
	at := func(name string) int {
		return slices.IndexFunc(order, func(m *model.Model) bool { return m.Name() == name })
	}
	holds := []bool{}
	pairs, _ := step["before"].([]any)
	for _, pair := range pairs {
		two := asStrings(pair)
		holds = append(holds, at(two[0]) >= 0 && at(two[0]) < at(two[1]))
	}
	return outcome{"holds": holds, "members": names(order)}, nil
}

// opDeps returns the models that a model refers to.
func (r modelSteps) opDeps(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"deps": names(r.reg.Deps(m, step["first_class_only"] == false))}, nil
}
