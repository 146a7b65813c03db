package reactor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// tableSeen has as key the vertex and a field, and the digest of the value that the vertex has
// last acted on.
const tableSeen = "seen"

const keySep = "\x00"

// recall reads what an earlier process has left.
func (r *Reactor) recall(ctx context.Context) error {
	for _, t := range ledger.Tables() {
		if err := r.recallTable(ctx, t[0], t[1], func(rec engine.Record) { r.book.Recall(t[0], rec) }); err != nil {
			return err
		}
	}
	r.seen = map[string][]byte{}
	if err := r.recallTable(ctx, tableSeen, "the received values", func(rec engine.Record) { r.seen[rec.Key] = rec.Value }); err != nil {
		return err
	}
	if err := r.undoing.recall(ctx); err != nil {
		return err
	}
	if err := r.recallBudget(ctx); err != nil {
		return err
	}
	return r.recallPauses(ctx)
}

func (r *Reactor) recallTable(ctx context.Context, table, words string, read func(engine.Record)) error {
	for rec, err := range r.opt.Store.Records(ctx, table) {
		if err != nil {
			return fmt.Errorf("%s: %w", words, err)
		}
		read(rec)
	}
	return nil
}

// inheritLeft gives v what an earlier process has left for its name.
func (r *Reactor) inheritLeft(v *vertex) {
	v.owed = r.book.Take(v.id)
	if v.byDefault() {
		if w, changed := v.owed.SetRetries(v.id, 0); changed {
			r.recorder.NoteAll(w)
		}
	}
	for _, p := range v.owed.Pending() {
		r.because(v, Trigger{Cause: CauseRefresh, From: p.Source})
	}
}

// forgetLeft forgets what an earlier process has left of names that are not in the
// first graph: as if they had left it now.
func (r *Reactor) forgetLeft() {
	r.book.Rest(func(id string, left *ledger.Vertex) {
		r.tellDropped(id, left.Pending())
		r.recorder.NoteAll(left.Forget(id)...)
	})
	for key := range r.seen {
		if id, _, _ := strings.Cut(key, keySep); r.named(id) == nil {
			r.recorder.Note(tableSeen, key, nil)
		}
	}
}

// setRetries counts the retries of v, also for the next process.
func (r *Reactor) setRetries(v *vertex, n int32) {
	w, changed := v.owed.SetRetries(v.id, n)
	if changed && !v.byDefault() { // else the next process tries it at once
		r.recorder.NoteAll(w)
	}
}

func seenKey(id, field string) string { return id + keySep + field }

// noteSeen writes down which values v has acted on.
func (r *Reactor) noteSeen(v *vertex) {
	for i := range v.recv {
		if w := &v.recv[i]; w.have {
			r.recorder.Note(tableSeen, seenKey(v.id, w.Field), digest(w.value.v))
		}
	}
}

// wasSeen reports whether an earlier process has acted on this value of a wire.
func (v *vertex) wasSeen(w *wire) bool {
	d := v.r.seen[seenKey(v.id, w.Field)]
	return d != nil && isDigest(d, w.value.v)
}

const saltLen = 16

// digest names a value without telling it: it may be a secret.
func digest(x any) []byte {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails
	return digestWith(salt, x)
}

func digestWith(salt []byte, x any) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(appendPlain(nil, x))
	return h.Sum(bytes.Clone(salt))
}

func isDigest(d []byte, x any) bool {
	return len(d) > saltLen && bytes.Equal(d, digestWith(d[:saltLen], x))
}

// appendPlain writes a plain value so that different ones are different texts.
// fmt sorts maps by key.
func appendPlain(b []byte, x any) []byte {
	switch x := x.(type) {
	case schema.Secret:
		return fmt.Appendf(b, "%q", x.Reveal())
	case []any:
		b = append(b, '[')
		for _, e := range x {
			b = append(appendPlain(b, e), ',')
		}
		return append(b, ']')
	default:
		return fmt.Appendf(b, "%T:%#v", x, x)
	}
}
