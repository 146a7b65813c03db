package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
)

// databaseOperations adds the operations that need a World.
func databaseOperations() {
	maps.Copy(operations, map[string]func(r *runner, step map[string]any) (outcome, error){
		"nb.create": (*runner).opCreate, "nb.update": (*runner).opUpdate, "nb.delete": (*runner).opDelete, "nb.get": (*runner).opNBGet,
		"nb.get_all": (*runner).opNBList, "nb.get_ref": (*runner).opNBRef, "published": (*runner).opPublished, "writes": (*runner).opWrites,
		"db.raw": (*runner).opRaw, "db.put_raw": (*runner).opPutRaw, "db.schema_version": (*runner).opSchema, "migrate": (*runner).opMigrate,
		"count_db_reads": (*runner).opCountReads, "db_reads": (*runner).opReads, "rest": (*runner).opRest,
		"drv.create_table": (*runner).drvTable, "drv.create_key": (*runner).drvCreate, "drv.set_key": (*runner).drvSet,
		"drv.get_key": (*runner).drvGet, "drv.delete_key": (*runner).drvDelete, "drv.get_all_keys": (*runner).drvKeys,
		"drv.get_all_entries": (*runner).drvEntries, "drv.allocate_unique_key": (*runner).drvAllocate, "drv.delete_table": (*runner).drvDropTable,
	})
}

// usesDatabase reports whether a step needs a World.
func usesDatabase(op string) bool {
	return strings.HasPrefix(op, "nb.") || strings.HasPrefix(op, "db") || strings.HasPrefix(op, "drv.") || strings.HasPrefix(op, "sync.") ||
		op == "migrate" || op == "fetch" || op == "rest"
}

// opCreate creates an object in the database.
func (r *runner) opCreate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Create(r.ctx, o, model.Write{Quiet: step["skip_event"] == true})
	return done, err
}

// opUpdate merges a part into an object of the database.
func (r *runner) opUpdate(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Update(r.ctx, o, model.Write{Quiet: step["skip_event"] == true})
	return done, err
}

// opDelete deletes an object of the database.
func (r *runner) opDelete(step map[string]any) (outcome, error) {
	o, err := r.object(step["obj"])
	if err != nil {
		return nil, err
	}
	_, err = r.nb.Delete(r.ctx, o.Model(), o.ID(), model.Write{Quiet: step["skip_event"] == true, Topic: o.Topic()})
	return done, err
}

