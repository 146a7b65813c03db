package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// NB is the northbound API: objects in a World. All methods may be called from many goroutines, and block as the World
// does. NB owns neither the World nor the Registry, and keeps nothing in memory.
type NB struct {
	world world.World
	reg   *Registry
	keys  layout
	o     Options
}

// Options are how an NB works. The zero value is good.
type Options struct {
	Prefix string // stands before every key, such as "mgmt/"
	Origin string // the name of the writer, for the records; WithOrigin names another one
	// Seal encrypts a secret to those who read a topic. Without it, an object with a secret in clear is refused.
	Seal func(ctx context.Context, topic string, clear schema.Secret) (string, error)
	// Sealed reports whether a secret's text is encrypted already.
	Sealed func(text string) bool
	// Admit is asked once about each transaction, with all its changes, after its hooks and before it is written. Its error refuses
	// all of them. It may run again where the transaction does. It reads by Tx.Peek, so that its reads are not compared.
	Admit func(ctx context.Context, tx *Tx, changes []Altered) error
	Log   *slog.Logger // records that cannot be read; nil is silent
}

// Try is DryRun without the World's Limits, for changes that Many makes.
func (nb *NB) Try(ctx context.Context, f func(tx *Tx) error) error {
	tx := newTx(ctx, nb)
	if err := f(tx); err != nil {
		return err
	}
	return tx.admit()
}

// Altered is an object before and after a transaction, nil where it is absent. Now has the secrets that the writer has given in
// clear, so that they can be judged; those that were stored before are encrypted.
type Altered struct{ Was, Now *Object }

// Write says how a change is made. The zero value is good.
type Write struct {
	DryRun     bool   // all checks, and no write: the answer is the object as it would be, of revision 0
	Quiet      bool   // Watch marks the change, so that no event follows
	IfVersion  int64  // the version that the object must have; 0 for any. A set field version means the same
	IfRevision int64  // the revision that the object must have; 0 for any
	Topic      string // with Delete: the topic that the object must have; empty for any
}

type originKey struct{}

// WithOrigin returns a context whose writes have this origin, in the place of Options.Origin. A server that writes for its clients
// names the client so.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// origin returns the name of the writer for a record.
func (nb *NB) origin(ctx context.Context) string {
	if origin, ok := ctx.Value(originKey{}).(string); ok {
		return origin
	}
	return nb.o.Origin
}

// Open returns the API over a World.
func Open(w world.World, r *Registry, o Options) *NB {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &NB{world: w, reg: r, keys: layout(o.Prefix), o: o}
}

// Over returns the same API over another World, such as one that remembers what it has read.
func (nb *NB) Over(w world.World) *NB {
	other := *nb
	other.world = w
	return &other
}

// Guarded returns the same API for writers who may do less: a transaction needs the leave of also, and then that of Options.Admit.
func (nb *NB) Guarded(also func(ctx context.Context, tx *Tx, changes []Altered) error) *NB {
	other, own := *nb, nb.o.Admit
	other.o.Admit = func(ctx context.Context, tx *Tx, changes []Altered) error {
		if err := also(ctx, tx, changes); err != nil || own == nil {
			return err
		}
		return own(ctx, tx, changes)
	}
	return &other
}

// Registry returns the registry.
func (nb *NB) Registry() *Registry { return nb.reg }

// World returns the World.
func (nb *NB) World() world.World { return nb.world }

// Create writes a new object and returns it with its revision. An id that is taken is an Exists. Hooks may fill fields
// before the required ones are asked for.
func (nb *NB) Create(ctx context.Context, o *Object, w Write) (made *Object, err error) {
	_, err = nb.txn(ctx, w.DryRun, func(tx *Tx) error {
		made, err = tx.Create(o, w)
		return err
	})
	return nb.answer(made, err)
}

// Update merges the set fields of part into the object of its id: null clears a field. Where nothing changes, nothing
// is called and written. A set version is the expected one: another one is a Conflict, and so is Write.IfRevision.
func (nb *NB) Update(ctx context.Context, part *Object, w Write) (now *Object, err error) {
	_, err = nb.txn(ctx, w.DryRun, func(tx *Tx) error {
		now, err = tx.Update(part, w)
		return err
	})
	return nb.answer(now, err)
}

