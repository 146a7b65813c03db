package lifecycle_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const canary = "canary-7f3d"

// TestSecretsStayInside: what one resource knows is said by none, in no way.
func TestSecretsStayInside(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	knows, other := r.life("knows"), r.life("other")
	if !knows.Clear() || !other.Clear() {
		t.Error("there is a secret before any was hidden")
	}
	knows.Res.(*thing).Pass = schema.NewSecret(canary)
	knows.HideDeclared()
	for _, l := range []*lifecycle.Life{knows, other} {
		if err := l.Init(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		i := l.Res.(*thing).init
		i.Logf("it is %s", canary)
		i.Log.Info(canary, "text", canary, "any", []string{canary}, slog.Group("g", "deep", canary), "number", 1)
		i.Log.With("with", canary).WithGroup("group").With("more", canary).Info(canary)
		i.Log.WithGroup("group").Info(canary)
		err := l.Error(fmt.Errorf("refused: %s", canary))
		changes := l.Changes([]engine.Change{{Field: "want", From: canary, To: []any{canary}}}, nil)
		for _, text := range []string{r.log.String(), err.Error(), l.Text("<" + canary + ">"), fmt.Sprint(changes)} {
			if strings.Contains(text, canary) || !strings.Contains(text, schema.Redacted) {
				t.Errorf("%s shows %s", l.ID, text)
			}
		}
		if !strings.Contains(r.log.String(), "resource="+l.ID) {
			t.Error("the log does not name the resource")
		}
		r.log.Reset()
		mustClean(t, l)
	}
}

// TestShortSecrets: a short text is hidden only in what its own resource says.
func TestShortSecrets(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	knows, other, next := r.life("knows"), r.life("other"), r.life("next")
	knows.Hide("abc", false)
	if knows.Text("abc") != "abc" {
		t.Error("a plain text was hidden")
	}
	knows.Hide(map[string]any{"key": []any{"abc"}}, true)
	next.HideLike(knows)
	if knows.Text("abc") != schema.Redacted || next.Text("abc") != schema.Redacted || other.Text("abc") != "abc" {
		t.Errorf("said %s, %s and %s", knows.Text("abc"), next.Text("abc"), other.Text("abc"))
	}
	own := r.life("own")
	own.Hide("xyz", true)
	own.HideLike(knows)
	if own.Text("abcxyz") != schema.Redacted+schema.Redacted {
		t.Errorf("said %s", own.Text("abcxyz"))
	}
}

// TestChanges: tainted fields are hidden as a whole, and the rest is left as it is.
func TestChanges(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	l := r.life("a")
	list := []engine.Change{{Field: "pass", From: nil, To: "x"}, {Field: "late", From: 1, To: engine.Unknown}, {Field: "want", From: "p", To: "q"}}
	if got := l.Changes(list, nil); &got[0] != &list[0] {
		t.Error("changes without secrets were copied")
	}
	got := l.Changes(list, func(field string) bool { return field != "want" })
	if text := fmt.Sprint(got); text != `[pass: (none) -> (secret) late: (secret) -> (unknown) want: "p" -> "q"]` {
		t.Errorf("the changes are %v", got)
	}
	if list[0].To != any("x") {
		t.Error("the argument was altered")
	}
	err := errors.New("plain")
	if l.Error(err) != err || l.Error(nil) != nil {
		t.Error("an error without secrets is another one")
	}
}

// TestConfined: a confined text is shown as a digest, which another Env can't compare.
func TestConfined(t *testing.T) {
	a, b := newRig(t, lifecycle.Options{}), newRig(t, lifecycle.Options{})
	text := schema.NewConfined("text")
	first, again, other := fmt.Sprint(a.env.Shown(text)), fmt.Sprint(a.env.Shown(text)), fmt.Sprint(b.env.Shown(text))
	if first != again || first == other || strings.Contains(first, "text") || a.env.Shown(1) != any(1) {
		t.Errorf("shown as %s, %s and %s", first, again, other)
	}
}

// TestInitIsCheap: the memory of an Init is bounded: a million resources have one each.
func TestInitIsCheap(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	l := r.life("a")
	n := testing.AllocsPerRun(100, func() {
		if l.Init(t.Context(), nil) != nil || l.Cleanup() != nil {
			t.Error("it failed")
		}
		r.take()
	})
	if n > 8 {
		t.Errorf("an Init with its Cleanup takes %.0f allocations, want at most 8", n)
	}
}
