package model

import (
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Foreign says that another part of the program writes the records of a model, below a prefix of its own. Objects of such a
// model are read as any other, and each change is a ReadOnly. They have no topic.
type Foreign struct {
	Prefix string // of the keys; the rest of a key is the escaped id. NB.Options.Prefix does not stand before it
	// Read returns the fields of a record without the id, as Model.New takes them. Its error makes the record a BadRecord.
	// It runs in lists and watches on any goroutine, and must not block.
	Read func(value []byte) (map[string]any, error)
}

// ReadOnly reports whether another part of the program writes the records, so that nothing here may change them.
func (m *Model) ReadOnly() bool { return m.spec.Foreign != nil }

// changeable returns a ReadOnly for a model whose records another part of the program writes.
func (m *Model) changeable(id string) error {
	if !m.ReadOnly() {
		return nil
	}
	return m.fault(ReadOnly, id, "", "the table %s can only be read: mgmt itself writes it", m.Table())
}

// placeOf is place for a record of m. The rest of a foreign key is one part: a longer key is of something else.
func (l layout) placeOf(m *Model, key string) (p place, ok bool) {
	if !m.ReadOnly() {
		return l.place(key)
	}
	rest, below := strings.CutPrefix(key, m.spec.Foreign.Prefix)
	id, err := url.PathUnescape(rest)
	return place{table: m.Table(), id: id}, below && id != "" && err == nil && !strings.Contains(rest, "/")
}

// foreignKey is the key of an object of a model with foreign records.
func (m *Model) foreignKey(id string) string { return m.spec.Foreign.Prefix + url.PathEscape(id) }

// decodeForeign reads a foreign record. A panic of Read is a fault of the program, and is not hidden here.
func decodeForeign(m *Model, p place, kv world.KV) (*Object, error) {
	fields, err := m.spec.Foreign.Read(kv.Value)
	if err != nil {
		return nil, m.bad(BadRecord, p, "the record cannot be read", err)
	}
	n, err := schema.NodeOf(fields)
	if err != nil {
		return nil, m.bad(BadRecord, p, "the record has a value of no type", err)
	}
	d := decoder{model: m, keep: true}
	o := d.object(m, n)
	if o, err = d.done(o); err != nil {
		return nil, m.bad(BadRecord, p, "the record does not fit the model", err)
	}
	o.id, o.fields["id"] = p.id, p.id
	o.revision, o.created, o.schema = kv.Revision, kv.Created, m.spec.Schema
	return o, nil
}

// foreign returns the models of an interest whose records are foreign. An interest in all models means none of them: their
// records change for reasons of their own, so a reader names them.
func (in *Interest) foreign() (list []*Model) {
	for _, m := range in.Models {
		if m.ReadOnly() && (in.Topics == nil || slices.Contains(in.Topics, "")) {
			list = append(list, m)
		}
	}
	return list
}

// placed returns the model and the place of a key that an interest may mean.
func (nb *NB) placed(in Interest, key string) (*Model, place, bool) {
	for _, m := range in.foreign() {
		if p, ok := nb.keys.placeOf(m, key); ok {
			return m, p, true
		}
	}
	p, ok := nb.keys.place(key)
	if !ok || in.Topics != nil && !slices.Contains(in.Topics, p.topic) {
		return nil, p, false
	}
	m, err := nb.reg.Model(p.table)
	if err != nil || m.ReadOnly() || in.Models != nil && !slices.ContainsFunc(in.Models, func(want *Model) bool { return want.Table() == m.Table() }) {
		return nil, p, false
	}
	return m, p, true
}

// own reports whether an interest may mean records of the API itself. One that means no record at all counts as such.
func (in *Interest) own() bool {
	return in.Models == nil || slices.ContainsFunc(in.Models, func(m *Model) bool { return !m.ReadOnly() }) || len(in.foreign()) == 0
}

// prefixes returns the prefixes under which an interest has records: that of all topics, or of one, and those of foreign records.
func (nb *NB) prefixes(in Interest) (list []string) {
	if in.own() {
		list = append(list, nb.keys.records())
		if len(in.Topics) == 1 {
			list[0] = nb.keys.topic(in.Topics[0])
		}
	}
	return in.withForeign(list)
}

// topicPrefixes is prefixes with the topics of an interest, each once, in the place of all topics.
func (nb *NB) topicPrefixes(in Interest) (list []string) {
	if in.own() {
		for _, topic := range slices.Compact(slices.Sorted(slices.Values(in.Topics))) {
			list = append(list, nb.keys.topic(topic))
		}
	}
	return in.withForeign(list)
}

// withForeign adds the prefixes of the foreign records.
func (in *Interest) withForeign(list []string) []string {
	for _, m := range in.foreign() {
		list = append(list, m.spec.Foreign.Prefix)
	}
	return list
}
