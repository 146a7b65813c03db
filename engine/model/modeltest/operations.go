package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// outcome is what a step has.
type outcome = map[string]any

// operations are those of the format.
var operations map[string]func(r *runner, step map[string]any) (outcome, error)

func init() {
	operations = map[string]func(r *runner, step map[string]any) (outcome, error){
		"new": (*runner).opNew, "struct": (*runner).opStruct, "set": (*runner).opSet, "append": (*runner).opAppend,
		"get": (*runner).opGet, "set_fields": (*runner).opSetFields, "merge": (*runner).opMerge, "copy": (*runner).opCopy,
		"equal": (*runner).opEqual, "roundtrip": (*runner).opRoundtrip, "validate": (*runner).opValidate, "stale": (*runner).opStale,
		"method": (*runner).opMethod, "fetch": (*runner).opFetch,
		"define": (*runner).opDefine, "model.get": (*runner).opModel, "model.tables": (*runner).opTables,
		"model.first_class": (*runner).opFirstClass, "model.embedded": (*runner).opEmbedded, "model.indexes": (*runner).opIndexes,
		"model.events": (*runner).opEvents, "model.order": (*runner).opOrder, "model.deps": (*runner).opDeps,
		"store.update": (*runner).opPut, "store.delete": (*runner).opDrop, "store.get_one": (*runner).opOne,
		"store.get_all": (*runner).opList, "store.get_keys": (*runner).opList, "store.get_first": (*runner).opFirst,
		"store.by_topic": (*runner).opByTopic, "store.keys_by_topic": (*runner).opByTopic, "store.contains": (*runner).opContains,
		"store.clear": (*runner).opClear, "store.invalidate": (*runner).opInvalidate, "store.apply": (*runner).opApply,
		"store.fill":    (*runner).opFill,
		"count_fetches": (*runner).opCountFetches, "fetches": (*runner).opFetches,
		"on": (*runner).opOn, "off": (*runner).opOff, "clear_callbacks": (*runner).opClearCallbacks, "emit": (*runner).opEmit,
		"calls": (*runner).opCalls, "ctl.update": (*runner).opCtlUpdate, "ctl.delete": (*runner).opCtlDelete,
		"ctl.event": (*runner).opCtlEvent, "ctl.refs": (*runner).opCtlRefs,
		"sync.add_model": (*runner).opSyncModel, "sync.add_topic": (*runner).opSyncTopic,
		"sync.remove_topic": (*runner).opSyncRemove, "sync.run": (*runner).opSyncRun,
	}
	databaseOperations()
}

var done = outcome{"ok": true}

// model returns the model of a step or of an object in it.
func (r *runner) model(name string) (*model.Model, error) {
	if m, err := r.reg.Model(name); err == nil {
		return m, nil
	}
	return r.models.get(name)
}

// object makes the object of a step: of a model, of a variable, or, for a class, one without fields.
func (r *runner) object(v any) (*model.Object, error) {
	desc := asMap(v)
	switch {
	case desc["$var"] != nil:
		return r.variable(desc["$var"])
	case desc["$class"] != nil:
		m, err := r.model(asText(desc["$class"]))
		if err != nil {
			return nil, err
		}
		return m.New(nil)
	}
	m, err := r.model(asText(desc["$m"]))
	if err != nil {
		return nil, err
	}
	return m.New(r.fields(m.Name(), desc, false))
}

// variable returns the object in a variable.
func (r *runner) variable(name any) (*model.Object, error) {
	o := r.vars[asText(name)]
	if o == nil {
		return nil, fmt.Errorf("there is no variable %v", name)
	}
	return o, nil
}

// fields turns the fields of a description into values for New, in nested descriptions too. With typed set, nested objects are Objects.
func (r *runner) fields(name string, desc map[string]any, typed bool) map[string]any {
	out := map[string]any{}
	for key, v := range desc {
		if key != "$m" {
			out[key] = r.value(r.fieldOf(name, key), v, typed)
		}
	}
	return out
}