// Replace is Update with a whole object: fields that are not set are cleared, but for topic, version and unique_key.
func (nb *NB) Replace(ctx context.Context, o *Object, w Write) (now *Object, err error) {
	_, err = nb.txn(ctx, w.DryRun, func(tx *Tx) error {
		now, err = tx.Replace(o, w)
		return err
	})
	return nb.answer(now, err)
}

// Delete removes an object and returns it as it was, or NotFound.
func (nb *NB) Delete(ctx context.Context, m *Model, id string, w Write) (was *Object, err error) {
	_, err = nb.txn(ctx, w.DryRun, func(tx *Tx) error {
		was, err = tx.Delete(m, id, w)
		return err
	})
	return nb.answer(was, err)
}

// Call applies an operation to a stored object and writes the result. Writers that come together all take effect.
func (nb *NB) Call(ctx context.Context, m *Model, id, operation string, args map[string]any, w Write) (now *Object, err error) {
	_, err = nb.txn(ctx, w.DryRun, func(tx *Tx) error {
		was, err := tx.Get(m, id)
		if err != nil {
			return err
		}
		next, err := was.Do(operation, args)
		if err != nil {
			return err
		}
		if was.Has("version") {
			next = next.Without("version")
		}
		now, err = tx.Replace(next, w)
		return err
	})
	return nb.answer(now, err)
}

// Txn runs f, and then does all that f has asked tx for in one transaction of the World, or nothing. It returns the
// revision. f runs again where another writer was faster, so it alters nothing else. The World's Limits bound it: a
// create or a move is two operations, any other change one.
func (nb *NB) Txn(ctx context.Context, f func(tx *Tx) error) (revision int64, err error) {
	return nb.txn(ctx, false, f)
}

// DryRun is Txn without the write.
func (nb *NB) DryRun(ctx context.Context, f func(tx *Tx) error) error {
	_, err := nb.txn(ctx, true, f)
	return err
}

func (nb *NB) answer(o *Object, err error) (*Object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}

// maxTries bounds how often a transaction is tried against other writers.
const maxTries = 1000

// Many makes n changes at once where that fits the World's Limits, and else in several transactions, one after the other. All
// changes are tried and admitted together before the first is written, so only the store itself, or another writer, can stop it
// half-way. It returns how many changes are made, in how many transactions, and the last revision. each is called with the number of
// a change, and again where another writer was faster.
func (nb *NB) Many(ctx context.Context, n int, each func(tx *Tx, i int) error) (done, txns int, revision int64, err error) {
	some := func(from, to int) func(tx *Tx) error {
		return func(tx *Tx) error { return Each(from, to, func(i int) error { return each(tx, i) }) }
	}
	tx := newTx(ctx, nb)
	if err := some(0, n)(tx); err != nil {
		return 0, 0, 0, err
	}
	size := n
	if _, tooMuch := errors.AsType[*world.LimitError](tx.settle()); tooMuch {
		if err := tx.admit(); err != nil {
			return 0, 0, 0, err
		}
		ctx = context.WithValue(ctx, admittedKey{}, true)
		size = max(1, nb.world.Limits().Ops/2) // a new object is two operations
	}
	for done < n {
		to := min(n, done+size)
		revision, err = nb.txn(ctx, false, some(done, to))
		if _, tooMuch := errors.AsType[*world.LimitError](err); tooMuch && to-done > 1 {
			size = (to - done) / 2
			continue
		}
		if err != nil {
			return done, txns, revision, err
		}
		done, txns = to, txns+1
	}
	return done, txns, revision, nil
}

