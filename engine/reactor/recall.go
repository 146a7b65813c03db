package reactor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// The tables of the store, but for those of refresh.go and brakes.go.
const (
	tableRetry = "retry" // key: the vertex; how often it was tried again
	tableSeen  = "seen"  // key: the vertex and a field; digest of the value that it has last acted on
)

// leftovers are what an earlier process has left, by vertex. They are used up by
// the first vertex of the name.
type leftovers struct {
	pending map[string]pendings
	intent  map[string]bool
	retries map[string]int32
	seen    map[string][]byte // by seenKey; not altered once it was read
}

// recall reads what an earlier process has left.
func (r *Reactor) recall(ctx context.Context) error {
	r.left = leftovers{map[string]pendings{}, map[string]bool{}, map[string]int32{}, map[string][]byte{}}
	for _, t := range []struct {
		table, what string
		read        func(engine.Record)
	}{
		{tableRefresh, "the pending refreshes", r.recallRefresh},
		{tableIntent, "the intents", func(rec engine.Record) { r.left.intent[rec.Key] = true }},
		{tableSeen, "the received values", func(rec engine.Record) { r.left.seen[rec.Key] = rec.Value }},
		{tableRetry, "the retries", func(rec engine.Record) {
			if n, err := strconv.ParseInt(string(rec.Value), 10, 32); err == nil {
				r.left.retries[rec.Key] = int32(n)
			}
		}},
	} {
		for rec, err := range r.opt.Store.Records(ctx, t.table) {
			if err != nil {
				return fmt.Errorf("%s: %w", t.what, err)
			}
			t.read(rec)
		}
	}
	if err := r.undoing.recall(ctx); err != nil {
		return err
	}
	if err := r.recallBudget(ctx); err != nil {
		return err
	}
	return r.recallPauses(ctx)
}

func (r *Reactor) recallRefresh(rec engine.Record) {
	parts := strings.Split(rec.Key, keySep)
	if len(parts) != 3 {
		return
	}
	num, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return
	}
	p := r.left.pending[parts[0]]
	p.add(pending{parts[1], num})
	r.left.pending[parts[0]] = p
	r.numbers.Store(max(r.numbers.Load(), num))
}

// inheritLeft gives v what an earlier process has left for its name.
func (r *Reactor) inheritLeft(v *vertex) {
	l := &r.left
	v.pending, v.intent, v.retries = l.pending[v.id], l.intent[v.id], l.retries[v.id]
	delete(l.pending, v.id)
	delete(l.intent, v.id)
	delete(l.retries, v.id)
	if v.byDefault() && v.retries > 0 {
		v.retries = 0
		r.scribe.note(tableRetry, v.id, nil)
	}
	for _, p := range v.pending.all() {
		r.because(v, Trigger{Cause: CauseRefresh, From: p.source})
	}
}

// forgetLeft forgets what an earlier process has left of names that are not in the
// first graph: as if they had left it now.
func (r *Reactor) forgetLeft() {
	l := &r.left
	for id, ps := range l.pending {
		r.tellDropped(id, ps.all())
		for _, p := range ps.all() {
			r.scribe.note(tableRefresh, p.key(id), nil)
		}
	}
	for id := range l.intent {
		r.scribe.note(tableIntent, id, nil)
	}
	for id := range l.retries {
		r.scribe.note(tableRetry, id, nil)
	}
	for key := range l.seen {
		if id, _, _ := strings.Cut(key, keySep); r.named(id) == nil {
			r.scribe.note(tableSeen, key, nil)
		}
	}
	l.pending, l.intent, l.retries = nil, nil, nil
}

// setRetries counts the retries of v, also for the next process.
func (r *Reactor) setRetries(v *vertex, n int32) {
	if n == v.retries {
		return
	}
	v.retries = n
	if v.byDefault() {
		return // the next process tries it at once
	}
	var text []byte
	if n > 0 {
		text = strconv.AppendInt(nil, int64(n), 10)
	}
	r.scribe.note(tableRetry, v.id, text)
}

func seenKey(id, field string) string { return id + keySep + field }

// noteSeen writes down which values v has acted on.
func (r *Reactor) noteSeen(v *vertex) {
	for i := range v.recv {
		if w := &v.recv[i]; w.have {
			r.scribe.note(tableSeen, seenKey(v.id, w.Field), digest(w.value.v))
		}
	}
}

// wasSeen reports whether an earlier process has acted on this value of a wire.
func (v *vertex) wasSeen(w *wire) bool {
	d := v.r.left.seen[seenKey(v.id, w.Field)]
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
