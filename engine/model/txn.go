package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Tx collects the changes of one transaction. It sees its own changes. Everything it has read is compared when it is
// written, so the transaction is as if it were alone. A Tx is used by one goroutine, and not after its function.
type Tx struct {
	ctx   context.Context
	nb    *NB
	reads map[string]world.KV // Revision 0 is absent
	ops   map[string]world.Op
	order []string       // of ops
	now   []*Object      // written objects, for stamp
	marks []string       // of quiet deletions
	did   []Altered      // in the order of the first change of each object
	didAt map[didKey]int // the places in did
	undo  []func()       // take back what did and ops got, the last one first; see whole
}

// newTx returns a transaction that has read nothing yet.
func newTx(ctx context.Context, nb *NB) *Tx {
	return &Tx{ctx: ctx, nb: nb, reads: map[string]world.KV{}, ops: map[string]world.Op{}}
}

// Registry returns the registry of the NB.
func (tx *Tx) Registry() *Registry { return tx.nb.reg }

// read returns a key as the transaction sees it; Revision 0 is absent. A value that the transaction has put has
// Revision -1.
func (tx *Tx) read(key string) (world.KV, error) {
	if op, ok := tx.ops[key]; ok {
		if op.Delete {
			return world.KV{Key: key}, nil
		}
		return world.KV{Key: key, Value: op.Value, Revision: -1}, nil
	}
	if kv, ok := tx.reads[key]; ok {
		return kv, nil
	}
	kv, err := tx.nb.world.Get(tx.ctx, key)
	if errors.Is(err, world.ErrNotFound) {
		kv, err = world.KV{Key: key}, nil
	}
	if err == nil {
		tx.reads[key] = kv
	}
	return kv, err
}

// do adds an operation, or puts it in the place of an earlier one on the same key.
func (tx *Tx) do(op world.Op) {
	before, again := tx.ops[op.Key]
	if again {
		tx.undo = append(tx.undo, func() { tx.ops[op.Key] = before })
	} else {
		tx.order = append(tx.order, op.Key)
		tx.undo = append(tx.undo, func() {
			delete(tx.ops, op.Key)
			tx.order = tx.order[:len(tx.order)-1]
		})
	}
	tx.ops[op.Key] = op
}

// whole makes a change, and takes back all that it and its hooks have asked for where it fails: the transaction may go on without it.
func (tx *Tx) whole(change func() (*Object, error)) (*Object, error) {
	undo, now, marks := len(tx.undo), len(tx.now), len(tx.marks)
	o, err := change()
	if err != nil {
		for _, back := range slices.Backward(tx.undo[undo:]) {
			back()
		}
		tx.undo, tx.now, tx.marks = tx.undo[:undo], tx.now[:now], tx.marks[:marks]
	}
	return o, err
}

// operations returns the operations in the order in which they were asked for.
func (tx *Tx) operations() (ops []world.Op) {
	for _, key := range tx.order {
		ops = append(ops, tx.ops[key])
	}
	return ops
}

// compares returns a comparison for each key that was read: absent keys have revision 0.
func (tx *Tx) compares() (cs []world.Compare) {
	for _, key := range slices.Sorted(maps.Keys(tx.reads)) {
		cs = append(cs, world.Compare{Key: key, Revision: tx.reads[key].Revision})
	}
	return cs
}

// stamp gives the written objects their revision. They have been seen by the caller only.
func (tx *Tx) stamp(revision int64) {
	for _, o := range tx.now {
		o.revision = revision
		if o.created == 0 {
			o.created = revision
		}
	}
}

// topicOf returns the topic of an object, and whether the object is there.
func (tx *Tx) topicOf(m *Model, id string) (string, bool, error) {
	kv, err := tx.read(tx.nb.keys.id(m, id))
	return string(kv.Value), err == nil && kv.Revision != 0, err
}

// Get returns an object by its id, or NotFound.
func (tx *Tx) Get(m *Model, id string) (*Object, error) {
	if m.ReadOnly() {
		return tx.getForeign(m, id)
	}
	for range maxTries {
		topic, there, err := tx.topicOf(m, id)
		if err != nil || !there {
			return nil, cmpErr(err, m.fault(NotFound, id, "", "there is no such object"))
		}
		kv, err := tx.read(tx.nb.keys.record(topic, m, id))
		if err != nil {
			return nil, err
		}
		if kv.Revision == 0 { // it has moved between the two reads
			delete(tx.reads, kv.Key)
			delete(tx.reads, tx.nb.keys.id(m, id))
			continue
		}
		o, _, err := decodeRecord(m, place{topic: topic, id: id}, kv)
		return o, err
	}
	return nil, m.fault(BadRecord, id, "", "the key says a topic in which there is no record")
}