// fieldOf returns the description of a field, of a base's too; nil for one of a mixin.
func (r *runner) fieldOf(name, key string) *field {
	def := r.s.Models[name]
	if def == nil {
		return nil
	}
	if f := def.Fields[key]; f != nil {
		return f
	}
	for _, base := range def.Bases {
		if f := r.fieldOf(base, key); f != nil {
			return f
		}
	}
	return nil
}

// value turns a value of the format into one for New. Objects in references stay Objects, so that New can refuse one of
// another model. Ranges of ports become text.
func (r *runner) value(f *field, v any, typed bool) any {
	desc, isMap := v.(map[string]any)
	reference := f != nil && (f.Type == "ref" || f.Type == "reflist")
	switch {
	case isMap && desc["$var"] != nil:
		o, _ := r.variable(desc["$var"])
		return o
	case isMap && desc["$m"] != nil && (reference || typed):
		o, err := r.object(desc)
		if err != nil {
			return desc
		}
		return o
	case isMap && desc["$m"] != nil:
		return r.fields(asText(desc["$m"]), desc, typed)
	case isMap:
		out := map[string]any{}
		for key, item := range desc {
			out[key] = r.value(elemOf(f), item, typed)
		}
		return out
	}
	list, isList := v.([]any)
	if isList && f != nil && f.Type == "portrange" {
		return portText(list)
	}
	if isList {
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = r.value(elemOf(f), item, typed)
		}
		return out
	}
	return lower(v)
}

// elemOf returns the description of the elements of a field.
func elemOf(f *field) *field {
	if f == nil || f.Of == nil {
		return f
	}
	return f.Of
}

// portText writes a list as the notation of a range has it: 1-2.
func portText(list []any) string {
	var text strings.Builder
	for i, v := range list {
		if i > 0 {
			text.WriteString("-")
		}
		text.WriteString(fmt.Sprint(v))
	}
	return text.String()
}

// shown turns an object into its form in the format.
func (r *runner) shown(o *model.Object) any {
	if o == nil {
		return nil
	}
	return r.formed(o.Model().Name(), norm(o))
}

// formed writes ranges of ports as lists.
func (r *runner) formed(name string, v any) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for key, value := range fields {
		f := r.fieldOf(name, key)
		if text, ok := value.(string); ok && f != nil && f.Type == "portrange" {
			var low, high int
			_, _ = fmt.Sscanf(text, "%d-%d", &low, &high)
			fields[key] = []any{low, high}
		}
	}
	return fields
}

// keep keeps an object in a variable, with a new View.
func (r *runner) keep(name string, o *model.Object) {
	r.vars[name] = o
	r.views[name] = model.NewView(r.ctx, o, r.reg, r.store)
}

// opNew makes an object and keeps it in a variable.
func (r *runner) opNew(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}

// opStruct shows a variable, with defaults.
func (r *runner) opStruct(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	plain, err := o.Plain()
	return outcome{"struct": r.formed(o.Model().Name(), norm(plain))}, err
}

