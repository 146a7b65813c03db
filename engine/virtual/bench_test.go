package virtual_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

func benchKind(b *testing.B) *virtual.Kind {
	b.Helper()
	c := virtual.NewCatalog()
	if err := c.Declare(lampInterface); err != nil {
		b.Fatal(err)
	}
	wire := wireBackend()
	wire.Needs = []string{"sh"}
	if err := c.Add(wire); err != nil {
		b.Fatal(err)
	}
	k, err := virtual.NewKind(c, "lamp", virtual.LocalSystem(new(host.FactReader).Facts))
	if err != nil {
		b.Fatal(err)
	}
	return k
}

// BenchmarkLoad is what the CheckMachine of one resource costs.
func BenchmarkLoad(b *testing.B) {
	k := benchKind(b)
	res := &lampRes{kind: k}
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Check(res, k.System()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what the Module of one resource costs.
func BenchmarkOpen(b *testing.B) {
	k := benchKind(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Open(context.Background(), virtual.Env{}, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is what a call of a backend in Go costs beside what the backend
// does: of a small record, and of a thousand of them.
func BenchmarkCall(b *testing.B) {
	type info struct {
		Name   string   `yaml:"name"`
		N      int      `yaml:"n"`
		Groups []string `yaml:"groups"`
	}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fn := virtual.Declare[nameArgs, []info]("f", "")
			all := make([]info, n)
			g := virtual.Native("b", func(context.Context, virtual.Env) (int, error) { return 0, nil },
				virtual.Func("f", func(int, context.Context, nameArgs) ([]info, error) { return all, nil }))
			m, err := virtual.Bind(context.Background(), &virtual.Interface{Module: "m", Functions: []virtual.Function{fn.Function()}}, g, virtual.Env{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := fn.Call(context.Background(), m, nameArgs{"x"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