// getForeign is Get for a record that another part of the program writes.
func (tx *Tx) getForeign(m *Model, id string) (*Object, error) {
	kv, err := tx.read(m.foreignKey(id))
	if err != nil || kv.Revision == 0 {
		return nil, cmpErr(err, m.fault(NotFound, id, "", "there is no such object"))
	}
	return decodeForeign(m, place{id: id}, kv)
}

// Peek is Get without the comparison: another writer may change the object before the transaction is written.
func (tx *Tx) Peek(m *Model, id string) (*Object, error) {
	look := &Tx{ctx: tx.ctx, nb: tx.nb, reads: map[string]world.KV{}, ops: tx.ops}
	return look.Get(m, id)
}

// didKey names an object of did.
type didKey struct {
	m  *Model
	id string
}

// note notes a change of an object, for admit.
func (tx *Tx) note(was, now *Object) {
	o := cmp.Or(was, now)
	key := didKey{o.model, o.id}
	if i, ok := tx.didAt[key]; ok {
		before := tx.did[i].Now
		tx.undo = append(tx.undo, func() { tx.did[i].Now = before })
		tx.did[i].Now = now
		return
	}
	tx.undo = append(tx.undo, func() {
		delete(tx.didAt, key)
		tx.did = tx.did[:len(tx.did)-1]
	})
	if tx.didAt == nil {
		tx.didAt = map[didKey]int{}
	}
	tx.didAt[key] = len(tx.did)
	tx.did = append(tx.did, Altered{was, now})
}

// admit asks whether the changes of the transaction may be made.
func (tx *Tx) admit() error {
	ask := tx.nb.o.Admit
	if ask == nil || len(tx.did) == 0 || tx.ctx.Value(admittedKey{}) != nil {
		return nil
	}
	return ask(tx.ctx, tx, tx.did)
}

// cmpErr returns err, or the other error where err is nil.
func cmpErr(err error, other *Error) error {
	if err != nil {
		return err
	}
	return other
}

// Create is NB.Create as a part of the transaction.
func (tx *Tx) Create(o *Object, w Write) (*Object, error) {
	return tx.whole(func() (*Object, error) { return tx.create(o, w) })
}

func (tx *Tx) create(o *Object, w Write) (*Object, error) {
	m := o.model
	if !m.FirstClass() {
		return nil, m.fault(UnknownModel, o.id, "", "the model has no table")
	}
	if err := m.changeable(o.id); err != nil {
		return nil, err
	}
	if o.id == "" {
		return nil, errors.Join(m.missing(o.fields, "", "")...)
	}
	if _, there, err := tx.topicOf(m, o.id); err != nil || there {
		return nil, cmpErr(err, m.fault(Exists, o.id, "id", "there is an object of this id already: update it, or delete it first"))
	}
	o = o.copy()
	o.fields = o.given()
	o.revision, o.created, o.schema = 0, 0, 0
	if m.Has(Version) && o.fields["version"] == nil {
		o.fields["version"] = int64(1)
	}
	if m.Has(UniqueKey) {
		key, err := tx.allocate(m.Table())
		if err != nil {
			return nil, err
		}
		o.fields["unique_key"] = key
	}
	id := o.id
	for _, h := range m.hooks {
		var err error
		if h.CreatePre != nil {
			if o, err = h.CreatePre(tx.ctx, tx, o); err != nil {
				return nil, hookFailed(m, id, err)
			}
		}
	}
	return tx.put(nil, o, w)
}

// hookFailed keeps the hook's own error as the cause, for errors.As.
func hookFailed(m *Model, id string, err error) error {
	e := m.fault(HookFailed, id, "", "a hook stopped the change")
	e.Err = err
	return e
}

// Update is NB.Update as a part of the transaction.
func (tx *Tx) Update(part *Object, w Write) (*Object, error) {
	was, part, err := tx.expected(part, w)
	if err != nil {
		return nil, err
	}
	return tx.whole(func() (*Object, error) { return tx.change(was, part, w) })
}

// Replace is NB.Replace as a part of the transaction.
func (tx *Tx) Replace(o *Object, w Write) (*Object, error) {
	was, part, err := tx.expected(o, w)
	if err != nil {
		return nil, err
	}
	part = part.copy()
	for key := range was.fields {
		if kept := key == "topic" || key == "version" || key == "unique_key"; !kept && part.fields[key] == nil {
			part.fields[key] = nil
		}
	}
	return tx.whole(func() (*Object, error) { return tx.change(was, part, w) })
}

