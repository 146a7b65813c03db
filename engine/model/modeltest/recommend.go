package modeltest

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/model"
)

// A scenario that recommends something was seen on a system with a fault, and its expectations show that fault. The
// recommendation is a sentence. So the package plays such a scenario twice on paper: as that system works, and as a system
// without its faults works. The faults are these, and each is named by the operation that shows it:
//
//   - nb.create, rest: a create writes over an object. It is refused.
//   - nb.create: a hook of the model hides the hooks of its bases. Those of the bases run first.
//   - nb.update: a given version is written. It is the expected version, and another one is a conflict.
//   - nb.delete, published: a deletion by id alone goes to everybody. It goes to the topic of the object.
//   - nb.get, nb.get_all: a field that the model lacks makes the table unreadable. It is left out.
//   - store.get_*: an object comes once for each key. It comes once.
//   - store.get_*: an object with an empty list is in no index. Any finds it.
//   - store.get_*: a question that leaves a required field open is refused. It finds everything.
//   - store.update: an absent target refuses the object. The value behind the reference is missing.
//   - store.get_*: keys behind a reference stay when the target changes. They follow.
//   - stale: an object that is kept twice counts as out of date. It does not.
//
// Where the expectation of a step is that of the faulty system, the outcome of the other one holds. Any other expectation
// holds as it is, so a falsified expectation fails.

// wanted returns the outcome that a step must have. It is called once for each step, before the step.
func (r *runner) wanted(step map[string]any) map[string]any {
	want := asMap(step["expect"])
	if r.s.Recommend == "" {
		return want
	}
	seen, sound := r.faulty.play(step), r.sound.play(step)
	if !seen.fits(want, step) {
		return want
	}
	return sound.instead(want)
}

// told is the outcome of a step on paper. The zero value says nothing.
type told struct {
	got  outcome
	code model.Code // of an error; then got is nil
}

// fits reports whether an expectation is this outcome. Repeated ids count, but not how often one comes.
func (o told) fits(want map[string]any, step map[string]any) bool {
	var err error
	switch {
	case o.code != "":
		err = &model.Error{Code: o.code}
	case o.got == nil:
		return false
	}
	if ids, ok := norm(want["ids"]).([]any); ok && o.got["ids"] != nil {
		have, _ := norm(o.got["ids"]).([]any)
		return slices.EqualFunc(slices.Compact(slices.Clone(ids)), slices.Compact(slices.Clone(have)), same) &&
			(len(ids) == len(slices.Compact(slices.Clone(ids)))) == (len(have) == len(slices.Compact(slices.Clone(have))))
	}
	return compare(want, o.got, err, step["unordered"] == true) == nil
}

func same(a, b any) bool { return text(a) == text(b) }

// instead returns the expectation that says this outcome, with the keys of the other expectation.
func (o told) instead(want map[string]any) map[string]any {
	switch {
	case o.code != "":
		return map[string]any{"error": string(o.code)}
	case o.got == nil:
		return want
	}
	out := maps.Clone(o.got)
	if want["error"] == nil {
		maps.DeleteFunc(out, func(key string, _ any) bool { _, asked := want[key]; return !asked })
	}
	return out
}

// row names an object on paper.
type row struct{ model, id string }

// paper plays a scenario with plain values. It shares no code with the stores and the NB, but for the check of values.
// It says nothing of operations that it does not know.
type paper struct {
	r      *runner
	faulty bool // it has the faults of the old system

	records map[row]map[string]any // of the database
	events  []any                  // since they were asked for

	kept    map[row]*sheet
	fetched int             // targets since they were asked for
	twice   map[string]bool // variables that were kept once more, unaltered
}

// newPaper returns an empty one.
func newPaper(r *runner, faulty bool) *paper {
	return &paper{r: r, faulty: faulty, records: map[row]map[string]any{}, kept: map[row]*sheet{}, twice: map[string]bool{}}
}

// play does one step.
func (p *paper) play(step map[string]any) told {
	do := map[string]func(step map[string]any) told{
		"nb.create": p.create, "nb.update": p.update, "nb.delete": p.remove, "db.raw": p.raw, "db.put_raw": p.putRaw,
		"nb.get": p.read, "nb.get_all": p.readAll, "published": p.published,
		"store.update": p.keep, "store.delete": p.forget, "store.get_keys": p.find, "store.get_all": p.find,
		"store.get_one": p.findOne, "store.get_first": p.findFirst, "store.clear": p.clear,
		"count_fetches": p.fetches, "fetches": p.fetches, "stale": p.stale,
	}[asText(step["op"])]
	if do == nil {
		return told{}
	}
	return do(step)
}

// fine is the outcome of a step that has no answer.
var fine = told{got: done}

// part returns the object of a step: its row, and its set fields, with null.
func (p *paper) part(step map[string]any) (row, map[string]any, bool) {
	o, err := p.r.object(step["obj"])
	if err != nil {
		return row{}, nil, false
	}
	fields := map[string]any{}
	for _, key := range o.Mask() {
		fields[key] = norm(o.Get(key))
	}
	return row{o.Model().Name(), o.ID()}, fields, true
}

