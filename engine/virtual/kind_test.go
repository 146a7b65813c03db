package virtual_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/traits"
)

// lampRes is a resource of a virtual kind: a lamp that is on, or off.
type lampRes struct {
	traits.Base
	kind *virtual.Kind

	On    bool `yaml:"on"`
	Dim   bool `yaml:"dim"`
	Color bool `yaml:"color"`

	init   *engine.Init
	module *virtual.Module
}

func (r *lampRes) VirtualKind() *virtual.Kind { return r.kind }
func (r *lampRes) Backends() []string         { return r.kind.Backends() }
func (r *lampRes) Backend() string            { return r.MetaParams().Backend }

func (r *lampRes) Needs() []string {
	switch {
	case r.Dim:
		return []string{"info", "on", "off", "dim"}
	case r.Color:
		return []string{"info", "on.color"}
	}
	return []string{"info", "on", "off"}
}

func (r *lampRes) CheckMachine(m engine.Machine) error { return r.kind.Check(r, m) }

func (r *lampRes) Default() engine.Res          { return &lampRes{kind: r.kind} }
func (r *lampRes) Validate() error              { return nil }
func (r *lampRes) Cmp(o engine.Res) error       { return engine.CmpFields(r, o) }
func (r *lampRes) Cleanup() error               { return r.module.Close() }
func (r *lampRes) Watch(context.Context) error  { return errors.New("not used") }
func (r *lampRes) Init(init *engine.Init) error { r.init = init; return nil }

// CheckApply converges without a change where the backend need not do anything.
func (r *lampRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	res, err := r.module.Call(ctx, "dim", virtual.Args{Named: map[string]any{"name": r.Name()}})
	return err == nil && res.Status == virtual.NotApplicable, err
}

