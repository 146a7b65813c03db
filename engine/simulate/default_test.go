package simulate_test

import (
	"context"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/traits"
)

// bare is a kind whose Default gives nothing.
type bare struct {
	traits.Base
	Text string `yaml:"text" doc:"A text."`
}

func (*bare) Default() engine.Res                            { return nil }
func (*bare) Validate() error                                { return nil }
func (*bare) Init(*engine.Init) error                        { return nil }
func (*bare) Cleanup() error                                 { return nil }
func (*bare) Watch(context.Context) error                    { return nil }
func (*bare) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*bare) Cmp(engine.Res) error                           { return nil }

// TestNoDefault: simulated resources of a kind whose Default gives nothing are different ones.
func TestNoDefault(t *testing.T) {
	reg := engine.NewRegistry()
	if err := reg.Register("bare", func() engine.Res { return &bare{} }); err != nil {
		t.Fatal(err)
	}
	kinds, err := simulate.NewMachine().Kinds(reg)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var made []engine.Res
	for _, name := range []string{"a", "b"} {
		r, err := kinds.New("bare")
		if err != nil {
			t.Fatal(err)
		}
		r.SetName(name)
		made = append(made, r)
	}
	for _, r := range made {
		names = append(names, r.String())
	}
	if names[0] != "bare[a]" || names[1] != "bare[b]" {
		t.Error(names)
	}
}
