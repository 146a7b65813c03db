package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// few are limits that a test reaches with little.
var few = engine.Limits{Ops: 3, Bytes: 20, Key: 6}

// compares makes comparisons of these keys.
func compares(keys ...string) (list []engine.Compare) {
	for _, key := range keys {
		list = append(list, engine.Compare{Key: key})
	}
	return list
}

// puts makes operations of pairs of a key and a value.
func puts(pairs ...string) (list []engine.Op) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, engine.Op{Key: pair[0], Value: []byte(pair[1])})
	}
	return list
}

// TestLimitsOfATransaction: the last allowed transaction passes, and the first one above it is refused, with the number and the way to
// go on.
func TestLimitsOfATransaction(t *testing.T) {
	for name, c := range map[string]struct {
		compares []engine.Compare
		ops      []engine.Op
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
		"put and deleted":    {nil, append(puts("a", "1"), engine.Op{Key: "a", Delete: true}), "altered twice"},
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
			if !errors.Is(err, engine.ErrRefused) || errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q of the class ErrRefused", err, c.want)
			}
		})
	}
}

// TestLongKeyIsNotRepeated: the error about a key that is too long shows its beginning alone.
func TestLongKeyIsNotRepeated(t *testing.T) {
	err := engine.DefaultLimits().Check(nil, puts(strings.Repeat("k", 1<<20), ""))
	limit, ok := errors.AsType[*engine.LimitError](err)
	if !ok || limit.Have != 1<<20 || limit.Most != engine.DefaultLimits().Key || len(err.Error()) > 200 {
		t.Errorf("got %.300v", err)
	}
}

// TestDefaultLimitsHold: the limits allow what the kinds and the exports of mgmt write, and stay below etcd's 1.5 MiB for a request.
func TestDefaultLimitsHold(t *testing.T) {
	l := engine.DefaultLimits()
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
		var ops []engine.Op
		for _, k := range rapid.SliceOfN(key, 0, 5).Draw(t, "ops") {
			ops = append(ops, engine.Op{Key: k, Value: make([]byte, rapid.IntRange(0, 8).Draw(t, "value"))})
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

// TestSleepByAClock: Sleep ends with its time by the clock, or with the cause of its context, and leaves no timer.
func TestSleepByAClock(t *testing.T) {
	c := enginetest.NewClock()
	slept := make(chan error, 1)
	go func() { slept <- clock.Sleep(t.Context(), c, time.Minute) }()
	for done := false; !done; { // the timer may not be there yet
		c.Advance(time.Minute)
		select {
		case err := <-slept:
			if done = true; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	why := errors.New("told to end")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := clock.Sleep(ctx, c, time.Minute); !errors.Is(err, why) {
		t.Errorf("after the end of its context it returns %v", err)
	}
}

// TestSinceByAClock: the time that has passed is that of the clock, and never that of the machine beside it.
func TestSinceByAClock(t *testing.T) {
	c := enginetest.NewClock()
	begin := c.Now()
	c.Advance(90 * time.Second)
	if d := clock.Since(c, begin); d != 90*time.Second {
		t.Errorf("%s have passed by the clock, and not 90 s", d)
	}
	if d := clock.Since(clock.System{}, time.Now()); d < 0 || d > time.Minute {
		t.Errorf("%s have passed on the machine since a moment ago", d)
	}
}