// expected reads the object of a part, and compares it with the version that the writer expects. The answer has no version.
func (tx *Tx) expected(part *Object, w Write) (was, rest *Object, err error) {
	m := part.model
	if err := m.changeable(part.id); err != nil {
		return nil, nil, err
	}
	if was, err = tx.Get(m, part.id); err != nil {
		return nil, nil, err
	}
	if m.Has(Version) && part.fields["version"] != nil {
		if w.IfVersion == 0 {
			w.IfVersion = part.Version()
		}
	}
	if part.Has("version") && m.Has(Version) {
		part = part.Without("version")
	}
	return was, part, was.asExpected(w)
}

// asExpected returns a Conflict where an object has another version or revision than a writer expects.
func (o *Object) asExpected(w Write) error {
	switch {
	case w.IfVersion != 0 && o.Version() != w.IfVersion:
		return o.model.fault(Conflict, o.id, "version", "the version is %d, and not %d: read the object again", o.Version(), w.IfVersion)
	case w.IfRevision != 0 && o.revision != w.IfRevision:
		return o.model.fault(Conflict, o.id, "", "the revision is %d, and not %d: read the object again", o.revision, w.IfRevision)
	}
	return nil
}

// change merges a part into an object and writes it.
func (tx *Tx) change(was, part *Object, w Write) (*Object, error) {
	o, changed := was.Merge(part)
	if len(changed) == 0 {
		return was, nil
	}
	m := o.model
	o = o.copy()
	if m.Has(Version) {
		o.fields["version"] = was.Version() + 1
	}
	for _, h := range m.hooks {
		var err error
		if h.UpdatePre != nil {
			if o, err = h.UpdatePre(tx.ctx, tx, o, was); err != nil {
				return nil, hookFailed(m, was.id, err)
			}
		}
	}
	return tx.put(was, o, w)
}

// put checks an object and adds its operations. The key with the topic is written only where the topic is new, so an
// update is one operation.
func (tx *Tx) put(was, o *Object, w Write) (*Object, error) {
	m := o.model
	if was != nil && o.id != was.id {
		return nil, m.fault(Validation, was.id, "id", "an object keeps its id; create another one instead")
	}
	clear := o
	o, err := tx.nb.seal(tx.ctx, o)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if _, err := o.Nested(); err != nil {
		return nil, err
	}
	o.origin, o.revision = tx.nb.origin(tx.ctx), 0
	text, err := o.encode(w.Quiet)
	if err != nil {
		return nil, err
	}
	keys := tx.nb.keys
	if was == nil || was.Topic() != o.Topic() {
		tx.do(world.Op{Key: keys.id(m, o.id), Value: []byte(o.Topic())})
	}
	if was != nil && was.Topic() != o.Topic() {
		tx.do(world.Op{Key: keys.record(was.Topic(), m, o.id), Delete: true})
		o.created = 0
	}
	tx.do(world.Op{Key: keys.record(o.Topic(), m, o.id), Value: text})
	tx.now = append(tx.now, o)
	tx.note(was, clear)
	return o, nil
}

// Delete is NB.Delete as a part of the transaction.
func (tx *Tx) Delete(m *Model, id string, w Write) (*Object, error) {
	return tx.whole(func() (*Object, error) { return tx.delete(m, id, w) })
}

func (tx *Tx) delete(m *Model, id string, w Write) (*Object, error) {
	if err := m.changeable(id); err != nil {
		return nil, err
	}
	was, err := tx.Get(m, id)
	var bad *Error
	if errors.As(err, &bad) && bad.unreadable() {
		was, err = tx.unread(m, id) // an unreadable record can be deleted
	}
	if CodeOf(err) == NotFound { // the hooks hear of it all the same
		absent := &Object{model: m, id: id, fields: map[string]any{"id": id}}
		return nil, cmp.Or(tx.beforeDelete(absent), err)
	}
	if err != nil {
		return nil, err
	}
	if w.Topic != "" && w.Topic != was.Topic() {
		return nil, m.fault(NotFound, id, "", "there is no such object in the topic %s", w.Topic)
	}
	if err := was.asExpected(w); err != nil {
		return nil, err
	}
	if err := tx.beforeDelete(was); err != nil {
		return nil, err
	}
	tx.note(was, nil)
	record := tx.nb.keys.record(was.Topic(), m, id)
	tx.do(world.Op{Key: record, Delete: true})
	tx.do(world.Op{Key: tx.nb.keys.id(m, id), Delete: true})
	if w.Quiet {
		mark := record + "/quiet"
		tx.do(world.Op{Key: mark, Value: []byte("1")})
		tx.marks = append(tx.marks, mark)
	}
	return was, nil
}

