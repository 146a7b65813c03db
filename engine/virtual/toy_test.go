package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// The interface of a module: lamps that can be switched.

type switchArgs struct {
	Name   string `yaml:"name" mgmt:"required" doc:"The lamp."`
	Bright int    `yaml:"bright" doc:"How bright, in percent."`
}

func (switchArgs) Default() switchArgs { return switchArgs{Bright: 100} }

type lampArgs struct {
	Name string `yaml:"name" mgmt:"required" doc:"The lamp."`
}

type lampInfo struct {
	Name string  `yaml:"name"`
	On   bool    `yaml:"on"`
	Room *string `yaml:"room"`
}

var (
	lampOn   = virtual.Declare[switchArgs, virtual.Nothing]("on", "Switch a lamp on.")
	lampOff  = virtual.Declare[lampArgs, virtual.Nothing]("off", "Switch a lamp off.")
	lampDesc = virtual.Declare[lampArgs, lampInfo]("info", "What is known of a lamp.", virtual.OrNotFound(nil))
	lampDim  = virtual.Declare[switchArgs, virtual.Nothing]("dim", "Change how bright a lamp is.", virtual.AsExtra)

	lampInterface = &virtual.Interface{Module: "lamp", Functions: []virtual.Function{
		lampOn.Function(), lampOff.Function(), lampDesc.Function(), lampDim.Function(),
	}}
)

// A backend: a program named wire does it. It cannot dim, and says more of a lamp
// than the interface declares.

type wire struct{ host engine.Host }

func newWire(_ context.Context, env virtual.Env) (*wire, error) { return &wire{env.Host}, nil }

func (w *wire) run(ctx context.Context, argv ...string) (string, error) {
	r, err := w.host.Command(ctx, engine.Command{Argv: append([]string{"wire"}, argv...)})
	switch {
	case err != nil:
		return "", err
	case r.ExitCode == 3:
		return "", virtual.ErrNotFound
	case r.ExitCode != 0:
		return "", fmt.Errorf("wire %s: %s", argv[0], r.Stderr)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}

func (w *wire) on(ctx context.Context, args lampArgs) (virtual.Nothing, error) {
	_, err := w.run(ctx, "on", args.Name)
	return virtual.Nothing{}, err
}

func (w *wire) off(ctx context.Context, args lampArgs) (virtual.Nothing, error) {
	_, err := w.run(ctx, "off", args.Name)
	return virtual.Nothing{}, err
}

type wireInfo struct {
	lampInfo `yaml:",inline"`
	Volts    int `yaml:"volts"`
}

func (w *wire) info(ctx context.Context, args lampArgs) (wireInfo, error) {
	out, err := w.run(ctx, "show", args.Name)
	return wireInfo{lampInfo{Name: args.Name, On: out == "on"}, 230}, err
}

func (w *wire) Watch(ctx context.Context, names []string) (events.Subscription, error) {
	return w.host.Watch(ctx, []string{"/run/wire"}, events.Options{Contents: true})
}

func wireBackend() *virtual.Backend {
	b := virtual.Native("wire", newWire,
		virtual.Func("on", (*wire).on),
		virtual.Func("off", (*wire).off),
		virtual.Func("info", (*wire).info))
	b.Module, b.Watch = "lamp", virtual.WatchFiles
	b.When, b.Needs = virtual.Match{"kernel": {"Linux"}}, []string{"wire"}
	return b
}

// TestToy: a whole module, from the declaration to calls on a machine that is made
// up.
func TestToy(t *testing.T) {
	ctx := t.Context()
	catalog := virtual.NewCatalog()
	if err := errors.Join(catalog.Declare(lampInterface), catalog.Add(wireBackend())); err != nil {
		t.Fatal(err)
	}
	system := virtual.System{Facts: virtual.Facts{"kernel": "Linux"}, Has: func(p string) bool { return p == "wire" }}
	i, sel, err := catalog.Select("lamp", system, "")
	if err != nil {
		t.Fatal(err)
	}
	host := enginetest.NewHost()
	lamps := map[string]string{"desk": "off"}
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if _, ok := lamps[c.Argv[2]]; !ok {
			return &engine.Result{ExitCode: 3}, nil
		}
		if c.Argv[1] != "show" {
			lamps[c.Argv[2]] = c.Argv[1]
		}
		return &engine.Result{Stdout: []byte(lamps[c.Argv[2]] + "\n")}, nil
	})
	m, err := virtual.Bind(ctx, i, sel.Backend, virtual.Env{Host: host, Facts: system.Facts})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	if _, _, err := lampOn.Call(ctx, m, switchArgs{Name: "desk", Bright: 100}); err != nil {
		t.Error(err)
	}
	info, r, err := lampDesc.Call(ctx, m, lampArgs{"desk"})
	if err != nil || !info.On || info.Room != nil || !r.Found || r.Extra["volts"] != int64(230) || r.Backend != "wire" {
		t.Errorf("%+v, %+v, %v", info, r, err)
	}
	if info, r, err := lampDesc.Call(ctx, m, lampArgs{"attic"}); err != nil || r.Found || info.Name != "" {
		t.Errorf("a lamp that is not there: %+v, %+v, %v", info, r, err)
	}
	_, _, err = lampOn.Call(ctx, m, switchArgs{Name: "desk", Bright: 50})
	if e, ok := errors.AsType[*virtual.UnsupportedArgumentError](err); !ok || e.Params[0] != "bright" {
		t.Errorf("an argument that the backend lacks: %v", err)
	}
	if _, _, err := lampDim.Call(ctx, m, switchArgs{Name: "desk"}); !isType[*virtual.NotSupportedError](err) {
		t.Errorf("a function that the backend lacks: %v", err)
	}
	if _, _, err := lampOff.Call(ctx, m, lampArgs{"attic"}); !errors.Is(err, virtual.ErrNotFound) || !isType[*virtual.CallError](err) {
		t.Errorf("switching off what is not there: %v", err)
	}
	if err := m.Needs("on", "off"); err != nil {
		t.Error(err)
	}
	sub, err := m.Watch(ctx, nil)
	if err != nil || sub == nil {
		t.Fatalf("watch: %v, %v", sub, err)
	}
	defer sub.Close()
	if host.Touch("/run/wire/desk") != 1 {
		t.Error("nothing is watched")
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
