package backends

import (
	"context"
	"errors"
	"testing"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// stopped answers that no service runs.
type stopped struct{}

func (stopped) Call(context.Context, string, map[string]any) (any, error) { return false, nil }

// TestFindingF11SessionServices: what only systemd has is not supported elsewhere, and no gap. The services of a user's
// session are refused there before a command runs, and services of the machine need not name the session.
func TestFindingF11SessionServices(t *testing.T) {
	for _, b := range Backends() {
		if b.Name == "systemd" {
			continue
		}
		facts := virtual.Facts{"os_family": "Alpine", "systemd_booted": false}
		for _, v := range virtual.Check(Interface(), b, facts) {
			switch v.Function {
			case "mask", "unmask", "masked", "reread":
				if v.Status != virtual.NotSupported {
					t.Errorf("%s: %s is %s", b.Name, v.Function, v.Status)
				}
			default:
				if v.Status != virtual.Implemented {
					t.Errorf("%s: %s is %s", b.Name, v.Function, v.Status)
				}
			}
		}
		b.Open = func(context.Context, virtual.Env) (virtual.Caller, error) { return stopped{}, nil }
		m, err := virtual.Bind(t.Context(), Interface(), b, virtual.Env{Facts: facts})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Call(t.Context(), "status", virtual.Args{Positional: []any{"cron"}, Named: map[string]any{"session": true}})
		if _, refused := errors.AsType[*virtual.UnsupportedArgumentError](err); !refused {
			t.Errorf("%s: %v", b.Name, err)
		}
		_, err = m.Call(t.Context(), "status", virtual.Args{Positional: []any{"cron"}, Named: map[string]any{"session": false}})
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