// create writes a new object. The event of the faulty system has the given fields alone, since nothing stays of the
// object before.
func (p *paper) create(step map[string]any) told {
	at, fields, ok := p.part(step)
	if !ok {
		return told{}
	}
	if p.records[at] != nil && !p.faulty {
		return told{code: model.Exists}
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	if p.hooked(at.model, "on_create_pre") && fields["version"] == nil {
		fields["version"] = 1.0
	}
	p.write(step, at, fields, "create")
	return fine
}

// hooked reports whether a model counts versions, and its own hook lets that of the mixin run.
func (p *paper) hooked(name, hook string) bool {
	def := p.r.s.Models[name]
	if def == nil || !slices.Contains(def.Bases, "Version") {
		return false
	}
	own := def.Hooks[hook]
	return !p.faulty || own == nil || slices.ContainsFunc(own, func(a action) bool { return a["chain"] == true })
}

// update merges fields into an object. It says nothing of an absent object: the old systems differ there, and no scenario
// recommends anything.
func (p *paper) update(step map[string]any) told {
	at, fields, ok := p.part(step)
	was := p.records[at]
	if !ok || was == nil {
		return told{}
	}
	version, given := fields["version"]
	if given && version != nil && !p.faulty {
		if !same(version, was["version"]) {
			return told{code: model.Conflict}
		}
		delete(fields, "version")
	}
	now := maps.Clone(was)
	maps.Copy(now, fields)
	maps.DeleteFunc(now, func(_ string, v any) bool { return v == nil })
	if same(was, now) {
		return fine
	}
	if last, _ := was["version"].(float64); same(now["version"], was["version"]) && p.hooked(at.model, "on_update_pre") {
		now["version"] = last + 1
	}
	p.write(step, at, now, "set")
	return fine
}

// write keeps a record, and publishes it.
func (p *paper) write(step map[string]any, at row, fields map[string]any, action string) {
	p.records[at] = fields
	p.publish(step, at, action, fields["topic"], p.shown(at.model, fields))
}

// publish adds an event. Without a topic, it is for everybody.
func (p *paper) publish(step map[string]any, at row, action string, topic, value any) {
	if step["skip_event"] == true {
		return
	}
	if topic == nil || topic == "" {
		topic = "D"
	}
	p.events = append(p.events, map[string]any{
		"table": p.r.s.Models[at.model].Table, "key": at.id, "action": action, "topic": topic, "value": value,
	})
}

// remove deletes an object. The faulty system knows only the topic that the caller names.
func (p *paper) remove(step map[string]any) told {
	at, fields, ok := p.part(step)
	was := p.records[at]
	if !ok || was == nil {
		return told{}
	}
	topic := was["topic"]
	if p.faulty {
		topic = fields["topic"]
	}
	delete(p.records, at)
	p.publish(step, at, "delete", topic, nil)
	return fine
}

// published returns the events, and forgets them.
func (p *paper) published(map[string]any) told {
	events := append([]any{}, p.events...)
	p.events = nil
	return told{got: outcome{"events": events}}
}

// table returns the name of the model that a step names by its table.
func (p *paper) table(step map[string]any) string {
	for name, def := range p.r.s.Models {
		if def.Table != "" && def.Table == asText(step["table"]) {
			return name
		}
	}
	return ""
}

// raw shows a record.
func (p *paper) raw(step map[string]any) told {
	at := row{p.table(step), asText(step["key"])}
	if p.records[at] == nil {
		return told{got: outcome{"value": nil}}
	}
	return told{got: outcome{"value": p.shown(at.model, p.records[at])}}
}

// putRaw writes a record as it is. One of another schema is left to other scenarios.
func (p *paper) putRaw(step map[string]any) told {
	name := p.table(step)
	if fields, ok := norm(step["value"]).(map[string]any); ok && name != "" && step["schema_version"] == nil {
		p.records[row{name, asText(step["key"])}] = fields
		return fine
	}
	return told{}
}

// known returns the fields that the model has, and whether those are all.
func (p *paper) known(name string, fields map[string]any) (map[string]any, bool) {
	m, err := p.r.models.get(name)
	if err != nil {
		return fields, false
	}
	out := maps.Clone(fields)
	maps.DeleteFunc(out, func(key string, _ any) bool { return m.Field(key) == nil })
	return out, len(out) == len(fields)
}

// read gets an object by its id. References that are to be resolved are left to other scenarios.
func (p *paper) read(step map[string]any) told {
	at, lean, ok := p.part(step)
	fields := p.records[at]
	if !ok || fields == nil || lean["topic"] != nil && !same(lean["topic"], fields["topic"]) || step["resolve"] != nil {
		return told{}
	}
	fields, whole := p.known(at.model, fields)
	if !whole && p.faulty {
		return told{code: model.UnknownField}
	}
	return told{got: outcome{"obj": p.shown(at.model, fields), "id": at.id}}
}

// readAll lists a table.
func (p *paper) readAll(step map[string]any) told {
	list := []string{}
	for at, fields := range p.records {
		if topic := asText(step["topic"]); at.model != asText(step["model"]) || topic != "" && !same(topic, fields["topic"]) {
			continue
		}
		if _, whole := p.known(at.model, fields); !whole && p.faulty {
			return told{code: model.UnknownField}
		}
		list = append(list, at.id)
	}
	slices.Sort(list)
	return told{got: outcome{"ids": list, "skipped": []string{}}}
}

// shown returns fields with the defaults of their model. Fields that the model lacks make it show the record as it is.
func (p *paper) shown(name string, fields map[string]any) any {
	m, err := p.r.models.get(name)
	if err != nil {
		return fields
	}
	o, err := m.New(p.r.fields(name, fields, false))
	if err != nil {
		return fields
	}
	return p.r.shown(o)
}
