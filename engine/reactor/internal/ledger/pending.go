package ledger

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/records"
)

// The tables of the store.
const (
	TableIntent  = "intent"  // key: the source
	TableRefresh = "refresh" // key: the target, the source and a number
	TableRetry   = "retry"   // key: the vertex; how often it was tried again
)

const keySep = "\x00"

// Pending is one refresh that waits for its target to succeed. The number tells
// a refresh from a later one of the same source.
type Pending struct {
	Source string
	num    uint64
}

func (p Pending) key(target string) string {
	return target + keySep + p.Source + keySep + strconv.FormatUint(p.num, 10)
}

// due is the record of a refresh, over the record that it is not due any more.
func (p Pending) due(target string) records.Write {
	return records.Write{Table: TableRefresh, Key: p.key(target), Value: []byte{1}}
}

func (p Pending) over(target string) records.Write {
	return records.Write{Table: TableRefresh, Key: p.key(target)}
}

// parsePending reads a key.
func parsePending(key string) (target string, p Pending, ok bool) {
	parts := strings.Split(key, keySep)
	if len(parts) != 3 {
		return "", p, false
	}
	num, err := strconv.ParseUint(parts[2], 10, 64)
	return parts[0], Pending{parts[1], num}, err == nil
}

// pendings are the refreshes of one target, by source: nearly always one of each.
type pendings map[string][]uint64

// add notes a refresh.
func (p *pendings) add(r Pending) {
	if *p == nil {
		*p = pendings{}
	}
	(*p)[r.Source] = append((*p)[r.Source], r.num)
}

// remove forgets refreshes.
func (p pendings) remove(rs []Pending) {
	for _, r := range rs {
		nums := slices.DeleteFunc(p[r.Source], func(n uint64) bool { return n == r.num })
		if len(nums) == 0 {
			delete(p, r.Source)
		} else {
			p[r.Source] = nums
		}
	}
}

// from returns those of one source.
func (p pendings) from(source string) []Pending {
	var list []Pending
	for _, n := range p[source] {
		list = append(list, Pending{source, n})
	}
	return list
}

// all returns all of them, sorted.
func (p pendings) all() []Pending {
	if len(p) == 0 {
		return nil
	}
	list := make([]Pending, 0, len(p))
	for _, source := range slices.Sorted(maps.Keys(p)) {
		list = append(list, p.from(source)...)
	}
	return list
}