// opSet gives a field of a variable another value, or null.
func (r *runner) opSet(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	key := asText(step["field"])
	if o, err = o.With(key, r.value(r.fieldOf(o.Model().Name(), key), step["value"], true)); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opAppend adds to a list of a variable. A nested object must be of the model that the field names.
func (r *runner) opAppend(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	key := asText(step["field"])
	list, _ := o.Get(key).([]any)
	item := r.value(elemOf(r.fieldOf(o.Model().Name(), key)), step["value"], true)
	if o, err = o.With(key, append(slices.Clone(list), item)); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opGet reads a path, through references too. A range of ports has min and max.
func (r *runner) opGet(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	path := asText(step["path"])
	if key, end, ok := cutLast(path); ok && (end == "min" || end == "max") {
		if f := r.fieldOf(o.Model().Name(), key); f != nil && f.Type == "portrange" {
			pair, _ := asMap(r.shown(o))[key].([]any)
			if len(pair) != 2 {
				return outcome{"value": nil}, nil
			}
			return outcome{"value": pair[map[string]int{"min": 0, "max": 1}[end]]}, nil
		}
	}
	v, err := r.views[asText(step["var"])].Get(r.ctx, path)
	return outcome{"value": v}, err
}

// cutLast cuts a path before its last step.
func cutLast(path string) (before, after string, ok bool) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// opSetFields returns the mask.
func (r *runner) opSetFields(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return outcome{"fields": list(o.Mask())}, nil
}

// list makes an empty list of nil, as the format has it.
func list(ids []string) []string { return append([]string{}, ids...) }

// opMerge merges a part into a variable.
func (r *runner) opMerge(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	part, err := r.object(step["with"])
	if err != nil {
		return nil, err
	}
	o, changed := o.Merge(part)
	r.keep(asText(step["var"]), o)
	return outcome{"changed": list(changed)}, nil
}

// opCopy copies a variable. Objects never change, so a deep copy is the same.
func (r *runner) opCopy(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}

// opEqual compares two variables.
func (r *runner) opEqual(step map[string]any) (outcome, error) {
	a, err := r.variable(step["a"])
	b, err2 := r.variable(step["b"])
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return outcome{"equal": a.Equal(b)}, nil
}

// opRoundtrip writes a variable as JSON and reads it again.
func (r *runner) opRoundtrip(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	again, err := o.Model().Parse("roundtrip", text)
	if err != nil {
		return nil, err
	}
	return outcome{"equal": schema.Equal(norm(o), norm(again)), "struct": r.shown(again)}, nil
}

// opValidate asks for required fields.
func (r *runner) opValidate(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return done, o.Check()
}

// opStale asks whether the store has something else now. An object that the store never had is not out of date.
func (r *runner) opStale(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	return outcome{"value": r.put[asText(step["var"])] && r.store.Stale(o)}, nil
}

// opMethod applies an operation of the model in memory.
func (r *runner) opMethod(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	name := asText(step["name"])
	op := o.Model().Operations()[name]
	args := map[string]any{}
	for i, v := range asList(step["args"]) {
		if i < len(op.Args) {
			args[op.Args[i].Key] = r.value(nil, v, true)
		}
	}
	if o, err = o.Do(name, args); err != nil {
		return nil, err
	}
	r.keep(asText(step["var"]), o)
	return done, nil
}

// opFetch reads an object of the database into a variable.
func (r *runner) opFetch(step map[string]any) (outcome, error) {
	lean, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	o, err := r.nb.Get(r.ctx, lean.Model(), lean.ID())
	if err != nil {
		return nil, err
	}
	r.keep(asText(step["as"]), o)
	return done, nil
}

// opDefine registers a model that was deferred, or once more.
func (r *runner) opDefine(step map[string]any) (outcome, error) {
	m, err := r.models.get(asText(step["name"]))
	if err != nil {
		return nil, err
	}
	return done, r.reg.Add(m)
}

// opModel looks a model up by name or table.
func (r *runner) opModel(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["arg"]))
	if err != nil {
		return nil, err
	}
	return outcome{"model": m.Name()}, nil
}

// opTables returns the tables of the registry.
func (r *runner) opTables(map[string]any) (outcome, error) {
	return outcome{"tables": list(r.reg.Tables())}, nil
}

// opFirstClass reports whether a model has a table.
func (r *runner) opFirstClass(step map[string]any) (outcome, error) {
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
func (r *runner) opEmbedded(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"types": names(m.Embedded())}, nil
}

// opIndexes returns the indexes, inherited ones too.
func (r *runner) opIndexes(step map[string]any) (outcome, error) {
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
func (r *runner) opEvents(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"events": list(m.Events())}, nil
}

