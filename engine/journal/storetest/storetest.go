// Package storetest is the one suite that every records.Store passes. The laws are
// in the comment of package journal.
//
// # Use
//
// A test of a store calls Run with functions that open it:
//
//	storetest.Run(t, storetest.Backend{Open: func(t *testing.T) records.Store { return journal.NewMemory() }})
//
// Each test opens a store of its own. A law that
// only holds after the death of a process runs where Reopen is given.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/records"
)

// Backend makes the stores of one test.
// Its functions fail the test instead of returning an error.
type Backend struct {
	// Open opens an empty store. Closing is left to the test's Cleanup.
	Open func(t *testing.T) records.Store
	// Reopen closes the store that Open returned and opens it again, as after
	// the death of the process. Nil for one that keeps nothing.
	Reopen func(t *testing.T, s records.Store) records.Store
}

// Run runs the suite.
// It blocks until all tests of the suite are over.
func Run(t *testing.T, b Backend) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, records.Store)
	}{
		{"records", testRecords},
		{"order", testOrder},
		{"refused", testRefused},
		{"copies", testCopies},
		{"moment", testMoment},
		{"together", testTogether},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b.Open(t)) })
	}
	if b.Reopen != nil {
		t.Run("reopened", func(t *testing.T) { testReopened(t, b) })
	}
}

// put is the write of a record.
func put(table, key, value string) records.Write {
	return records.Write{Table: table, Key: key, Value: []byte(value)}
}

// del is the removal of a record; a missing record does no harm.
func del(table, key string) records.Write { return records.Write{Table: table, Key: key} }

// commit writes at once, and fails the test on an error.
func commit(t *testing.T, s records.Store, writes ...records.Write) {
	t.Helper()
	if err := s.Commit(t.Context(), writes); err != nil {
		t.Fatalf("Commit(%v): %v", writes, err)
	}
}

// want compares all records of a table, in the order of their keys, with key=value words.
// It reads the whole table in one pass, which is also how the engine reads a table at its
// start.
func want(t *testing.T, s records.Store, table, want string) {
	t.Helper()
	var got []string
	for r, err := range s.Records(t.Context(), table) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Key+"="+string(r.Value))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("table %q holds %v, want %s", table, got, want)
	}
}

// testRecords: tables do not see each other, records come in the order of their keys, and
// an empty commit does nothing.
func testRecords(t *testing.T, s records.Store) {
	want(t, s, "never", "")
	commit(t, s)
	commit(t, s, put("t", "b", "2"), put("t", "a", "1"), put("u", "a", "3"))
	want(t, s, "t", "a=1 b=2")
	want(t, s, "u", "a=3")
	commit(t, s, put("t", "a", ""), del("t", "b"), del("t", "never"), del("never", "a"))
	want(t, s, "t", "a=")
	commit(t, s, del("t", "a"))
	want(t, s, "t", "")
	key := "kind[a name/with: all\x00sorts of ü]"
	commit(t, s, put("t", key, "\x00\xff"))
	want(t, s, "t", key+"=\x00\xff")
	for r, err := range s.Records(t.Context(), "t") {
		if err != nil || r.Key != key {
			t.Error(r, err)
		}
		break
	}
}

// testOrder: the writes of one commit take effect in their order, so the last one of a key
// wins.
func testOrder(t *testing.T, s records.Store) {
	commit(t, s, put("t", "a", "1"), put("t", "a", "2"), put("t", "b", "1"), del("t", "b"), del("t", "c"), put("t", "c", "1"))
	want(t, s, "t", "a=2 c=1")
	for i := range 20 {
		commit(t, s, put("n", fmt.Sprintf("%02d", 19-i), "x"))
	}
	var keys []string
	for r := range s.Records(t.Context(), "n") {
		keys = append(keys, r.Key)
	}
	if len(keys) != 20 || !slices.IsSorted(keys) {
		t.Errorf("Records yields %v", keys)
	}
}

// testRefused: a commit that is cancelled or broken changes nothing, and the store serves
// on.
func testRefused(t *testing.T, s records.Store) {
	commit(t, s, put("t", "a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, []records.Write{put("t", "a", "2")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Commit: %v", err)
	}
	if err := s.Commit(t.Context(), []records.Write{put("t", "a", "2"), put("", "a", "2")}); err == nil {
		t.Error("a write without a table is no error")
	}
	if err := s.Commit(t.Context(), []records.Write{put("t", "a", "2"), put("t", "", "2")}); err == nil {
		t.Error("a write without a key is no error")
	}
	var failed error
	for _, err := range s.Records(ctx, "t") {
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("cancelled Records: %v", failed)
	}
	want(t, s, "t", "a=1")
}

// testCopies: a store keeps its own copy of each value, and hands out copies: a record
// changes only by a commit.
func testCopies(t *testing.T, s records.Store) {
	value := []byte("one")
	commit(t, s, records.Write{Table: "t", Key: "a", Value: value})
	copy(value, "XXX")
	for r, err := range s.Records(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		copy(r.Value, "YYY")
	}
	want(t, s, "t", "a=one")
}

// testMoment: Records shows what was when it began, and a Commit within its loop
// does not wait for it.
func testMoment(t *testing.T, s records.Store) {
	commit(t, s, put("t", "a", "1"), put("t", "b", "1"), put("t", "c", "1"))
	var got []string
	for r, err := range s.Records(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Key+"="+string(r.Value))
		commit(t, s, put("t", "b", "2"), del("t", "c"), put("t", "d", "2"))
	}
	if strings.Join(got, " ") != "a=1 b=1 c=1" {
		t.Errorf("Records shows %v", got)
	}
	want(t, s, "t", "a=1 b=2 d=2")
}

// testTogether: commits of many goroutines are each whole, and none is lost.
// Run it with -race, which finds a store without a lock. Readers look on
// while others write.
func testTogether(t *testing.T, s records.Store) {
	const workers, each = 4, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				v := strconv.Itoa(w*each + i)
				writes := []records.Write{put("pair", "left", v), put("own", v, v), put("pair", "right", v)}
				if err := s.Commit(t.Context(), writes); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range each {
		wholePair(t, s)
	}
	wg.Wait()
	wholePair(t, s)
	n := 0
	for range s.Records(t.Context(), "own") {
		n++
	}
	if n != workers*each {
		t.Errorf("%d of %d commits are there", n, workers*each)
	}
}

// wholePair reads two records that are always written together. A reader that sees one old
// and one new value has caught half a commit.
func wholePair(t *testing.T, s records.Store) {
	t.Helper()
	values := map[string]string{}
	for r, err := range s.Records(t.Context(), "pair") {
		if err != nil {
			t.Fatal(err)
		}
		values[r.Key] = string(r.Value)
	}
	if values["left"] != values["right"] {
		t.Errorf("half a commit is seen: %v", values)
	}
}

// testReopened: a store that is opened again holds all that was committed, removals
// included.
func testReopened(t *testing.T, b Backend) {
	s := b.Open(t)
	commit(t, s, put("t", "a", "1"), put("t", "b", ""), put("u", "a", "2"))
	commit(t, s, del("u", "a"))
	s = b.Reopen(t, s)
	want(t, s, "t", "a=1 b=")
	want(t, s, "u", "")
	commit(t, s, put("t", "a", "2"))
	s = b.Reopen(t, s)
	want(t, s, "t", "a=2 b=")
}