// opNBGet reads an object by id, in its topic where one is given.
func (r *runner) opNBGet(step map[string]any) (outcome, error) {
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
func (r *runner) opNBList(step map[string]any) (outcome, error) {
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
func (r *runner) opNBRef(step map[string]any) (outcome, error) {
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
func (r *runner) mark() (int64, error) {
	revision, _, err := r.world.Txn(r.ctx, nil, []engine.Op{{Key: "m/mark", Value: []byte("1")}})
	return revision, err
}

// opPublished returns the changes since it was asked last, without quiet ones. It watches from where it ended, up to a
// mark that it writes, so that it waits for nothing else.
func (r *runner) opPublished(map[string]any) (outcome, error) {
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
func (r *runner) opWrites(map[string]any) (outcome, error) {
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
func (r *runner) opRaw(step map[string]any) (outcome, error) {
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
func (r *runner) opPutRaw(step map[string]any) (outcome, error) {
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
func (r *runner) opSchema(step map[string]any) (outcome, error) {
	m, err := r.reg.Model(asText(step["table"]))
	if err != nil {
		return nil, err
	}
	rec, err := r.nb.Record(r.ctx, m, asText(step["key"]))
	return outcome{"value": rec.Schema}, err
}

// opMigrate brings all records to the versions of the models.
func (r *runner) opMigrate(step map[string]any) (outcome, error) {
	all, err := r.nb.Migrate(r.ctx, step["dry_run"] == true)
	n := 0
	for _, m := range all {
		n += m.Records
	}
	return outcome{"migrated": n}, err
}

// opCountReads begins to count.
func (r *runner) opCountReads(map[string]any) (outcome, error) {
	r.world.reads.Store(0)
	return done, nil
}

// opReads returns how many records were read.
func (r *runner) opReads(map[string]any) (outcome, error) {
	return outcome{"count": r.world.reads.Swap(0)}, nil
}

// opRest asks over HTTP, with JSON as the body.
func (r *runner) opRest(step map[string]any) (outcome, error) {
	if r.rest == nil {
		return nil, errors.New("there is nothing that answers over HTTP")
	}
	body := &bytes.Buffer{}
	if step["body"] != nil {
		if err := json.NewEncoder(body).Encode(step["body"]); err != nil {
			return nil, err
		}
	}
	req := httptest.NewRequest(asText(step["method"]), asText(step["path"]), body)
	if step["body"] != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for key, v := range asMap(step["headers"]) {
		req.Header.Set(key, fmt.Sprint(v))
	}
	rec := httptest.NewRecorder()
	r.rest.ServeHTTP(rec, req)
	return r.answered(step, rec)
}

// answered reads an answer over HTTP. A header that is expected to be * only has to be there.
func (r *runner) answered(step map[string]any, rec *httptest.ResponseRecorder) (outcome, error) {
	out := outcome{"status": rec.Code}
	var body any
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
			return nil, fmt.Errorf("the answer %q: %w", rec.Body, err)
		}
	}
	out["body"] = body
	headers := map[string]any{}
	for key, want := range asMap(asMap(step["expect"])["headers"]) {
		if headers[key] = rec.Header().Get(key); want == "*" && headers[key] != "" {
			headers[key] = "*"
		}
	}
	out["headers"] = headers
	fields := []any{}
	problem, _ := body.(map[string]any)
	errs, _ := problem["errors"].([]any)
	for _, e := range errs {
		fields = append(fields, asMap(e)["field"])
	}
	out["problem"] = map[string]any{"fields": fields}
	return out, nil
}

// The operations drv are those of a driver: tables of keys in a World, without models.

// drvKey reads the table, the key and the value of a step.
func drvKey(step map[string]any) (key, value string) {
	args := asStrings(step["args"])
	for len(args) < 3 {
		args = append(args, "")
	}
	return "d/" + args[0] + "/" + args[1], args[2]
}

// drvTable has nothing to make: a table is the prefix of its keys.
func (r *runner) drvTable(map[string]any) (outcome, error) { return outcome{"value": nil}, nil }

// drvTxn alters a key that is there, or makes a new key.
func (r *runner) drvTxn(op engine.Op, there bool) (outcome, error) {
	kv, err := r.world.Get(r.ctx, op.Key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	if there && kv.Revision == 0 {
		return nil, &model.Error{Code: model.NotFound, Message: "there is no such key"}
	}
	if !there && kv.Revision != 0 {
		return nil, &model.Error{Code: model.Exists, Message: "there is such a key"}
	}
	_, ok, err := r.world.Txn(r.ctx, []engine.Compare{{Key: op.Key, Revision: kv.Revision}}, []engine.Op{op})
	if err == nil && !ok {
		err = errors.New("the comparison did not hold")
	}
	return outcome{"value": nil}, err
}

// drvCreate makes a key.
func (r *runner) drvCreate(step map[string]any) (outcome, error) {
	key, value := drvKey(step)
	return r.drvTxn(engine.Op{Key: key, Value: []byte(value)}, false)
}

// drvSet alters a key that is there.
func (r *runner) drvSet(step map[string]any) (outcome, error) {
	key, value := drvKey(step)
	return r.drvTxn(engine.Op{Key: key, Value: []byte(value)}, true)
}

// drvDelete deletes a key that is there.
func (r *runner) drvDelete(step map[string]any) (outcome, error) {
	key, _ := drvKey(step)
	return r.drvTxn(engine.Op{Key: key, Delete: true}, true)
}

// drvGet reads a key.
func (r *runner) drvGet(step map[string]any) (outcome, error) {
	key, _ := drvKey(step)
	kv, err := r.world.Get(r.ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, &model.Error{Code: model.NotFound, Err: err}
	}
	return outcome{"value": string(kv.Value)}, err
}

// drvList returns the keys and values of a table.
func (r *runner) drvList(step map[string]any) (keys, values []string, err error) {
	prefix := "d/" + asStrings(step["args"])[0] + "/"
	page, err := r.world.List(r.ctx, prefix, engine.ListOptions{})
	keys, values = []string{}, []string{}
	for _, kv := range page.KVs {
		keys, values = append(keys, strings.TrimPrefix(kv.Key, prefix)), append(values, string(kv.Value))
	}
	slices.Sort(values)
	return keys, values, err
}

// drvKeys returns the keys of a table, sorted.
func (r *runner) drvKeys(step map[string]any) (outcome, error) {
	keys, _, err := r.drvList(step)
	return outcome{"value": keys}, err
}

// drvEntries returns the values of a table, sorted.
func (r *runner) drvEntries(step map[string]any) (outcome, error) {
	_, values, err := r.drvList(step)
	return outcome{"value": values}, err
}

// drvDropTable deletes all keys of a table.
func (r *runner) drvDropTable(step map[string]any) (outcome, error) {
	keys, _, err := r.drvList(step)
	for _, key := range keys {
		if _, _, err := r.world.Txn(r.ctx, nil, []engine.Op{{Key: "d/" + asStrings(step["args"])[0] + "/" + key, Delete: true}}); err != nil {
			return nil, err
		}
	}
	return outcome{"value": nil}, err
}

// drvAllocate returns a number that the table has not had.
func (r *runner) drvAllocate(step map[string]any) (outcome, error) {
	key, err := r.nb.Allocate(r.ctx, asStrings(step["args"])[0])
	return outcome{"value": key}, err
}
