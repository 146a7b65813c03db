package model

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/engine/world"
)

// record is the envelope of an object in the World.
type record struct {
	Schema  int             `json:"schema"`
	Reads   int             `json:"reads,omitempty"` // the lowest schema whose programs read it; absent for Schema
	Kind    string          `json:"kind"`
	Version int64           `json:"version,omitempty"`
	Origin  string          `json:"origin,omitempty"`
	Quiet   bool            `json:"quiet,omitempty"` // no event
	Object  json.RawMessage `json:"object"`
}

// layout makes the keys below a prefix.
//
//	m/TOPIC/TABLE/ID       the record
//	m/TOPIC/TABLE/ID/quiet says that the deletion in the same transaction has no event
//	i/TABLE/ID             the topic
//	s/HOST/TABLE/ID        the status that a host has written
//	u/TABLE                the last unique key
//	meta/schema/TABLE      the version of the records after Migrate
type layout string

// Records is the prefix of the keys of all records, in an NB without a prefix of its own.
const Records = "m/"

func (l layout) records() string { return string(l) + Records }

func (l layout) topic(topic string) string { return l.records() + url.PathEscape(topic) + "/" }

func (l layout) table(topic string, m *Model) string { return l.topic(topic) + m.Table() + "/" }

func (l layout) record(topic string, m *Model, id string) string {
	return l.table(topic, m) + url.PathEscape(id)
}

func (l layout) ids(m *Model) string { return string(l) + "i/" + m.Table() + "/" }

func (l layout) id(m *Model, id string) string { return l.ids(m) + url.PathEscape(id) }

func (l layout) unique(table string) string { return string(l) + "u/" + url.PathEscape(table) }

func (l layout) schema(m *Model) string { return string(l) + "meta/schema/" + m.Table() }

func (l layout) statuses() string { return string(l) + "s/" }

func (l layout) status(host string, m *Model, id string) string {
	return l.statuses() + url.PathEscape(host) + "/" + m.Table() + "/" + url.PathEscape(id)
}

// place is what the key of a record says.
type place struct {
	topic, table, id string
	quiet            bool // the mark of a quiet deletion
}

// place reads the key of a record; ok is false for another key.
func (l layout) place(key string) (p place, ok bool) {
	parts := strings.Split(strings.TrimPrefix(key, l.records()), "/")
	if len(parts) != 3 && (len(parts) != 4 || parts[3] != "quiet") {
		return p, false
	}
	topic, err := url.PathUnescape(parts[0])
	id, err2 := url.PathUnescape(parts[2])
	return place{topic, parts[1], id, len(parts) == 4}, err == nil && err2 == nil
}

// encode writes the record of an object.
func (o *Object) encode(quiet bool) ([]byte, error) {
	fields := o.model.stored(o.fields)
	for key, v := range o.extra {
		if _, known := o.model.byKey[key]; !known {
			fields[key] = written(&Field{}, anything, v, true)
		}
	}
	object, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	r := record{
		Schema: max(o.schema, o.model.spec.Schema), Reads: o.model.spec.Reads, Kind: o.model.Table(),
		Version: o.Version(), Origin: o.origin, Quiet: quiet, Object: object,
	}
	if o.schema > o.model.spec.Schema {
		r.Reads = 0 // a newer program wrote it, and its fields are still there
		r.Reads = o.model.spec.Schema
	}
	if r.Reads == r.Schema {
		r.Reads = 0
	}
	return marshal(r)
}

// decodeRecord is the inner loop of every list and watch. It reads a record. Fields that m does not have are kept. Older records go through the migrations. The
// Error says why a record can't be read: SchemaTooNew, MigrationFail or BadRecord.
func decodeRecord(m *Model, p place, kv world.KV) (o *Object, quiet bool, err error) {
	if m.ReadOnly() {
		o, err = decodeForeign(m, p, kv)
		return o, false, err
	}
	var found schema.Diagnostics
	n := quickNode(kv.Value)
	if n == nil {
		n, found = jsonnode.Parse(kv.Value, jsonnode.Options{Nowhere: true, Quiet: true})
	}
	object := n.Get("object")
	if found.Err() != nil || object == nil || object.Kind != schema.NodeMap {
		return nil, false, m.bad(BadRecord, p, "the record is no JSON of an object", found.Err())
	}
	version, err := recordSchema(m, p, n)
	if err != nil {
		return nil, false, err
	}
	if version < m.spec.Schema {
		if object, err = m.migrate(object, version); err != nil {
			return nil, false, m.bad(MigrationFail, p, fmt.Sprintf("the record of schema %d cannot be brought to %d", version, m.spec.Schema), err)
		}
	}
	d := decoder{model: m, keep: true}
	o = d.object(m, object)
	if o, err = d.done(o); err != nil {
		return nil, false, m.bad(BadRecord, p, "the record does not fit the model", err)
	}
	o.id, o.fields["id"] = p.id, p.id
	o.revision, o.created, o.schema = kv.Revision, kv.Created, version
	if origin := n.Get("origin"); origin != nil {
		o.origin = origin.Text
	}
	mark := n.Get("quiet")
	return o, mark != nil && mark.Text == "true", nil
}

// recordSchema returns the version of a record, if this program can read it.
func recordSchema(m *Model, p place, n *schema.Node) (int, error) {
	number := func(key string, otherwise int) int {
		if v, found := schema.Value(&schema.Type{Kind: schema.KindInt, Bits: 64}, n.Get(key)); found.Err() == nil && n.Get(key) != nil {
			if i, ok := v.(int64); ok {
				return int(i)
			}
		}
		return otherwise
	}
	version := number("schema", 1)
	if reads := number("reads", version); reads > m.spec.Schema {
		return 0, m.bad(SchemaTooNew, p, fmt.Sprintf("the record has schema %d, and this program knows up to %d: update the program", version, m.spec.Schema), nil)
	}
	return version, nil
}

func (m *Model) bad(code Code, p place, message string, cause error) *Error {
	return &Error{Code: code, Table: m.Table(), ID: p.id, Message: message, Err: cause}
}

// migrate brings the fields of a record from a version to the model's.
func (m *Model) migrate(object *schema.Node, from int) (*schema.Node, error) {
	v, found := schema.Value(anything, object)
	fields, ok := v.(map[string]any)
	if err := found.Err(); err != nil || !ok {
		return nil, fmt.Errorf("no object: %w", err)
	}
	for version := max(from, 1); version < m.spec.Schema; version++ {
		for _, step := range m.spec.Migrations {
			if step.From == version {
				if err := step.Up(fields); err != nil {
					return nil, fmt.Errorf("from version %d: %w", version, err)
				}
			}
		}
	}
	return schema.NodeOf(fields)
}