// opOrder returns the models by their references, and whether pairs of them are in order.
func (r *runner) opOrder(step map[string]any) (outcome, error) {
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
func (r *runner) opDeps(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	return outcome{"deps": names(r.reg.Deps(m, step["first_class_only"] == false))}, nil
}

// opPut keeps an object in the store.
func (r *runner) opPut(step map[string]any) (outcome, error) {
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
func (r *runner) opDrop(step map[string]any) (outcome, error) {
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
func (r *runner) opOne(step map[string]any) (outcome, error) {
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

// found turns NotFound into nothing: in the format, an absent object is null.
func (r *runner) found(o *model.Object, err error) (outcome, error) {
	if model.CodeOf(err) == model.NotFound {
		return outcome{"obj": nil, "id": nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return outcome{"obj": r.shown(o), "id": o.ID()}, nil
}

// ids returns the ids of objects, sorted.
func ids(list []*model.Object) []string {
	out := []string{}
	for _, o := range list {
		out = append(out, o.ID())
	}
	slices.Sort(out)
	return out
}

// opList asks for the ids of a query.
func (r *runner) opList(step map[string]any) (outcome, error) {
	q, err := r.query(step)
	if err != nil {
		return nil, err
	}
	found, err := r.store.List(r.ctx, q)
	return outcome{"ids": ids(found)}, err
}

// opFirst asks for the first object of a query.
func (r *runner) opFirst(step map[string]any) (outcome, error) {
	q, err := r.query(step)
	if err != nil {
		return nil, err
	}
	o, err := r.store.First(r.ctx, q)
	return r.found(o, err)
}

// opByTopic asks for the ids of a topic.
func (r *runner) opByTopic(step map[string]any) (outcome, error) {
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
func (r *runner) opContains(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	have, _ := r.store.Peek(o.Model(), o.ID())
	return outcome{"value": have != nil && have.Equal(o)}, nil
}

// opClear empties the store.
func (r *runner) opClear(map[string]any) (outcome, error) {
	r.store.Clear()
	return done, nil
}

// opInvalidate marks an object of the store as out of date.
func (r *runner) opInvalidate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.store.Invalidate(o.Model(), o.ID())
	return done, nil
}

// opApply takes a deletion or an object of a revision over.
func (r *runner) opApply(step map[string]any) (outcome, error) {
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
func (r *runner) opFill(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	r.store.Fill(o, asInt(step["rev"]))
	return done, nil
}

// opCountFetches begins to count.
func (r *runner) opCountFetches(map[string]any) (outcome, error) {
	r.store.fetches = 0
	return done, nil
}

// opFetches returns how many targets were fetched.
func (r *runner) opFetches(map[string]any) (outcome, error) {
	n := r.store.fetches
	r.store.fetches = 0
	return outcome{"count": n}, nil
}

// opOn subscribes. The entry of an update has the id of the object before, too.
func (r *runner) opOn(step map[string]any) (outcome, error) {
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
func (r *runner) opOff(step map[string]any) (outcome, error) {
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
func (r *runner) opClearCallbacks(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	r.events.Clear(m)
	return done, nil
}

// opEmit emits an event.
func (r *runner) opEmit(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.events.Emit(r.ctx, model.Event{Name: asText(step["event"]), Object: o})
}

// opCalls returns the entries since it was asked last.
func (r *runner) opCalls(map[string]any) (outcome, error) {
	calls := append([][]any{}, r.calls...)
	r.calls = nil
	return outcome{"calls": calls}, nil
}

// opCtlUpdate hands an object to the replica.
func (r *runner) opCtlUpdate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.copy.Update(r.ctx, o)
}

// opCtlDelete hands a deletion to the replica.
func (r *runner) opCtlDelete(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	return done, r.copy.Delete(r.ctx, o.Model(), o.ID(), 0)
}

// opCtlEvent hands an event of the database to the replica. The event of a table that has no model is none of ours.
func (r *runner) opCtlEvent(step map[string]any) (outcome, error) {
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
func (r *runner) opCtlRefs(step map[string]any) (outcome, error) {
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
func (r *runner) opSyncModel(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	r.sync.AddModel(m)
	return done, nil
}

// opSyncTopic begins to take a topic over.
func (r *runner) opSyncTopic(step map[string]any) (outcome, error) {
	return done, r.sync.AddTopic(r.ctx, asText(step["topic"]))
}

// opSyncRemove drops a topic.
func (r *runner) opSyncRemove(step map[string]any) (outcome, error) {
	return done, r.sync.RemoveTopic(r.ctx, asText(step["topic"]))
}

// opSyncRun compares store and database.
func (r *runner) opSyncRun(map[string]any) (outcome, error) { return done, r.sync.Run(r.ctx) }
