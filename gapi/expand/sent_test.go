package expand

import (
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestSendersFollowTheTypeOfAKind(t *testing.T) {
	sends, err := schema.Of(&struct {
		Output string `key:"output"`
	}{})
	if err != nil {
		t.Fatal(err)
	}
	s := senders(func(kind string) *schema.Type {
		if kind == "exec" {
			return sends
		}
		return nil
	})
	if typ := s.typeOf("Exec[a].output"); typ == nil {
		t.Error("the type of a value that is sent is not known")
	}
	for _, text := range []string{"exec[a].nothing", "other[a].output", "exec[a]", "exec"} {
		if typ := s.typeOf(text); typ != nil {
			t.Errorf("%s has the type %v", text, typ)
		}
	}
	if senders(nil).typeOf("exec[a].output") != nil {
		t.Error("a graph without kinds knows a type")
	}
	l := &late{}
	if _, err := s.sent(l).Do("exec[a].output"); err == nil {
		t.Error("a sent value is known when the graph is loaded")
	}
	l.values = map[string]any{"exec[a].output": "x"}
	if v, err := s.sent(l).Do("Exec[a].output"); v != "x" || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := s.sent(l).Do("exec[b].output"); err == nil {
		t.Error("a value that the formula does not wait for is known")
	}
}

func TestLateKeepsWhatTrialsRead(t *testing.T) {
	l, g := &late{}, &Graph{}
	of := secretOf{g, "a"}
	l.noteSecret(of, "before") // no trial is under way
	l.trial = true
	l.noteSecret(of, "text")
	l.noteRead("f", []byte("x"))
	l.trial = false
	if len(l.read) != 2 || strings.Contains(strings.Join(l.read, " "), "text") {
		t.Errorf("read %q: digests alone may stand there", l.read)
	}
	if _, ok, err := l.recalled(of); ok || err != nil {
		t.Errorf("a computation before the formula took the old secret: %v, %v", ok, err)
	}
	l.over = true
	if text, ok, err := l.recalled(of); text != "text" || !ok || err != nil {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	if _, _, err := l.recalled(secretOf{&Graph{}, "a"}); !errors.Is(err, errNotLoaded) {
		t.Errorf("a module took the secret of another: %v", err)
	}
}
