package modeltest

import (
	"github.com/reactivegraph/mgmt/engine/model"
)

// storeSteps are about the store in memory.
type storeSteps struct{ *runner }

// all returns the steps by operation.
func (r storeSteps) all() map[string]operation {
	return map[string]operation{
		"store.update": r.opPut, "store.delete": r.opDrop, "store.get_one": r.opOne, "store.get_all": r.opList, "store.get_keys": r.opList,
		"store.get_first": r.opFirst, "store.by_topic": r.opByTopic, "store.keys_by_topic": r.opByTopic, "store.contains": r.opContains,
		"store.clear": r.opClear, "store.invalidate": r.opInvalidate, "store.apply": r.opApply, "store.fill": r.opFill,
		"count_fetches": r.opCountFetches, "fetches": r.opFetches,
	}
}

// opPut keeps an object in the store.
func (r storeSteps) opPut(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	if name := asText(asMap(step["obj"])["$var"]); name != "" {
		r.put[name] = true
	}
	return done, r.store.Put(o)
}

// opDrop deletes an object of the store. An absent one is not found.
func (r storeSteps) opDrop(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	if !r.store.Delete(o.Model(), o.ID(), 0) {
		return nil, &model.Error{Code: model.NotFound, ID: o.ID()}
	}
	return done, nil
}

// query makes the question of a step: its object is the example, and its topic filters. A class asks for everything.
func (r *runner) query(step map[string]any) (model.Query, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return model.Query{}, err
	}
	q := model.Query{Model: o.Model(), Index: asText(step["index"]), Like: o}
	if topic, ok := step["topic"].(string); ok {
		q.Topics = []string{topic}
	}
	return q, nil
}

// opOne asks for one object, and may fall through to the database.
func (r storeSteps) opOne(step map[string]any) (outcome, error) {
	q, err := r.query(step)
	if err != nil {
		return nil, err
	}
	var o *model.Object
	switch {
	case step["fall_through"] == true:
		o, err = (&model.Through{Store: r.store, NB: r.nb}).One(r.ctx, q)
	case q.Index == "":
		o, err = r.store.Store.Get(r.ctx, q.Model, q.Like.ID())
	default:
		o, err = r.store.One(r.ctx, q)
	}
	return r.found(o, err)
}

// opList asks for the ids of a query.
func (r storeSteps) opList(step map[string]any) (outcome, error) {
	q, err := r.query(step)
	if err != nil {
		return nil, err
	}
	found, err := r.store.List(r.ctx, q)
	return outcome{"ids": ids(found)}, err
}

// opFirst asks for the first object of a query.
func (r storeSteps) opFirst(step map[string]any) (outcome, error) {
	q, err := r.query(step)
	if err != nil {
		return nil, err
	}
	o, err := r.store.First(r.ctx, q)
	return r.found(o, err)
}

// opByTopic asks for the ids of a topic.
func (r storeSteps) opByTopic(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	q := model.Query{Model: m}
	if topic := asText(step["topic"]); topic != "" {
		q.Topics = []string{topic}
	}
	found, err := r.store.List(r.ctx, q)
	return outcome{"ids": ids(found)}, err
}

// opContains reports whether the store has an equal object.
func (r storeSteps) opContains(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	have, _ := r.store.Peek(o.Model(), o.ID())
	return outcome{"value": have != nil && have.Equal(o)}, nil
}

// opClear empties the store.
func (r storeSteps) opClear(map[string]any) (outcome, error) {
	r.store.Clear()
	return done, nil
}

// opInvalidate marks an object of the store as out of date.
func (r storeSteps) opInvalidate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.store.Invalidate(o.Model(), o.ID())
	return done, nil
}

// opApply takes a deletion or an object of a revision over.
func (r storeSteps) opApply(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	if id := asText(step["delete"]); id != "" {
		r.store.Delete(m, id, asInt(step["rev"]))
		return done, nil
	}
	return r.opFill(step)
}

// opFill keeps an object that was read at a revision.
func (r storeSteps) opFill(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.store.Fill(o, asInt(step["rev"]))
	return done, nil
}

// opCountFetches begins to count.
func (r storeSteps) opCountFetches(map[string]any) (outcome, error) {
	r.store.fetches = 0
	return done, nil
}

// opFetches returns how many targets were fetched.
func (r storeSteps) opFetches(map[string]any) (outcome, error) {
	n := r.store.fetches
	r.store.fetches = 0
	return outcome{"count": n}, nil
}
