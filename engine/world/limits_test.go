package world_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/world"
)

// few are limits that a test reaches with little.
var few = world.Limits{Ops: 3, Bytes: 20, Key: 6}

// compares makes comparisons of these keys.
func compares(keys ...string) (list []world.Compare) {
	for _, key := range keys {
		list = append(list, world.Compare{Key: key})
	}
	return list
}

// puts makes operations of pairs of a key and a value.
func puts(pairs ...string) (list []world.Op) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, world.Op{Key: pair[0], Value: []byte(pair[1])})
	}
	return list
}

// TestLimitsOfATransaction: the last allowed transaction passes, and the first one above it is refused, with the number and the way to
// go on.
func TestLimitsOfATransaction(t *testing.T) {
	for name, c := range map[string]struct {
		compares []world.Compare
		ops      []world.Op
		want     string // in the error; empty for none
	}{
		"nothing":            {nil, nil, ""},
		"most operations":    {nil, puts("a", "", "b", "", "c", ""), ""},
		"one operation more": {nil, puts("a", "", "b", "", "c", "", "d", ""), "4 operations in one transaction, and at most 3 are allowed: make it several"},
		"most comparisons":   {compares("a", "a", "a"), nil, ""},
		"one more":           {compares("a", "a", "a", "a"), nil, "4 comparisons in one transaction"},
		"most bytes":         {compares("abcdef"), puts("abcdef", "01234567"), ""},
		"one byte more":      {compares("abcdef"), puts("abcdef", "012345678"), "21 bytes in one transaction, and at most 20 are allowed"},
		"longest key":        {compares("abcdef"), puts("abcdef", ""), ""},
		"long key":           {nil, puts("abcdefg", ""), `the key "abcdefg..." has 7 bytes, and at most 6 are allowed: choose a shorter key`},
		"long compared key":  {compares("abcdefg"), nil, "choose a shorter key"},
		"no key":             {nil, puts("", "v"), "an operation or a comparison has no key"},
		"no compared key":    {compares(""), nil, "has no key"},
		"a key twice":        {nil, puts("a", "1", "a", "2"), `key "a" is altered twice in one transaction`},
		"put and deleted":    {nil, append(puts("a", "1"), world.Op{Key: "a", Delete: true}), "altered twice"},
		"compared and put":   {compares("a"), puts("a", "1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := few.Check(c.compares, c.ops)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, world.ErrRefused) || errors.Is(err, world.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q of the class ErrRefused", err, c.want)
			}
		})
	}
}

// TestLongKeyIsNotRepeated: the error about a key that is too long shows its beginning alone.
func TestLongKeyIsNotRepeated(t *testing.T) {
	err := world.DefaultLimits().Check(nil, puts(strings.Repeat("k", 1<<20), ""))
	limit, ok := errors.AsType[*world.LimitError](err)
	if !ok || limit.Have != 1<<20 || limit.Most != world.DefaultLimits().Key || len(err.Error()) > 200 {
		t.Errorf("got %.300v", err)
	}
}

// TestDefaultLimitsHold: the limits allow what the kinds and the exports of mgmt write, and stay below etcd's 1.5 MiB for a request.
func TestDefaultLimitsHold(t *testing.T) {
	l := world.DefaultLimits()
	const request = 3 << 19 // of etcd, as it is installed
	if l.Ops != 128 || l.Bytes >= request || l.Bytes < 1<<20 || l.Key < 1<<10 {
		t.Errorf("the limits are %+v", l)
	}
	if err := l.Check(nil, puts("k", strings.Repeat("v", l.Bytes-1))); err != nil {
		t.Error(err)
	}
}

// TestLimitsAgreeWithCounting: a transaction passes exactly where a count of each thing is within its limit.
func TestLimitsAgreeWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[ab]{0,8}`)
		asked := compares(rapid.SliceOfN(key, 0, 5).Draw(t, "compares")...)
		var ops []world.Op
		for _, k := range rapid.SliceOfN(key, 0, 5).Draw(t, "ops") {
			ops = append(ops, world.Op{Key: k, Value: make([]byte, rapid.IntRange(0, 8).Draw(t, "value"))})
		}
		size, fits := 0, len(asked) <= few.Ops && len(ops) <= few.Ops
		for _, c := range asked {
			size += len(c.Key)
			fits = fits && c.Key != "" && len(c.Key) <= few.Key
		}
		seen := map[string]bool{}
		for _, op := range ops {
			size += len(op.Key) + len(op.Value)
			fits = fits && op.Key != "" && len(op.Key) <= few.Key && !seen[op.Key]
			seen[op.Key] = true
		}
		fits = fits && size <= few.Bytes
		if err := few.Check(asked, ops); (err == nil) != fits {
			t.Errorf("%v, %v: it fits is %t, and the answer %v", asked, ops, fits, err)
		}
	})
}
