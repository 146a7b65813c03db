package reversal_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
)

// TestWantedRoundTrip: what a resource has wanted is read from its record as it was written, whatever it had managed before.
// The fields and the secrets of all edits add up, each once and sorted.
func TestWantedRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var last *reversal.Wanted
		fields, secret := map[string]bool{}, map[string]bool{}
		for edit := range 1 + rng.IntN(5) {
			n := newNote(string(rune('a' + edit)))
			fields["text"] = true
			if rng.IntN(2) == 0 {
				n.Level = "high"
				fields["level"] = true
			}
			if rng.IntN(2) == 0 {
				n.Count = new(edit)
				fields["count"] = true
			}
			var parts []string
			if rng.IntN(2) == 0 {
				part := []string{"text", "count"}[rng.IntN(2)]
				parts, secret[part] = []string{part}, true
			}
			now, err := reversal.WantedOf(n, parts, last)
			if err != nil {
				t.Fatal(err)
			}
			if (now.Declared == nil) != (last == nil) {
				t.Fatalf("edit %d has the parameters %v", edit, now.Declared)
			}
			write, err := now.Write(n.String())
			if err != nil || write.Table != reversal.TableWanted || write.Key != n.String() {
				t.Fatalf("%+v, %v", write, err)
			}
			if last, err = reversal.DecodeWanted(records.Record{Key: write.Key, Value: write.Value}); err != nil || !reflect.DeepEqual(last, now) {
				t.Fatalf("read %+v, %v; written %+v", last, err, now)
			}
		}
		for _, c := range []struct {
			got  []string
			want map[string]bool
		}{{last.Fields, fields}, {last.Secret, secret}} {
			if !slices.IsSorted(c.got) || len(c.got) != len(c.want) || slices.ContainsFunc(c.got, func(f string) bool { return !c.want[f] }) {
				t.Fatalf("%q, want the keys of %v", c.got, c.want)
			}
		}
	}
}

// TestWantedPrints: the print tells what was wanted apart, and the thing what it is. Another value of a parameter that does not
// identify the thing leaves it the same one.
func TestWantedPrints(t *testing.T) {
	of := func(n *note) *reversal.Wanted {
		w, err := reversal.WantedOf(n, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	one, same, other := of(newNote("a")), of(newNote("a")), of(newNote("b"))
	if one.Print != same.Print || one.Thing != same.Thing {
		t.Errorf("two of the same wish differ: %+v, %+v", one, same)
	}
	if one.Print == other.Print || one.Thing != other.Thing {
		t.Errorf("two wishes about one thing: %+v, %+v", one, other)
	}
}

// TestWantedTooLarge: a record that no Store takes is an error which says so, and has the size.
func TestWantedTooLarge(t *testing.T) {
	first, err := reversal.WantedOf(newNote("small"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := reversal.WantedOf(newNote(strings.Repeat("x", reversal.MaxImage)), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write("n")
	if large, ok := errors.AsType[*reversal.SizeError](err); !ok || large.Size <= reversal.MaxImage || !strings.HasSuffix(err.Error(), ", and not more than 12MiB are kept") {
		t.Errorf("%v", err)
	}
}

// TestWantedRefuses: a resource that is no pointer has no parameters to keep, and the error names it.
func TestWantedRefuses(t *testing.T) {
	if w, err := reversal.WantedOf(plainNote{newNote("a")}, nil, nil); err == nil || !strings.Contains(err.Error(), "note[n[1]]") {
		t.Errorf("%+v, %v", w, err)
	}
}

// plainNote is a resource by its value.
type plainNote struct{ *note }
