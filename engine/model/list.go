package model

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/world"
)

// pageSize is how many records a listing holds at a time, about.
const pageSize = 1000

// listing yields the objects of a query.
type listing struct {
	nb  *NB
	ctx context.Context
	q   Query
	at  int64 // the revision

	index  Index
	wanted [][]any
	look   Lookup
	lost   error // of look
	err    error
}

// run is an iter.Seq2.
func (l *listing) run(yield func(*Object, error) bool) {
	l.look = l.nb.lookup(l.ctx, &l.lost)
	if l.index, l.wanted, l.err = l.q.Keys(l.look); l.err != nil || l.lost != nil {
		l.err = cmp.Or(l.err, l.lost)
		yield(nil, l.err)
		return
	}
	left := l.q.Limit
	for kv := range l.records() {
		p, ok := l.nb.keys.placeOf(l.q.Model, kv.Key)
		if !ok || p.quiet {
			continue
		}
		o, _, err := decodeRecord(l.q.Model, p, kv)
		if err == nil {
			hit, err := l.matches(o)
			if err != nil {
				l.err = err
				break
			}
			if !hit {
				continue
			}
		}
		if !yield(o, err) {
			return
		}
		if err != nil {
			continue // a record that cannot be read takes no other one's place
		}
		if left--; left == 0 {
			return
		}
	}
	if l.err != nil {
		yield(nil, l.err)
	}
}

// records yields the records of the table, sorted by id.
func (l *listing) records() iter.Seq[world.KV] {
	m := l.q.Model
	if !m.ReadOnly() {
		return l.merged(l.topics())
	}
	if l.q.Topics != nil && !slices.Contains(l.q.Topics, "") {
		return func(func(world.KV) bool) {}
	}
	after := ""
	if l.q.After != "" {
		after = m.foreignKey(l.q.After)
	}
	return l.pages(m.spec.Foreign.Prefix, after, pageSize)
}

// topics returns the topics in which the table has objects, and fixes the revision. It reads the keys with the topics,
// which are small, and not the records.
func (l *listing) topics() (topics []string) {
	if l.q.Topics != nil {
		if page, ok := l.page(l.nb.keys.ids(l.q.Model), "", 1); ok {
			l.at = page.Revision
		}
		return slices.Compact(slices.Sorted(slices.Values(l.q.Topics)))
	}
	seen := map[string]bool{}
	for kv := range l.pages(l.nb.keys.ids(l.q.Model), "", pageSize) {
		if topic := string(kv.Value); !seen[topic] {
			seen[topic] = true
			topics = append(topics, topic)
		}
	}
	return topics
}

// merged yields the records of some topics, sorted by id.
func (l *listing) merged(topics []string) iter.Seq[world.KV] {
	size := max(16, pageSize/max(1, len(topics)))
	source := func(topic string) iter.Seq[world.KV] {
		prefix, after := l.nb.keys.table(topic, l.q.Model), ""
		if l.q.After != "" {
			after = prefix + url.PathEscape(l.q.After)
		}
		return l.pages(prefix, after, size)
	}
	if len(topics) == 1 {
		return source(topics[0])
	}
	return func(yield func(world.KV) bool) {
		heads := make([]*head, 0, len(topics))
		for _, topic := range topics {
			next, stop := iter.Pull(source(topic))
			defer stop()
			heads = advance(heads, &head{next: next, cut: len(l.nb.keys.table(topic, l.q.Model))})
		}
		for len(heads) > 0 {
			first := heads[0]
			if !yield(first.kv) {
				return
			}
			heads = advance(heads[1:], first)
		}
	}
}

// head is the next record of one topic.
type head struct {
	kv   world.KV
	next func() (world.KV, bool)
	cut  int // of the key, where the id begins
}

func (h *head) id() string { return h.kv.Key[h.cut:] }

// advance reads on in h, and puts it to its place among others.
func advance(heads []*head, h *head) []*head {
	var ok bool
	if h.kv, ok = h.next(); !ok {
		return heads
	}
	i, _ := slices.BinarySearchFunc(heads, h.id(), func(x *head, id string) int { return strings.Compare(x.id(), id) })
	return slices.Insert(heads, i, h)
}

// pages yields the keys below a prefix at the revision of the listing.
func (l *listing) pages(prefix, after string, size int) iter.Seq[world.KV] {
	return func(yield func(world.KV) bool) {
		for l.err == nil {
			page, ok := l.page(prefix, after, size)
			if !ok {
				return
			}
			for _, kv := range page.KVs {
				if !yield(kv) {
					return
				}
				after = kv.Key
			}
			if !page.More {
				return
			}
		}
	}
}

// page reads one page; the first one fixes the revision of all.
func (l *listing) page(prefix, after string, size int) (world.Page, bool) {
	page, err := l.nb.world.List(l.ctx, prefix, world.ListOptions{At: l.at, Limit: size, After: after})
	if err != nil {
		l.err = err
		return page, false
	}
	l.at = page.Revision
	return page, true
}

// matches reports whether an object has a wanted key. The NB has no index: it looks at each object of the table, in the
// wanted topics. A Store answers such questions faster. An error says that the store could not be asked: an answer needs
// that. An object with too many keys is not found, as in a Store.
func (l *listing) matches(o *Object) (bool, error) {
	if l.wanted == nil {
		return true, nil
	}
	keys, err := o.Keys(l.index, l.look)
	if err != nil || l.lost != nil {
		return false, l.lost
	}
	for _, key := range keys {
		if slices.ContainsFunc(l.wanted, func(w []any) bool { return Matches(w, key) }) {
			return true, nil
		}
	}
	return false, nil
}

// lookup follows references in the database. A target that is absent, or that cannot be read, is nil. Where the store
// cannot be asked, lost has the error.
func (nb *NB) lookup(ctx context.Context, lost *error) Lookup {
	return func(target, id string) *Object {
		m, err := nb.reg.Model(target)
		if err != nil {
			return nil
		}
		o, err := nb.Get(ctx, m, id)
		if err != nil && CodeOf(err) == "" {
			*lost = err
		}
		if err != nil {
			return nil
		}
		return o
	}
}

// eachHost asks for each host that has written statuses.
func (nb *NB) eachHost(ctx context.Context, ask func(host string) ([]byte, error)) (map[string][]byte, error) {
	out, after := map[string][]byte{}, ""
	for {
		page, err := nb.world.List(ctx, nb.keys.statuses(), world.ListOptions{Limit: 1, After: after})
		if err != nil || len(page.KVs) == 0 {
			return out, err
		}
		escaped, _, _ := strings.Cut(strings.TrimPrefix(page.KVs[0].Key, nb.keys.statuses()), "/")
		after = nb.keys.statuses() + escaped + "/\xff"
		host, err := url.PathUnescape(escaped)
		if err != nil {
			continue
		}
		status, err := ask(host)
		if err != nil {
			return nil, err
		}
		if status != nil {
			out[host] = status
		}
	}
}
