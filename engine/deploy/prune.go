package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Prune deletes the oldest deploys of a topic, with the files that no other deploy of the topic has. It keeps the newest ones, at
// least one, and besides them each deploy that the rollout, its base, or a host names. It returns the deleted numbers. The error is
// of ErrBusy while a rollout is under way, or where an operator began one meanwhile; then a part may be deleted.
//
// Law: each transaction writes the rollout anew. An operator who has seen a part in the store, and relies on it, thus has to begin again.
func (s Store) Prune(ctx context.Context, topic string, keep int) (numbers []int64, err error) {
	now, revision, err := s.rollout(ctx, topic)
	if err != nil {
		return nil, err
	}
	if now.Number == 0 {
		return nil, nil
	}
	if now.State == Running {
		return nil, fmt.Errorf("%w: number %d by %s; prune when it is done", ErrBusy, now.Number, now.By)
	}
	keys, numbers, err := s.old(ctx, topic, now, max(keep, 1))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	for size := max(1, s.World.Limits().Ops-1); len(keys) > 0; {
		some := keys[:min(size, len(keys))]
		ops := []world.Op{{Key: RolloutKey(topic), Value: text}}
		for _, key := range some {
			ops = append(ops, world.Op{Key: key, Delete: true})
		}
		at, ok, err := s.World.Txn(ctx, []world.Compare{{Key: RolloutKey(topic), Revision: revision}}, ops)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%w: it has begun meanwhile", ErrBusy)
		}
		keys, revision = keys[len(some):], at
	}
	return numbers, nil
}

// old returns the keys of the deploys that Prune deletes, records first: a record without its files would be refused by hosts.
func (s Store) old(ctx context.Context, topic string, now Rollout, keep int) (keys []string, numbers []int64, err error) {
	list, err := s.History(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	reports, err := s.Reports(ctx)
	if err != nil {
		return nil, nil, err
	}
	named := map[int64]bool{now.Number: true, now.Base: true}
	for _, r := range reports {
		named[r.Deploys[topic].Number] = true
	}
	used := map[string]bool{}
	for i, d := range list {
		if i >= len(list)-keep || named[d.Number] {
			used[url.PathEscape(d.Digest)] = true
			continue
		}
		keys, numbers = append(keys, recordKey(topic, d.Number)), append(numbers, d.Number)
	}
	if len(keys) == 0 {
		return nil, nil, nil
	}
	prefix := tableContents + url.PathEscape(topic) + "/"
	parts, err := s.list(ctx, prefix)
	for _, kv := range parts {
		if digest, _, _ := strings.Cut(strings.TrimPrefix(kv.Key, prefix), "/"); !used[digest] {
			keys = append(keys, kv.Key)
		}
	}
	return keys, numbers, err
}