// beforeDelete calls the hooks of a deletion.
func (tx *Tx) beforeDelete(was *Object) error {
	for _, h := range was.model.hooks {
		if h.DeletePre == nil {
			continue
		}
		if err := h.DeletePre(tx.ctx, tx, was); err != nil {
			return hookFailed(was.model, was.id, err)
		}
	}
	return nil
}

// unread stands for an object whose record cannot be read: it has an id and a topic.
func (tx *Tx) unread(m *Model, id string) (*Object, error) {
	topic, _, err := tx.topicOf(m, id)
	if err != nil {
		return nil, err
	}
	o := &Object{model: m, id: id, fields: map[string]any{"id": id}}
	if topic != "" {
		o.fields["topic"] = topic
	}
	return o, nil
}

// allocate returns the next unique key of a table. Two creators meet at its counter: one of them runs again.
func (tx *Tx) allocate(table string) (int64, error) {
	key := tx.nb.keys.unique(table)
	kv, err := tx.read(key)
	if err != nil {
		return 0, err
	}
	last, err := strconv.ParseInt("0"+string(kv.Value), 10, 64)
	if err != nil {
		return 0, &Error{Code: BadRecord, Table: table, Message: "the counter of unique keys is no number", Err: err}
	}
	tx.do(world.Op{Key: key, Value: strconv.AppendInt(nil, last+1, 10)})
	return last + 1, nil
}

// settle is called once, before the World's Txn. It checks the transaction as a whole against the limits of the World, so that a dry run tells of them, too.
func (tx *Tx) settle() error {
	return tx.nb.world.Limits().Check(tx.compares(), tx.operations())
}

// seal encrypts the secrets of an object, or refuses them.
func (nb *NB) seal(ctx context.Context, o *Object) (*Object, error) {
	c := o
	for _, f := range o.model.fields {
		v := o.fields[f.Key]
		marked := isMarked(o.fields, f)
		if v == nil || !marked && !f.Type.Some(func(t *schema.Type) bool { return t.Secret }) {
			if err := nb.unsealed(o, f.Key, v); err != nil {
				return nil, err
			}
			continue
		}
		if marked {
			v = asSecret(v)
		}
		if index := o.model.indexOn(f.Key); marked && index != "" {
			return nil, o.model.fault(SecretRefused, o.id, f.Key, "%s cannot be a secret: the index %s finds objects by it, and would find none by a cipher text; take it out of meta.secret", f.Key, index)
		}
		sealed, err := nb.sealed(ctx, o, f.Key, v)
		if marked && err == nil {
			if sealed = asText(sealed); !f.Type.Some(isText) {
				err = o.model.fault(SecretRefused, o.id, f.Key, "%s cannot be a secret in the store: only texts can be encrypted; take it out of meta.secret, or declare the resource in a file", f.Key)
			}
		}
		if err != nil {
			return nil, err
		}
		if c == o {
			c = o.copy()
		}
		c.fields[f.Key] = sealed
	}
	return c, nil
}

// sealed encrypts the secrets in a value.
func (nb *NB) sealed(ctx context.Context, o *Object, path string, v any) (any, error) {
	switch v := v.(type) {
	case schema.Secret:
		switch {
		case v.Reveal() == "", nb.o.Sealed != nil && nb.o.Sealed(v.Reveal()):
			return v, nil
		case nb.o.Seal == nil:
			return nil, o.model.fault(SecretRefused, o.id, path, "%s is a secret, and this store cannot encrypt it: leave it out, or name a key of the readers", path)
		}
		text, err := nb.o.Seal(ctx, o.Topic(), v)
		if err != nil {
			if errors.Is(err, world.ErrUnavailable) {
				return nil, fmt.Errorf("encrypting %s: %w", path, err)
			}
			return nil, o.model.fault(SecretRefused, o.id, path, "%s is a secret, and it cannot be encrypted: %v", path, err)
		}
		return schema.NewSecret(text), nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = nb.sealed(ctx, o, path+"["+strconv.Itoa(i)+"]", item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			var err error
			if out[key], err = nb.sealed(ctx, o, strings.Join([]string{path, key}, "."), item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
