package kept_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/kept"
)

// putLine is the line of the file for a key.
func putLine(t *testing.T, key, value string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"put": world.KV{Key: key, Value: []byte(value)}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestMeaningOfLines: the file means what its lines say up to the last whole revision, and Met reports whether there is one.
func TestMeaningOfLines(t *testing.T) {
	a, b := putLine(t, "m/a", "1"), putLine(t, "m/b", "2")
	for name, c := range map[string]struct {
		text, want string
		at         int64
	}{
		"empty":                     {"", "", 0},
		"no revision":               {a + b, "", 0},
		"one revision":              {a + b + `{"at":3}`, "m/a=1 m/b=2 ", 3},
		"an empty revision":         {`{"at":3}`, "", 3},
		"a later value":             {a + `{"at":3}` + putLine(t, "m/a", "9") + `{"at":4}`, "m/a=9 ", 4},
		"a deletion":                {a + b + `{"at":3}{"gone":"m/a"}{"at":4}`, "m/b=2 ", 4},
		"a deletion of nothing":     {a + `{"gone":"m/z"}{"at":4}`, "m/a=1 ", 4},
		"a list begins":             {a + putLine(t, "n/c", "3") + `{"at":3}{"begin":"m/"}` + b + `{"at":4}`, "m/b=2 ", 4},
		"a list that did not end":   {a + `{"at":3}{"begin":"m/"}` + b, "m/a=1 ", 3},
		"no JSON at the end":        {a + `{"at":3}` + b + `nonsense`, "m/a=1 ", 3},
		"no JSON in the middle":     {a + `{"at":3}` + `nonsense` + b + `{"at":4}`, "m/a=1 ", 3},
		"a field of a later time":   {a + `{"at":3,"later":true}`, "m/a=1 ", 3},
		"a key outside of the part": {putLine(t, "n/c", "3") + a + `{"at":3}`, "m/a=1 ", 3},
	} {
		r := newRig(t)
		if err := os.WriteFile(r.path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if kept.Met(r.path) != (c.at > 0) {
			t.Errorf("%s: the host has met the store: %t", name, c.at == 0)
		}
		r.store.lost.Store(true)
		for range 2 { // the second start reads what the first has written anew
			w := r.start()
			if got, at := list(t, w, "m/"); got != c.want || at != c.at {
				t.Errorf("%s: %q at %d, want %q at %d", name, got, at, c.want, c.at)
			}
			if err := errors.Join(w.Close(), w.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r.log.Len() > 0 {
			t.Errorf("%s: %s", name, r.log.String())
		}
	}
	if r := newRig(t); kept.Met(r.path) || kept.Met("") || kept.Met(t.TempDir()) {
		t.Error("an absent file, no file and a folder have no answer of the store")
	}
}

// TestPagesOfTheFile: the file answers each page as a store would, of its own revision, and a caller whose context has ended gets that error.
func TestPagesOfTheFile(t *testing.T) {
	r := newRig(t)
	var text strings.Builder
	for _, key := range []string{"m/b", "m/a", "m/sub/c", "m/sub/d"} {
		text.WriteString(putLine(t, key, "v"))
	}
	if err := os.WriteFile(r.path, []byte(text.String()+`{"at":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.store.lost.Store(true)
	w := r.start()
	for _, c := range []struct {
		prefix string
		o      world.ListOptions
		want   string
		more   bool
	}{
		{"m/", world.ListOptions{}, "m/a m/b m/sub/c m/sub/d", false}, {"m/sub/", world.ListOptions{}, "m/sub/c m/sub/d", false},
		{"m/", world.ListOptions{Limit: 4}, "m/a m/b m/sub/c m/sub/d", false}, {"m/", world.ListOptions{Limit: 3}, "m/a m/b m/sub/c", true},
		{"m/", world.ListOptions{After: "m/b"}, "m/sub/c m/sub/d", false}, {"m/", world.ListOptions{After: "m/b", Limit: 1}, "m/sub/c", true},
		{"m/", world.ListOptions{After: "m/c"}, "m/sub/c m/sub/d", false}, {"m/", world.ListOptions{After: "m/z"}, "", false},
		{"m/", world.ListOptions{At: 3}, "m/a m/b m/sub/c m/sub/d", false}, {"m/none/", world.ListOptions{}, "", false},
	} {
		page, err := w.List(t.Context(), c.prefix, c.o)
		var keys []string
		for _, kv := range page.KVs {
			keys = append(keys, kv.Key)
		}
		if err != nil || strings.Join(keys, " ") != c.want || page.More != c.more || page.Revision != 7 {
			t.Errorf("%s %+v: %v, more %t, at %d: %v", c.prefix, c.o, keys, page.More, page.Revision, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.List(ended, "m/", world.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	for _, prefix := range []string{"n/", ""} {
		if _, err := w.List(t.Context(), prefix, world.ListOptions{}); !errors.Is(err, world.ErrUnavailable) {
			t.Errorf("%q is not kept: %v", prefix, err)
		}
	}
	if _, err := w.Get(t.Context(), "m/a"); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("a Get is answered by the store alone: %v", err)
	}
}
