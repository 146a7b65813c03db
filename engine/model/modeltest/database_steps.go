package modeltest

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
)

// databaseSteps are about the NB.
type databaseSteps struct{ *runner }

// all returns the steps by operation.
func (r databaseSteps) all() map[string]operation {
	return map[string]operation{
		"nb.create": r.opCreate, "nb.update": r.opUpdate, "nb.delete": r.opDelete, "nb.get": r.opNBGet, "nb.get_all": r.opNBList,
		"nb.get_ref": r.opNBRef, "published": r.opPublished, "writes": r.opWrites, "db.raw": r.opRaw, "db.put_raw": r.opPutRaw,
		"db.schema_version": r.opSchema, "migrate": r.opMigrate, "count_db_reads": r.opCountReads, "db_reads": r.opReads,
	}
}

// usesDatabase reports whether a step needs a World.
func usesDatabase(op string) bool {
	return strings.HasPrefix(op, "nb.") || strings.HasPrefix(op, "db") || strings.HasPrefix(op, "drv.") || strings.HasPrefix(op, "sync.") ||
		op == "migrate" || op == "fetch"
}

// opCreate creates an object in the database.
func (r databaseSteps) opCreate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Create(r.ctx, o, model.Write{Quiet: step["skip_event"] == true})
	return done, err
}

// opUpdate merges a part into an object of the database.
func (r databaseSteps) opUpdate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Update(r.ctx, o, model.Write{Quiet: step["skip_event"] == true})
	return done, err
}

// opDelete deletes an object of the database.
func (r databaseSteps) opDelete(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Delete(r.ctx, o.Model(), o.ID(), model.Write{Quiet: step["skip_event"] == true, Topic: o.Topic()})
	return done, err
}

// opNBGet reads an object by id, in its topic where one is given.
func (r databaseSteps) opNBGet(step map[string]any) (outcome, error) {
	lean, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	var o *model.Object
	if lean.Topic() != "" {
		o, err = r.nb.One(r.ctx, model.Query{Model: lean.Model(), Index: "id", Like: lean, Topics: []string{lean.Topic()}})
	} else {
		o, err = r.nb.Get(r.ctx, lean.Model(), lean.ID())
	}
	if err == nil && step["resolve"] == "deep" {
		deep, err := model.Deep(r.ctx, r.reg, r.nb, o)
		return outcome{"obj": deep}, err
	}
	return r.found(o, err)
}

// opNBList lists a table, and the ids of records that cannot be read.
func (r databaseSteps) opNBList(step map[string]any) (outcome, error) {
	m, err := r.model(asText(step["model"]))
	if err != nil {
		return nil, err
	}
	q := model.Query{Model: m}
	if topic := asText(step["topic"]); topic != "" {
		q.Topics = []string{topic}
	}
	found, err := r.nb.List(r.ctx, q)
	skipped := []string{}
	for _, err := range r.nb.All(r.ctx, q) {
		for _, f := range model.Faults(err) {
			skipped = append(skipped, f.ID)
		}
	}
	return outcome{"ids": ids(found), "skipped": skipped}, err
}

// opNBRef reads the target of a reference from the database.
func (r databaseSteps) opNBRef(step map[string]any) (outcome, error) {
	o, err := r.variable(step["var"])
	if err != nil {
		return nil, err
	}
	f := o.Model().Field(asText(step["field"]))
	if f == nil {
		return nil, &model.Error{Code: model.UnknownField}
	}
	target, err := r.reg.Model(f.Target)
	if err != nil {
		return nil, err
	}
	found, err := r.nb.Get(r.ctx, target, asText(o.Get(f.Key)))
	return r.found(found, err)
}

// mark writes a key without a record, so that a Watch comes to an end there.
func (r databaseSteps) mark() (int64, error) {
	revision, _, err := r.world.Txn(r.ctx, nil, []world.Op{{Key: "m/mark", Value: []byte("1")}})
	return revision, err
}

