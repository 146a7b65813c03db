package modeltest

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine/model"
)

// eventSteps are about subscribers, the replica, and the comparison of store and database.
type eventSteps struct{ *runner }

// all returns the steps by operation.
func (r eventSteps) all() map[string]operation {
	return map[string]operation{
		"on": r.opOn, "off": r.opOff, "clear_callbacks": r.opClearCallbacks, "emit": r.opEmit, "calls": r.opCalls, "ctl.update": r.opCtlUpdate,
		"ctl.delete": r.opCtlDelete, "ctl.event": r.opCtlEvent, "ctl.refs": r.opCtlRefs, "sync.add_model": r.opSyncModel,
		"sync.add_topic": r.opSyncTopic, "sync.remove_topic": r.opSyncRemove, "sync.run": r.opSyncRun,
	}
}

// opOn subscribes. The entry of an update has the id of the object before, too.
func (r eventSteps) opOn(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	cb, event := asText(step["cb"]), asText(step["event"])
	end, err := r.events.On(m, event, func(_ context.Context, ev model.Event) error {
		entry := []any{cb, ev.Object.ID()}
		if ev.Was != nil {
			entry = append(entry, ev.Was.ID())
		}
		r.calls = append(r.calls, entry)
		if step["raises"] == true {
			return errors.New("the callback was told to fail")
		}
		return nil
	})
	r.subs[m.Name()+" "+event+" "+cb] = end
	return done, err
}

// opOff ends a subscription.
func (r eventSteps) opOff(step map[string]any) (outcome, error) {
	key := asText(step["model"]) + " " + asText(step["event"]) + " " + asText(step["cb"])
	end := r.subs[key]
	if end == nil {
		return nil, &model.Error{Code: model.NotFound, Message: "there is no such subscription"}
	}
	end()
	delete(r.subs, key)
	return done, nil
}

// opClearCallbacks ends all subscriptions of a model.
func (r eventSteps) opClearCallbacks(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	r.events.Clear(m)
	return done, nil
}

// opEmit emits an event.
func (r eventSteps) opEmit(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.events.Emit(r.ctx, model.Event{Name: asText(step["event"]), Object: o})
}

// opCalls returns the entries since it was asked last.
func (r eventSteps) opCalls(map[string]any) (outcome, error) {
	calls := append([][]any{}, r.calls...)
	r.calls = nil
	return outcome{"calls": calls}, nil
}

// opCtlUpdate hands an object to the replica.
func (r eventSteps) opCtlUpdate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.copy.Update(r.ctx, o)
}

// opCtlDelete hands a deletion to the replica.
func (r eventSteps) opCtlDelete(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.copy.Delete(r.ctx, o.Model(), o.ID(), 0)
}

// opCtlEvent hands an event of the database to the replica. The event of a table that has no model is none of ours.
func (r eventSteps) opCtlEvent(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["table"]))
	if err != nil {
		return done, nil
	}
	c := model.Change{Action: model.Update, Model: m, ID: asText(step["key"])}
	if step["action"] == "delete" {
		c.Action = model.Delete
	} else if c.Object, err = m.New(r.fields(m.Name(), asMap(step["value"]), false)); err != nil {
		return nil, err
	}
	return done, r.copy.Apply(r.ctx, c)
}

// opCtlRefs returns all objects that an object refers to.
func (r eventSteps) opCtlRefs(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	refs, err := model.Refs(r.ctx, r.reg, nearest{r.store, r.nb}, o)
	return outcome{"ids": ids(refs)}, err
}

// nearest asks the store, and else the database, as the replica does.
type nearest struct {
	model.Store
	far *model.NB
}

// Get returns an object by its id.
func (n nearest) Get(ctx context.Context, m *model.Model, id string) (*model.Object, error) {
	o, err := n.Store.Get(ctx, m, id)
	if model.CodeOf(err) == model.NotFound {
		return n.far.Get(ctx, m, id)
	}
	return o, err
}

// opSyncModel adds a model to the comparison.
func (r eventSteps) opSyncModel(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	r.sync.AddModel(m)
	return done, nil
}

// opSyncTopic begins to take a topic over.
func (r eventSteps) opSyncTopic(step map[string]any) (outcome, error) {
	return done, r.sync.AddTopic(r.ctx, asText(step["topic"]))
}

// opSyncRemove drops a topic.
func (r eventSteps) opSyncRemove(step map[string]any) (outcome, error) {
	return done, r.sync.RemoveTopic(r.ctx, asText(step["topic"]))
}

// opSyncRun compares store and database.
func (r eventSteps) opSyncRun(map[string]any) (outcome, error) { return done, r.sync.Run(r.ctx) }