// lamps returns a registry with the kind lamp on a machine with those facts and
// programs.
func lamps(t *testing.T, facts virtual.Facts, programs string, backends ...*virtual.Backend) (*engine.Registry, *virtual.Kind) {
	t.Helper()
	c, r := virtual.NewCatalog(), engine.NewRegistry()
	if err := errors.Join(c.Declare(lampInterface), c.Add(backends...)); err != nil {
		t.Fatal(err)
	}
	system := func(virtual.Facts) virtual.System {
		return virtual.System{Facts: facts, Has: func(p string) bool { return strings.Contains(programs, p) }}
	}
	var kind *virtual.Kind
	err := virtual.RegisterKind(r, c, "lamp", system, func(k *virtual.Kind) virtual.Resource {
		kind = k
		return &lampRes{kind: k}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.New("lamp"); err != nil {
		t.Fatal(err)
	}
	return r, kind
}

// TestKindNeedsAnInterface: without one there is no virtual kind.
func TestKindNeedsAnInterface(t *testing.T) {
	r := engine.NewRegistry()
	err := virtual.RegisterKind(r, virtual.NewCatalog(), "lamp", nil, func(*virtual.Kind) virtual.Resource { return &lampRes{} })
	if !isType[*virtual.UnknownModuleError](err) || r.Has("lamp") {
		t.Errorf("%v, registered: %v", err, r.Has("lamp"))
	}
}

// judged is what the machine of its kind lacks for a lamp.
func judged(res engine.Res) error {
	l := res.(*lampRes)
	return l.CheckMachine(l.kind.System())
}

// TestLoad: what a resource needs and the backend lacks is an error of CheckMachine,
// thus of loading a graph.
func TestLoad(t *testing.T) {
	facts := virtual.Facts{"kernel": "Linux"}
	bare := virtual.Native("bare", newWire, virtual.Func("off", (*wire).off))
	bare.Module, bare.Priority = "lamp", -1
	r, _ := lamps(t, facts, "wire", wireBackend(), bare)
	validate := func(set func(*lampRes)) error {
		res, err := r.New("lamp")
		if err != nil {
			t.Fatal(err)
		}
		set(res.(*lampRes))
		return judged(res)
	}
	if err := validate(func(*lampRes) {}); err != nil {
		t.Error(err)
	}
	if err := validate(func(l *lampRes) { l.Dim = true }); !isType[*virtual.NotSupportedError](err) || !strings.Contains(err.Error(), "lamp.dim is not supported by the backend wire") {
		t.Errorf("dim: %v", err)
	}
	err := validate(func(l *lampRes) { l.MetaParams().Backend = "bare" })
	if !isType[*virtual.NotImplementedError](err) || !strings.Contains(err.Error(), "lamp.info") || !strings.Contains(err.Error(), "lamp.on") {
		t.Errorf("not all that is missing is said: %v", err)
	}
	if err := validate(func(l *lampRes) { l.Color = true }); !isType[*virtual.UnsupportedArgumentError](err) || !strings.Contains(err.Error(), "lamp.on: the backend wire has no color") {
		t.Errorf("a parameter: %v", err)
	}
	if err := validate(func(l *lampRes) { l.MetaParams().Backend = "gas" }); !isType[*virtual.NoBackendError](err) || !strings.Contains(err.Error(), "only bare, wire") {
		t.Errorf("an unknown backend: %v", err)
	}
}

// TestRefused: where no backend suits, the error says why of each.
func TestRefused(t *testing.T) {
	mains, gas := wireBackend(), wireBackend()
	mains.Name, mains.Needs = "mains", []string{"fuse|switch"}
	gas.Name, gas.When, gas.Unless = "gas", nil, virtual.Match{"kernel": {"Linux"}}
	r, _ := lamps(t, virtual.Facts{"kernel": "Linux"}, "", wireBackend(), mains, gas)
	res, err := r.New("lamp")
	if err != nil {
		t.Fatal(err)
	}
	err = judged(res)
	const want = "no backend of lamp can be used here: gas: it is not for machines where kernel is Linux (here kernel is Linux); " +
		"mains: there is no program fuse or switch; wire: there is no program wire"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
	r, _ = lamps(t, virtual.Facts{}, "wire", wireBackend())
	if res, err = r.New("lamp"); err != nil {
		t.Fatal(err)
	}
	if err = judged(res); err == nil || !strings.Contains(err.Error(), "it is for machines where kernel is Linux (here kernel is not known)") {
		t.Error(err)
	}
}

// TestNotApplicable: a resource that needs what makes no sense here has nothing to
// do, and says so.
func TestNotApplicable(t *testing.T) {
	i := &virtual.Interface{Module: "lamp", Functions: []virtual.Function{{Name: "dim", NotApplicable: virtual.Match{"virtual": {"docker"}}, Params: []virtual.Param{{Name: "name"}}}}}
	c := virtual.NewCatalog()
	b := virtual.Native("none", newWire)
	b.Module = "lamp"
	if err := errors.Join(c.Declare(i), c.Add(b)); err != nil {
		t.Fatal(err)
	}
	facts := virtual.Facts{"virtual": "docker"}
	k, err := virtual.NewKind(c, "lamp", func(virtual.Facts) virtual.System { return virtual.System{Facts: facts} })
	if err != nil {
		t.Fatal(err)
	}
	log := &eventLog{}
	m, err := k.Open(t.Context(), virtual.Env{Log: slog.New(log)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Needs("dim"); err != nil {
		t.Error(err)
	}
	if ok, err := (&lampRes{module: m}).CheckApply(t.Context(), true); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	log.expect(t, []string{"debug:not_applicable:dim"})
}

// TestChange: when the facts of the host have changed so that another backend, or none, or one that
// does something else, would be opened, what is open is stale.
func TestChange(t *testing.T) {
	other := wireBackend()
	other.Name, other.When = "other", virtual.Match{"kernel": {"BSD"}}
	_, kind := lamps(t, nil, "wire", wireBackend(), other)
	host := enginetest.NewHost()
	on := func(kernel, kind string) engine.Facts {
		f := host.Facts()
		f.Kernel, f.Virtual = kernel, kind
		return f
	}
	host.SetFacts(on("Linux", "physical"))
	env := virtual.Env{Host: host}
	sub, err := host.WatchFacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	m, err := kind.Open(t.Context(), env, "")
	if err != nil || m.Backend.Name != "wire" {
		t.Fatal(m, err)
	}
	for _, c := range []struct {
		facts        engine.Facts
		stale, asked bool // without a choice of the user, and with
	}{
		{on("Linux", "kvm"), false, false},
		{on("BSD", "physical"), true, false},
		{on("Plan 9", "physical"), true, false},
		{on("Linux", "physical"), false, false},
	} {
		if host.SetFacts(c.facts) != 1 {
			t.Error("a change of facts wakes nobody")
		}
		if kind.Stale(m, env, "") != c.stale || kind.Stale(m, env, "wire") != c.asked {
			t.Errorf("on %s, %s: stale %v", c.facts.Kernel, c.facts.Virtual, !c.stale)
		}
	}
}

// TestChangeOfAFunction: the same backend is stale when a function of it does something else.
func TestChangeOfAFunction(t *testing.T) {
	i := &virtual.Interface{Module: "lamp", Functions: []virtual.Function{{Name: "dim", NotApplicable: virtual.Match{"roles": {"cellar"}}}}}
	b, c := virtual.Native("none", newWire), virtual.NewCatalog()
	b.Module = "lamp"
	if err := errors.Join(c.Declare(i), c.Add(b)); err != nil {
		t.Fatal(err)
	}
	k, err := virtual.NewKind(c, "lamp", func(virtual.Facts) virtual.System { return virtual.System{} })
	if err != nil {
		t.Fatal(err)
	}
	host := enginetest.NewHost()
	env := virtual.Env{Host: host}
	m, err := k.Open(t.Context(), env, "")
	if err != nil || !isType[*virtual.NotImplementedError](m.Needs("dim")) {
		t.Fatal(m, err)
	}
	facts := host.Facts()
	facts.Roles = []string{"cellar"}
	if host.SetFacts(facts); !k.Stale(m, env, "") {
		t.Error("it makes no sense any more, and that is not seen")
	}
	if m, err = k.Open(t.Context(), env, ""); err != nil || m.Needs("dim") != nil {
		t.Errorf("%v, %v", err, m.Needs("dim"))
	}
}

// TestFactsOnce: where the host says the facts, those of the kind are not read. A kind of this machine then takes them as they are.
func TestFactsOnce(t *testing.T) {
	wire, c := wireBackend(), virtual.NewCatalog()
	wire.Needs = []string{"sh"}
	if err := errors.Join(c.Declare(lampInterface), c.Add(wire)); err != nil {
		t.Fatal(err)
	}
	k, err := virtual.NewKind(c, "lamp", virtual.LocalSystem(func() engine.Facts {
		t.Error("the facts are read")
		return engine.Facts{}
	}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := k.Open(t.Context(), virtual.Env{Host: enginetest.NewHost()}, "")
	if err != nil || m.Backend.Name != "wire" || k.Stale(m, virtual.Env{Host: enginetest.NewHost()}, "") {
		t.Errorf("%v, %v", m, err)
	}
}

// TestRebind: a program with more backends, or that knows more of its machine, says so for
// itself: the registry that it began with, and kinds of others, stay as they are.
func TestRebind(t *testing.T) {
	r, _ := lamps(t, virtual.Facts{"kernel": "Linux"}, "wire", wireBackend())
	if err := r.Register("plain", func() engine.Res { return &lampRes{} }); err != nil {
		t.Fatal(err)
	}
	mine := wireBackend()
	mine.Name, mine.When, mine.Priority = "mine", virtual.Match{"roles": {"cellar"}}, 1
	c := virtual.NewCatalog()
	if err := errors.Join(c.Declare(lampInterface), c.Declare(&virtual.Interface{Module: "plain"}), c.Declare(&virtual.Interface{Module: "none"})); err != nil {
		t.Fatal(err)
	}
	more := c.Clone()
	if err := errors.Join(more.Add(wireBackend(), mine), c.Add(wireBackend())); err != nil {
		t.Fatal(err)
	}
	system := func(virtual.Facts) virtual.System {
		return virtual.System{Facts: virtual.Facts{"roles": []any{"cellar"}}, Has: func(string) bool { return true }}
	}
	bound, err := virtual.Rebind(r, more, system)
	if err != nil {
		t.Fatal(err)
	}
	names := func(r *engine.Registry) []string {
		res, err := r.New("lamp")
		if err != nil {
			t.Fatal(err)
		}
		if err := judged(res); err != nil {
			t.Error(err)
		}
		return res.(engine.VirtualRes).Backends()
	}
	if got := names(bound); !slices.Equal(got, []string{"mine", "wire"}) {
		t.Errorf("bound are %v", got)
	}
	if got := names(r); !slices.Equal(got, []string{"wire"}) || len(c.Backends("lamp")) != 1 {
		t.Errorf("the first registry has %v", got)
	}
	if !bound.Has("plain") || bound.Has("none") {
		t.Error("other kinds came or went")
	}
	again, err := virtual.Rebind(bound, more, system)
	if err != nil || !slices.Equal(names(again), []string{"mine", "wire"}) {
		t.Errorf("bound twice: %v", err)
	}
	lamp := func(r *engine.Registry) virtual.Resource {
		res, err := r.New("lamp")
		if err != nil {
			t.Fatal(err)
		}
		res.SetName("x")
		return res.(virtual.Resource)
	}
	if err := errors.Join(virtual.Cmp(lamp(bound), lamp(again))); err != nil {
		t.Errorf("those of the same backends differ: %v", err)
	}
	others := c.Clone()
	third, err := virtual.Rebind(bound, others, system)
	if err != nil || virtual.Cmp(lamp(bound), lamp(third)) == nil {
		t.Errorf("those of other backends are equal (%v)", err)
	}
	cloned, err := virtual.Rebind(bound, more.Clone(), system)
	if err != nil || virtual.Cmp(lamp(bound), lamp(cloned)) != nil {
		t.Errorf("those of a clone with the same backends differ (%v)", err)
	}
	lit := lamp(bound).(*lampRes)
	lit.On = true
	if virtual.Cmp(lamp(bound), lit) == nil {
		t.Error("other parameters are not seen")
	}
}

func TestCatalog(t *testing.T) {
	c := virtual.NewCatalog()
	b := wireBackend()
	if err := c.Add(b); err != nil {
		t.Fatal(err)
	}
	if got := c.Orphans(); len(got) != 1 || got[0] != "lamp/wire" {
		t.Errorf("orphans %v", got)
	}
	if _, _, err := c.Select("lamp", virtual.System{}, ""); !isType[*virtual.UnknownModuleError](err) {
		t.Errorf("chosen before it is declared: %v", err)
	}
	if err := c.Declare(lampInterface); err != nil || len(c.Orphans()) != 0 {
		t.Errorf("%v, %v", err, c.Orphans())
	}
	if c.Declare(lampInterface) == nil || c.Add(wireBackend()) == nil {
		t.Error("the same again is added")
	}
	if _, err := c.Interface("lmp"); err == nil || !strings.Contains(err.Error(), `did you mean "lamp"?`) {
		t.Error(err)
	}
	if err := c.Add(&virtual.Backend{}); err == nil {
		t.Error("a backend without anything is added")
	}
	for _, bad := range []virtual.Interface{
		{Module: "Lamp"},
		{Module: "lamp", Functions: []virtual.Function{{Name: "_f"}}},
		{Module: "lamp", Functions: []virtual.Function{{Name: "f"}, {Name: "f"}}},
		{Module: "lamp", Functions: []virtual.Function{{Name: "f", AliasOf: "g"}}},
		{Module: "lamp", Functions: []virtual.Function{{Name: "f", Default: "x", Returns: lampDesc.Function().Returns}}},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// TestLint: rules on facts that are not there, or that fail only by case or type.
func TestLint(t *testing.T) {
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{
		{Name: "f", Supported: virtual.Match{"os_family": {"debian"}, "osmajor": {int64(12)}}},
		{Name: "g", NotApplicable: virtual.Match{"osmajorrelease": {"12"}}},
		{Name: "h", Supported: virtual.Match{"os_family": {"RedHat", "Debian"}}},
	}}
	facts := virtual.Facts{"os_family": "Debian", "osmajorrelease": int64(12)}
	var got []string
	for _, f := range i.Lint(facts) {
		got = append(got, f.String())
	}
	const want = `function f: supported: os_family is "Debian" here and not "debian": values are compared exactly
function f: supported: there is no fact "osmajor"
function g: not_applicable: osmajorrelease is 12 here and not "12": values are compared exactly`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	b := &virtual.Backend{Name: "b", When: virtual.Match{"osfamily": {"Debian"}}}
	if got := b.Lint(facts); len(got) != 1 || !strings.Contains(got[0].String(), `did you mean "os_family"?`) {
		t.Errorf("%v", got)
	}
}

// lampUses is a lamp that says what it needs.
type lampUses struct{ lampRes }

func (*lampUses) Uses() []virtual.Use {
	return []virtual.Use{
		{Declared: "dim: true", Functions: (&lampRes{Dim: true}).Needs()}, {Declared: "color: true", Functions: (&lampRes{Color: true}).Needs()},
	}
}

func TestPage(t *testing.T) {
	page := virtual.Page(lampInterface, []*virtual.Backend{wireBackend()}, &lampUses{})
	for _, want := range []string{
		"| `on(name, bright=100)` |  | Switch a lamp on. |",
		"| dim | – |", "| on | yes, without bright |", "| info | yes |",
		"| `dim: true` | `info`, `on`, `off`, `dim` |", "| `color: true` | `info`, `on` with `color` |",
		"| wire | kernel is Linux | wire | files |", "Few backends have it.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if !strings.Contains(virtual.Page(lampInterface, nil, &lampRes{}), "no backend yet") {
		t.Error("a module without a backend")
	}
}
