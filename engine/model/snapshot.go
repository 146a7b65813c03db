package model

import (
	"context"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Snapshot reads all wanted objects at one revision. Watch from that revision on yields every later change. Each Change
// is a Create; one with an Err is of a record that cannot be read.
func (nb *NB) Snapshot(ctx context.Context, in Interest) (revision int64, all []Change, err error) {
	l := &listing{nb: nb, ctx: ctx}
	prefixes := nb.prefixes(in)
	if in.Topics != nil {
		prefixes = nb.topicPrefixes(in)
	}
	for _, prefix := range prefixes {
		for kv := range l.pages(prefix, "", pageSize) {
			kv.Created = kv.Revision // for a reader that begins here, it is new
			all = append(all, nb.batch(in, world.Batch{Updates: []world.Update{{KV: kv}}}).Changes...)
		}
	}
	return l.at, all, l.err
}

// StatusesOf reads all statuses that a host has written. Those of tables that the registry does not have are left out. Each page is of
// the newest revision: a store that forgets its history soon, as that in memory, could not serve one revision while others write.
func (nb *NB) StatusesOf(ctx context.Context, host string) (all []StatusOf, err error) {
	l := &listing{nb: nb, ctx: ctx}
	prefix := nb.keys.statuses() + url.PathEscape(host) + "/"
	for kv := range l.pages(prefix, "", pageSize) {
		l.at = 0
		table, escaped, _ := strings.Cut(strings.TrimPrefix(kv.Key, prefix), "/")
		m, err := nb.reg.Model(table)
		id, bad := url.PathUnescape(escaped)
		if err == nil && bad == nil {
			all = append(all, StatusOf{Model: m, ID: id, JSON: kv.Value})
		}
	}
	return all, l.err
}