// opPublished returns the changes since it was asked last, without quiet ones. It watches from where it ended, up to a
// mark that it writes, so that it waits for nothing else.
func (r databaseSteps) opPublished(map[string]any) (outcome, error) {
	end, err := r.mark()
	if err != nil {
		return nil, err
	}
	events := []any{}
	for b, err := range r.nb.Watch(r.ctx, model.Interest{}, r.seen) {
		if err != nil {
			return nil, err
		}
		for _, c := range b.Changes {
			if c.Quiet {
				continue
			}
			topic := any(c.Topic)
			if c.Topic == "" {
				topic = "D" // the old system's word for everybody
			}
			events = append(events, map[string]any{
				"table": c.Model.Table(), "key": c.ID, "action": c.Action.String(), "topic": topic, "value": r.shown(c.Object),
			})
		}
		if b.Revision >= end {
			break
		}
	}
	r.seen = end
	return outcome{"events": events}, nil
}

// opWrites reads the keys, not the objects, so that it sees records that no model reads. It returns the writes of records since it was asked last, quiet ones too.
func (r databaseSteps) opWrites(map[string]any) (outcome, error) {
	end, err := r.mark()
	if err != nil {
		return nil, err
	}
	writes := []any{}
	for b, err := range r.world.Watch(r.ctx, "m/", r.written) {
		if err != nil {
			return nil, err
		}
		for _, u := range b.Updates {
			parts := strings.Split(u.Key, "/")
			if len(parts) != 4 {
				continue
			}
			action, id := "set", parts[3]
			if u.Deleted {
				action = "delete"
			} else if u.Created == u.Revision {
				action = "create"
			}
			id, _ = url.PathUnescape(id)
			writes = append(writes, []any{action, parts[2], id})
		}
		if b.Revision >= end {
			break
		}
	}
	r.written = end
	return outcome{"writes": writes}, nil
}

// opRaw returns a record with the defaults of its model.
func (r databaseSteps) opRaw(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["table"]))
	if err != nil {
		return nil, err
	}
	rec, err := r.nb.Record(r.ctx, m, asText(step["key"]))
	if model.CodeOf(err) == model.NotFound {
		return outcome{"value": nil}, nil
	} else if err != nil {
		return nil, err
	}
	o, err := m.Parse("record", rec.Object)
	if err != nil {
		return outcome{"value": rec.Object}, nil
	}
	return outcome{"value": r.shown(o)}, nil // the old system writes defaults, too
}

// opPutRaw writes a record of any version.
func (r databaseSteps) opPutRaw(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["table"]))
	if err != nil {
		return nil, err
	}
	object, err := json.Marshal(step["value"])
	if err != nil {
		return nil, err
	}
	version := m.Schema()
	if _, ok := step["schema_version"]; ok {
		version = int(asInt(step["schema_version"]))
	}
	return done, r.nb.PutRecord(r.ctx, model.Record{
		Table: m.Table(), ID: asText(step["key"]), Topic: asText(step["topic"]), Schema: version, Object: object,
	})
}

// opSchema returns the version of a record.
func (r databaseSteps) opSchema(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["table"]))
	if err != nil {
		return nil, err
	}
	rec, err := r.nb.Record(r.ctx, m, asText(step["key"]))
	return outcome{"value": rec.Schema}, err
}

// opMigrate brings all records to the versions of the models.
func (r databaseSteps) opMigrate(step map[string]any) (outcome, error) {
	all, err := r.nb.Migrate(r.ctx, step["dry_run"] == true)
	n := 0
	for _, m := range all {
		n += m.Records
	}
	return outcome{"migrated": n}, err
}

// opCountReads begins to count.
func (r databaseSteps) opCountReads(map[string]any) (outcome, error) {
	r.world.reads.Store(0)
	return done, nil
}

// opReads returns how many records were read.
func (r databaseSteps) opReads(map[string]any) (outcome, error) {
	return outcome{"count": r.world.reads.Swap(0)}, nil
}