// Each does something for each number below to, and joins the faults. An error of the store ends it, and is the answer alone: the
// faults that were found by then are not all.
func Each(from, to int, do func(i int) error) error {
	var errs []error
	for i := from; i < to; i++ {
		err := do(i)
		if lost(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// lost reports whether an error says that the store, or the caller, is away.
func lost(err error) bool {
	return errors.Is(err, world.ErrUnavailable) || errors.Is(err, world.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// admittedKey marks the context of transactions whose changes were admitted together.
type admittedKey struct{}

// txn tries f until no other writer was faster.
func (nb *NB) txn(ctx context.Context, dry bool, f func(tx *Tx) error) (int64, error) {
	for range maxTries {
		tx := newTx(ctx, nb)
		if err := f(tx); err != nil {
			return 0, err
		}
		if err := tx.settle(); err != nil {
			return 0, err
		}
		if err := tx.admit(); err != nil {
			return 0, err
		}
		if dry || len(tx.ops) == 0 {
			return 0, nil
		}
		revision, ok, err := nb.world.Txn(ctx, tx.compares(), tx.operations())
		if err != nil {
			return 0, err
		}
		if ok {
			tx.stamp(revision)
			return revision, nb.tidy(ctx, tx)
		}
	}
	return 0, &Error{Code: Conflict, Message: fmt.Sprintf("other writers were faster %d times: try again", maxTries)}
}

// tidy removes the marks of quiet deletions.
func (nb *NB) tidy(ctx context.Context, tx *Tx) error {
	if len(tx.marks) == 0 {
		return nil
	}
	ops := make([]world.Op, len(tx.marks))
	for i, key := range tx.marks {
		ops[i] = world.Op{Key: key, Delete: true}
	}
	_, _, err := nb.world.Txn(ctx, nil, ops)
	return err
}

// Get returns an object by its id, or NotFound. It is never older than any write that was acknowledged before.
func (nb *NB) Get(ctx context.Context, m *Model, id string) (*Object, error) {
	return newTx(ctx, nb).Get(m, id)
}

// One returns the only object that a query finds, or NotFound. Several are a Multiple.
func (nb *NB) One(ctx context.Context, q Query) (*Object, error) {
	q.Limit = 2
	list, err := nb.List(ctx, q)
	return onlyOne(q, list, err)
}

// onlyOne returns the only object of a list.
func onlyOne(q Query, list []*Object, err error) (*Object, error) {
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, q.Model.fault(NotFound, "", "", "there is no such object")
	case len(list) > 1:
		return nil, q.Model.fault(Multiple, "", "", "there is more than one such object: %s and %s are two", list[0].id, list[1].id)
	}
	return list[0], nil
}

// First returns the object of the smallest id that a query finds, or NotFound.
func (nb *NB) First(ctx context.Context, q Query) (*Object, error) {
	q.Limit = 1
	list, err := nb.List(ctx, q)
	return onlyOne(q, list, err)
}

// List returns the objects of a query at one revision, in the order of All, after the hooks ListPost. Records that
// cannot be read are left out and logged; All yields them.
func (nb *NB) List(ctx context.Context, q Query) (list []*Object, err error) {
	for o, err := range nb.All(ctx, q) {
		var bad *Error
		switch {
		case err == nil:
			list = append(list, o)
		case errors.As(err, &bad) && bad.unreadable():
			nb.o.Log.WarnContext(ctx, "An object cannot be read, and is left out", "table", bad.Table, "id", bad.ID, "error", err)
		default:
			return nil, err
		}
	}
	return q.Model.listPost(ctx, list)
}

// unreadable reports whether the Error is about one record.
func (e *Error) unreadable() bool {
	return e.Code == BadRecord || e.Code == SchemaTooNew || e.Code == MigrationFail
}

// listPost calls the hooks of a list, the bases' first.
func (m *Model) listPost(ctx context.Context, list []*Object) (_ []*Object, err error) {
	for _, h := range m.hooks {
		if h.ListPost != nil {
			if list, err = h.ListPost(ctx, list); err != nil {
				return nil, m.fault(HookFailed, "", "", "the hook of the list: %v", err)
			}
		}
	}
	return list, nil
}

// All yields the objects of a query at one revision, sorted by their escaped ids, page by page. It yields an Error for
// each record that cannot be read, and goes on. Any other error is the last.
func (nb *NB) All(ctx context.Context, q Query) iter.Seq2[*Object, error] {
	_, all := nb.AllAt(ctx, q)
	return all
}

// AllAt is All with the revision, which is known when the first object is yielded, or when the list has ended.
func (nb *NB) AllAt(ctx context.Context, q Query) (revision func() int64, all iter.Seq2[*Object, error]) {
	l := &listing{nb: nb, ctx: ctx, q: q, at: q.At}
	return func() int64 { return l.at }, l.run
}

// Status returns the status of an object that a host has written, or nil.
func (nb *NB) Status(ctx context.Context, host string, m *Model, id string) ([]byte, error) {
	kv, err := nb.world.Get(ctx, nb.keys.status(host, m, id))
	if errors.Is(err, world.ErrNotFound) {
		return nil, nil
	}
	return kv.Value, err
}

// Statuses returns the statuses of an object by host.
func (nb *NB) Statuses(ctx context.Context, m *Model, id string) (map[string][]byte, error) {
	return nb.eachHost(ctx, func(host string) ([]byte, error) { return nb.Status(ctx, host, m, id) })
}

// PutStatus writes statuses of a host: JSON for each object, nil to remove one. It wakes no Watch. A status that is too large for the
// World is left out and logged, and the others are written. After an error some may be written.
func (nb *NB) PutStatus(ctx context.Context, host string, all ...StatusOf) error {
	for chunk := range slices.Chunk(all, max(1, nb.world.Limits().Ops)) {
		if err := nb.putStatuses(ctx, host, chunk); err != nil {
			return err
		}
	}
	return nil
}

// DropStatuses deletes all statuses of a host that has left, also those of tables that the registry does not have, and returns how many there
// were. After an error some may be deleted.
func (nb *NB) DropStatuses(ctx context.Context, host string) (dropped int, err error) {
	prefix := nb.keys.statuses() + url.PathEscape(host) + "/"
	for {
		page, err := nb.world.List(ctx, prefix, world.ListOptions{Limit: max(1, nb.world.Limits().Ops)})
		if err != nil || len(page.KVs) == 0 {
			return dropped, err
		}
		ops := make([]world.Op, len(page.KVs))
		for i, kv := range page.KVs {
			ops[i] = world.Op{Key: kv.Key, Delete: true}
		}
		if _, _, err := nb.world.Txn(ctx, nil, ops); err != nil {
			return dropped, err
		}
		dropped += len(ops)
	}
}

// putStatuses writes one transaction, or two halves where that is too large.
func (nb *NB) putStatuses(ctx context.Context, host string, chunk []StatusOf) error {
	ops := make([]world.Op, len(chunk))
	for i, s := range chunk {
		ops[i] = world.Op{Key: nb.keys.status(host, s.Model, s.ID), Value: s.JSON, Delete: s.JSON == nil}
	}
	_, _, err := nb.world.Txn(ctx, nil, ops)
	if _, tooMuch := errors.AsType[*world.LimitError](err); !tooMuch {
		return err
	}
	if len(chunk) == 1 {
		nb.o.Log.WarnContext(ctx, "a status is too large for the store, and is left out",
			"table", chunk[0].Model.Table(), "id", chunk[0].ID, "bytes", len(chunk[0].JSON), "error", err)
		return nil
	}
	half := len(chunk) / 2
	if err := nb.putStatuses(ctx, host, chunk[:half]); err != nil {
		return err
	}
	return nb.putStatuses(ctx, host, chunk[half:])
}

// StatusOf is a status for PutStatus.
type StatusOf struct {
	Model *Model
	ID    string
	JSON  []byte
}

// Allocate returns a number that the table has not had. Concurrent callers get distinct ones.
func (nb *NB) Allocate(ctx context.Context, table string) (key int64, err error) {
	_, err = nb.txn(ctx, false, func(tx *Tx) error {
		key, err = tx.allocate(table)
		return err
	})
	return key, err
}

// RecordSchema returns the version of the table's records that the last Migrate has left; 0 before the first.
func (nb *NB) RecordSchema(ctx context.Context, m *Model) (int, error) {
	kv, err := nb.world.Get(ctx, nb.keys.schema(m))
	if errors.Is(err, world.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(kv.Value))
}
