package all_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestKinds(t *testing.T) {
	kinds := all.Kinds()
	if !slices.IsSorted(kinds) {
		t.Errorf("Kinds is not sorted: %v", kinds)
	}
	if got := engine.DefaultRegistry().Kinds(); !slices.Equal(got, kinds) {
		t.Errorf("registered are %v, Kinds lists %v", got, kinds)
	}
}

func TestKindsAreDocumented(t *testing.T) {
	for _, name := range all.Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Error(err)
			continue
		}
		first, _, _ := strings.Cut(k.Doc, "\n")
		if len(first) < 20 || !strings.HasSuffix(strings.TrimSpace(first), ".") && !strings.Contains(k.Doc, ".") {
			t.Errorf("%s: its Doc does not begin with a sentence: %q", name, first)
		}
		for _, f := range k.Type.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s.%s: its doc is no sentence: %q", name, f.Key, f.Doc)
			}
		}
		if k.Abilities.Sends == nil {
			continue
		}
		for _, f := range k.Abilities.Sends.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s sends %s: its doc is no sentence: %q", name, f.Key, f.Doc)
			}
		}
	}
}

// Every kind of this program overlaps, and says so.
func TestKindsOverlap(t *testing.T) {
	for _, name := range all.Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Error(err)
		} else if !k.Abilities.Overlapping {
			t.Errorf("%s does not overlap", name)
		}
	}
}

// A kind that nothing outside can change needs no goroutine that waits.
func TestKindsWithNothingToWatch(t *testing.T) {
	var got []string
	for _, name := range all.Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Fatal(err)
		}
		if k.Abilities.Unwatched {
			got = append(got, name)
		}
	}
	if want := []string{"msg", "noop", "print", "value"}; !slices.Equal(got, want) {
		t.Errorf("nothing to watch have %v, want %v", got, want)
	}
}

// remembersNothing are the words with which keys of Shared begin, where the machine is read each time all the same.
var remembersNothing = map[string]string{
	"file": "the numbers of users and groups are kept for as long as their files stay the same",
	"svc":  "only what the manager has still to be told is kept",

	"schedule": "the lease is shared, and nothing of the machine is read",
}

// TestFindingC9EveryKind: a kind whose resources share what they have read of the machine forgets it after a change above one of them. Of
// those that do not, it is known why.
func TestFindingC9EveryKind(t *testing.T) {
	reg := engine.DefaultRegistry()
	for _, kind := range reg.Kinds() {
		r, err := reg.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := r.(engine.SharedRes)
		if !ok {
			continue
		}
		key, open := s.Shared()
		word, _, _ := strings.Cut(key, ":")
		shared, err := open(t.Context(), enginetest.NewHost())
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if _, forgets := shared.(engine.Forgetter); !forgets && remembersNothing[word] == "" {
			t.Errorf("%s shares a %T, which is no engine.Forgetter", kind, shared)
		}
		if err := shared.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestBug32_CmpAltersNothing: neither the one that is asked nor the other one.
//
// Seen failing with: engine/res.go, CmpFields: lists of texts sorted before they are
// compared.
func TestBug32_CmpAltersNothing(t *testing.T) {
	fill := map[string]func(r engine.Res){
		"exec": func(r engine.Res) {
			x := r.(*exec.Res)
			x.Cmd, x.Args, x.Mtimes, x.Env = "c", []string{"z", "a"}, []string{"/z", "/a"}, map[string]string{"B": "1", "A": "2"}
		},
		"file": func(r engine.Res) {
			x := r.(*file.Res)
			x.Path, x.Fragments, x.Mode = "/x/../y", []string{"/z", "/a"}, "u=rw"
		},
		"test": func(r engine.Res) {
			x := r.(*basic.TestRes)
			x.List, x.Structs, x.Any = []string{"z", "a"}, []basic.TestStruct{{Int: 2}, {Int: 1}}, []any{"z", 1}
		},
		"msg": func(r engine.Res) { r.(*basic.MsgRes).Fields = map[string]string{"A": "1"} },
	}
	for _, kind := range all.Kinds() {
		mk := func() engine.Res {
			r, err := engine.DefaultRegistry().New(kind)
			kindtest.Must(t, err)
			r.SetName("it")
			if f := fill[kind]; f != nil {
				f(r)
			}
			return r
		}
		show := func(r engine.Res) string {
			v, err := schema.EncodeAll(r)
			kindtest.Must(t, err)
			return fmt.Sprintf("%#v %s %+v", v, r, *r.MetaParams())
		}
		a, b := mk(), mk()
		want := show(a)
		if err := errors.Join(a.Cmp(b), b.Cmp(a)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if show(a) != want || show(b) != want {
			t.Errorf("%s: Cmp has altered %s\nor %s\nof %s", kind, show(a), show(b), want)
		}
	}
}
