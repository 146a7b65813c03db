package native_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// locked is a kind whose secret has a form.
type locked struct {
	thing
	Note string        `yaml:"note" doc:"A text."`
	Key  schema.Secret `yaml:"key" doc:"A secret that begins with a k."`
}

func (x *locked) Default() engine.Res { return &locked{} }

// Validate refuses a key of another form.
func (x *locked) Validate() error {
	if !strings.HasPrefix(x.Key.Reveal(), "k") {
		return errors.New("key: it does not begin with a k")
	}
	return nil
}

// TestAdmitSealed: a secret is judged in clear where the writer gives it, and not at all where it was stored before.
func TestAdmitSealed(t *testing.T) {
	kinds := engine.NewRegistry()
	if err := kinds.Register("locked", func() engine.Res { return &locked{} }); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer w.Close()
	is := func(text string) bool { return strings.HasPrefix(text, "sealed:") }
	admission := &native.Admission{Kinds: func() *engine.Registry { return kinds }, Sealed: is}
	nb := model.Open(w, model.NewRegistry(kinds), model.Options{Sealed: is, Admit: admission.Admit,
		Seal: func(_ context.Context, _ string, clear schema.Secret) (string, error) {
			return "sealed:" + clear.Reveal(), nil
		}})
	m, err := nb.Registry().Model("locked")
	if err != nil {
		t.Fatal(err)
	}
	object := func(text string) *model.Object {
		t.Helper()
		o, err := m.Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if _, err := nb.Create(t.Context(), object(`{"id":"a","key":"wrong"}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, err := nb.Create(t.Context(), object(`{"id":"a","key":"k1"}`), model.Write{}); err != nil {
		t.Errorf("a good secret: %v", err)
	}
	if _, err := nb.Update(t.Context(), object(`{"id":"a","note":"more"}`), model.Write{}); err != nil {
		t.Errorf("a change beside a stored secret: %v", err)
	}
	if _, err := nb.Update(t.Context(), object(`{"id":"a","key":"wrong"}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a wrong secret in the place of a stored one: %v", err)
	}
}
