package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/internal/filename"
	"github.com/reactivegraph/mgmt/engine/internal/semaphore"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing has every trait that needs no method of its own.
type thing struct {
	traits.Base
	traits.Refreshable
	traits.Recvable
	traits.Edgeable
	traits.Groupable
	traits.Overlapping
	traits.Unwatched
	traits.Collectable

	Size   int           `yaml:"size"`
	Secret schema.Secret `yaml:"secret"`
	Seen   string        `yaml:"seen" mgmt:"readonly"`
}

type thingSends struct {
	Out string `yaml:"out"`
}

func (*thing) Default() engine.Res                            { return &thing{Size: 3} }
func (*thing) Validate() error                                { return nil }
func (*thing) Init(*engine.Init) error                        { return nil }
func (*thing) Cleanup() error                                 { return nil }
func (*thing) Watch(context.Context) error                    { return nil }
func (*thing) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (t *thing) Cmp(o engine.Res) error                       { return engine.CmpFields(t, o) }
func (*thing) Sends() any                                     { return thingSends{} }
func (*thing) Doc() string                                    { return "A thing." }

func newThing() engine.Res { return &thing{} }

// plain has no trait but Base.
type plainRes struct {
	traits.Base
}

func (*plainRes) Default() engine.Res                            { return &plainRes{} }
func (*plainRes) Validate() error                                { return nil }
func (*plainRes) Init(*engine.Init) error                        { return nil }
func (*plainRes) Cleanup() error                                 { return nil }
func (*plainRes) Watch(context.Context) error                    { return nil }
func (*plainRes) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (p *plainRes) Cmp(o engine.Res) error                       { return engine.CmpFields(p, o) }

func TestRegistry(t *testing.T) {
	r := engine.NewRegistry()
	if err := r.Register("thing", newThing); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func() engine.Res{
		"thing": newThing, "Thing": newThing, "": newThing, "a b": newThing, "a[b": newThing, "a.b": newThing, "none": nil,
	} {
		if err := r.Register(name, make); err == nil {
			t.Errorf("Register(%q) was taken", name)
		}
	}
	res, err := r.New("thing")
	if err != nil {
		t.Fatal(err)
	}
	res.SetName("x")
	if res.String() != "thing[x]" || res.(*thing).Size != 3 {
		t.Errorf("New made %s of size %d", res, res.(*thing).Size)
	}
	_, err = r.New("thign")
	if e, ok := errors.AsType[*engine.UnknownKindError](err); !ok || e.Near != "thing" || !strings.Contains(err.Error(), `did you mean "thing"?`) {
		t.Errorf("New of a misspelt kind: %v", err)
	}
	k, err := r.Kind("thing")
	if err != nil || k.Doc != "A thing." || k.Type.Field("size").Default == nil {
		t.Errorf("Kind gave %+v, %v", k, err)
	}
}

func TestRegistryCopies(t *testing.T) {
	r := engine.NewRegistry()
	_ = r.Register("thing", newThing)
	more, err := r.With("plain", func() engine.Res { return &plainRes{} })
	if err != nil {
		t.Fatal(err)
	}
	less := more.Without("thing", "absent")
	for _, c := range []struct {
		r    *engine.Registry
		want []string
	}{{r, []string{"thing"}}, {more, []string{"plain", "thing"}}, {less, []string{"plain"}}, {r.Clone(), []string{"thing"}}} {
		if got := c.r.Kinds(); !slices.Equal(got, c.want) {
			t.Errorf("kinds %v, want %v", got, c.want)
		}
	}
	if less.Has("thing") || !less.Has("plain") {
		t.Error("Has")
	}
}

type bad struct {
	plainRes
	Notify string `yaml:"notify"`
}

func (*bad) Default() engine.Res { return &bad{} }

func TestKindWithAReservedKey(t *testing.T) {
	r := engine.NewRegistry()
	_ = r.Register("bad", func() engine.Res { return &bad{} })
	if _, err := r.Kind("bad"); err == nil || !strings.Contains(err.Error(), "notify") {
		t.Errorf("Kind gave %v", err)
	}
}

func TestKindThatPanics(t *testing.T) {
	r := engine.NewRegistry()
	_ = r.Register("boom", func() engine.Res { panic("boom") })
	for range 2 {
		if _, err := r.Kind("boom"); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("Kind gave %v", err)
		}
		res, err := r.New("boom")
		if _, panicked := errors.AsType[*callsafe.PanicError](err); res != nil || !panicked || !strings.Contains(err.Error(), "boom") {
			t.Errorf("New gave %v, %v", res, err)
		}
	}
}

func TestAbilities(t *testing.T) {
	a, err := engine.AbilitiesOf(newThing())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"refreshable", "sendable", "recvable", "edgeable", "groupable", "overlapping", "unwatched", "collectable"}
	if got := a.Names(); !slices.Equal(got, want) {
		t.Errorf("abilities %v, want %v", got, want)
	}
	if a.Sends.Field("out") == nil {
		t.Error("what it sends is not described")
	}
	if a, _ := engine.AbilitiesOf(&plainRes{}); len(a.Names()) != 0 {
		t.Errorf("a plain resource has %v", a.Names())
	}
}

func TestCmpFields(t *testing.T) {
	mk := func(f func(*thing)) *thing {
		th := &thing{Size: 1}
		th.SetKind("thing")
		f(th)
		return th
	}
	base := mk(func(*thing) {})
	for name, c := range map[string]struct {
		other *thing
		want  string
	}{
		"equal":     {mk(func(*thing) {}), ""},
		"readonly":  {mk(func(t *thing) { t.Seen = "x" }), ""},
		"size":      {mk(func(t *thing) { t.Size = 2 }), "size differs"},
		"secret":    {mk(func(t *thing) { t.Secret = schema.NewSecret("canary") }), "secret differs"},
		"otherkind": {mk(func(t *thing) { t.SetKind("other") }), "not a thing but a other"},
	} {
		for _, err := range []error{base.Cmp(c.other), c.other.Cmp(base)} {
			if (err == nil) != (c.want == "") || name != "otherkind" && err != nil && err.Error() != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	}
}

func TestMetaParams(t *testing.T) {
	if err := new(engine.MetaParams).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	const sec = time.Second
	for name, tt := range map[string]struct {
		m    engine.MetaParams
		want []string // path: a part of the message
	}{
		"everything": {
			engine.MetaParams{
				Retry: -2, Delay: -1, DelayMax: -1, Timeout: -1, Poll: -1, Settle: -1, Limit: -1, Burst: -1,
				Sema: []string{":3", "a:0", "b:x", "ok", "ok:2", "ok:1", ""}, Drift: "mend", Export: []string{"a", ""},
			},
			[]string{
				"retry: -2", "delay: -1ns", "delaymax: -1ns", "timeout: -1ns", "poll: -1ns", "settle: -1ns", "limit: -1",
				`sema[0]: ":3" has no name`, `sema[1]: "a:0"`, `sema[2]: "b:x"`, `sema[5]: "ok:1" is named twice, it stands there as "ok"`, `sema[6]: "" has no name`,
				`drift: "mend"`, "export[1]: without a name",
			},
		},
		"delaymax alone": {engine.MetaParams{DelayMax: sec}, []string{"delaymax: without a delay"}},
		"delaymax low":   {engine.MetaParams{Delay: 2 * sec, DelayMax: sec}, []string{"delaymax: below delay, which is 2s"}},
		"limit alone":    {engine.MetaParams{Limit: 2}, []string{"limit: without a burst"}},
		"burst alone":    {engine.MetaParams{Burst: 2}, []string{"burst: without a limit"}},
		"limit NaN":      {engine.MetaParams{Limit: math.NaN(), Burst: 1}, []string{"limit: NaN"}},
		"limit Inf":      {engine.MetaParams{Limit: math.Inf(1), Burst: 1}, []string{"limit: +Inf"}},
		"limit tiny":     {engine.MetaParams{Limit: 1e-10, Burst: 1}, []string{"limit: at least 1e-08"}},
		"too long": {
			engine.MetaParams{Delay: 1e6 * time.Hour, DelayMax: 2e6 * time.Hour, Timeout: 1e6 * time.Hour, Poll: math.MaxInt64, Settle: 1e6 * time.Hour},
			[]string{"delay: at most", "delaymax: at most", "timeout: at most", "poll: at most", "settle: at most"},
		},
		"poll tiny":   {engine.MetaParams{Poll: 1}, []string{"poll: 1ns, it must be at least 100ms, or 0 to watch"}},
		"poll small":  {engine.MetaParams{Poll: 100*time.Millisecond - 1}, []string{"poll: at least 100ms"}},
		"poll enough": {engine.MetaParams{Poll: 100 * time.Millisecond}, nil},
		"burst":       {engine.MetaParams{Limit: 1, Burst: -1}, []string{"burst: -1"}},
		"good": {engine.MetaParams{
			Retry: -1, Delay: sec, DelayMax: sec, Limit: 0.1, Burst: 1, Sema: []string{"a", "a:2"}, Drift: engine.DriftFix, Export: []string{"*"},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ds schema.Diagnostics
			_ = errors.As(tt.m.Validate(), &ds)
			if len(ds) != len(tt.want) {
				t.Fatalf("said: %v", ds)
			}
			for i, d := range ds {
				path, part, _ := strings.Cut(tt.want[i], ": ")
				if d.Path != path || !strings.Contains(d.Message, part) {
					t.Errorf("at %q: %s; want %s", d.Path, d.Message, tt.want[i])
				}
			}
		})
	}
}

// TestMetaParamsOutright: it means the same, and says so.
func TestMetaParamsOutright(t *testing.T) {
	m := new(engine.MetaParams).Outright()
	if !*m.AutoEdge || !*m.AutoGroup || m.Drift != engine.DriftFix || m.Noop != nil {
		t.Errorf("the defaults are %+v", m)
	}
	m = (&engine.MetaParams{AutoEdge: new(false), AutoGroup: new(false), Drift: engine.DriftReport, Retry: 3}).Outright()
	if *m.AutoEdge || *m.AutoGroup || m.Drift != engine.DriftReport || m.Retry != 3 {
		t.Errorf("what was said is %+v", m)
	}
}

// TestMetaParamsCmp: every field counts, both ways.
func TestMetaParamsCmp(t *testing.T) {
	yes := true
	for key, f := range map[string]func(*engine.MetaParams){
		"noop":       func(m *engine.MetaParams) { m.Noop = &yes },
		"retry":      func(m *engine.MetaParams) { m.Retry = 1 },
		"retryreset": func(m *engine.MetaParams) { m.RetryReset = true },
		"delay":      func(m *engine.MetaParams) { m.Delay = time.Second },
		"delaymax":   func(m *engine.MetaParams) { m.DelayMax = time.Second },
		"settle":     func(m *engine.MetaParams) { m.Settle = time.Second },
		"limit":      func(m *engine.MetaParams) { m.Limit = 0.5 },
		"burst":      func(m *engine.MetaParams) { m.Burst = 1 },
		"reset":      func(m *engine.MetaParams) { m.Reset = true },
		"rewatch":    func(m *engine.MetaParams) { m.Rewatch = true },
		"realize":    func(m *engine.MetaParams) { m.Realize = true },
		"reverse":    func(m *engine.MetaParams) { m.Reverse = true },
		"autoedge":   func(m *engine.MetaParams) { m.AutoEdge = &yes },
		"autogroup":  func(m *engine.MetaParams) { m.AutoGroup = &yes },
		"drift":      func(m *engine.MetaParams) { m.Drift = engine.DriftReport },
		"export":     func(m *engine.MetaParams) { m.Export = []string{"*"} },
		"exportfor":  func(m *engine.MetaParams) { m.ExportFor = time.Minute },
		"timeout":    func(m *engine.MetaParams) { m.Timeout = time.Second },
		"poll":       func(m *engine.MetaParams) { m.Poll = time.Second },
		"sema":       func(m *engine.MetaParams) { m.Sema = []string{"a"} },
		"hidden":     func(m *engine.MetaParams) { m.Hidden = true },
		"backend":    func(m *engine.MetaParams) { m.Backend = "apt" },
		"dollar":     func(m *engine.MetaParams) { m.Dollar = true },
		"secret":     func(m *engine.MetaParams) { m.Secret = []string{"content"} },
		"leaving":    func(m *engine.MetaParams) { m.Leaving = engine.LeavingAsk },
		"labels":     func(m *engine.MetaParams) { m.Labels = map[string]string{"tier": "db"} },
	} {
		a, b := new(engine.MetaParams), new(engine.MetaParams)
		if err := a.Cmp(b); err != nil {
			t.Fatal(err)
		}
		if !a.Equal(b) {
			t.Errorf("%s: equal ones are not", key)
		}
		f(b)
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("%s does not count", key)
		}
		for _, err := range []error{a.Cmp(b), b.Cmp(a)} {
			if err == nil || !strings.HasPrefix(err.Error(), "meta."+key) {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	typ, err := schema.Of(new(engine.MetaParams))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(typ.Keys()); n != 26 {
		t.Errorf("there are %d metaparameters: add the new one here", n)
	}
}

func TestParseSema(t *testing.T) {
	for in, want := range map[string]string{"a": "a 1", "a:2": "a 2", "a b:10": "a b 10", "a:0": "", "a:-1": "", "a:b": "", ":1": "", "": "",
		"all/a:2": "all/a 2", "group:web/a": "group:web/a 1", "all/:2": "", "all/2": "", "group:/a": "", "group:web": ""} {
		name, n, err := semaphore.Parse(in)
		if got := fmt.Sprint(name, " ", n); err == nil && got != want || err != nil && want != "" {
			t.Errorf("ParseSema(%q) = %s, %v", in, got, err)
		}
	}
}

func TestChangeString(t *testing.T) {
	for want, c := range map[string]engine.Change{
		"created":                 {Verb: engine.Created},
		"content created":         {Field: "content", Verb: engine.Created},
		`mode: "0644" -> "0600"`:  {Field: "mode", From: "0644", To: "0600"},
		"size: (none) -> 3":       {Field: "size", To: 3},
		"content: 1 -> (unknown)": {Field: "content", From: 1, To: engine.Unknown},
		"content: (secret) -> 2":  {Field: "content", From: schema.NewSecret("canary"), To: 2},
		"refreshed":               {Verb: engine.Refreshed},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := engine.Change{Field: "f", From: strings.Repeat("ä", 500), To: ""}.String()
	if len([]rune(long)) > 120 || !strings.Contains(long, "(1002 bytes)") {
		t.Errorf("a long value prints as %s", long)
	}
	as, bs := strings.Repeat("a", 100), strings.Repeat("b", 100)
	got := engine.Change{Field: "f", From: as + "OLD" + bs, To: as + "NEW"}.String()
	if want := `f: ...` + as[:20] + `OLD` + bs[:37] + `... (205 bytes) -> ...` + as[:20] + `NEW" (105 bytes)`; got != want {
		t.Errorf("two long values print as\n%s, want\n%s", got, want)
	}
	got = engine.Change{Field: "f", From: as[:50], To: as + "x"}.String()
	if want := `f: "` + as[:50] + `" -> ...` + as[:60] + `... (103 bytes)`; got != want {
		t.Errorf("a long value prints as\n%s, want\n%s", got, want)
	}
}

func TestFileName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.String().Draw(t, "a")
		b := rapid.String().Draw(t, "b")
		x, y := filename.Of(a), filename.Of(b)
		if (a == b) != (x == y) {
			t.Errorf("%q and %q become %q and %q", a, b, x, y)
		}
		if x == "" || x == "." || x == ".." || len(x) > 255 || filepath.Base(x) != x {
			t.Errorf("%q becomes %q", a, x)
		}
	})
	long := strings.Repeat("x", 1000)
	if filename.Of(long+"a") == filename.Of(long+"b") || len(filename.Of(long)) > 255 {
		t.Error("long names")
	}
	for _, s := range []string{"", ".", "..", "/", "\x00"} {
		if n := filename.Of(s); n == "" || strings.Contains(n, "/") || n == "." || n == ".." || strings.Contains(n, "\x00") {
			t.Errorf("%q becomes %q", s, n)
		}
	}
}

func TestPermanent(t *testing.T) {
	if failure.Permanent(nil) != nil || failure.IsPermanent(nil) {
		t.Error("nil")
	}
	base := errors.New("no")
	err := fmt.Errorf("outer: %w", failure.Permanent(base))
	if !failure.IsPermanent(err) || !errors.Is(err, base) || failure.IsPermanent(base) || err.Error() != "outer: no" {
		t.Errorf("%v", err)
	}
	if !failure.IsPermanent(errors.Join(base, failure.Permanent(base))) {
		t.Error("a joined one is not seen")
	}
}

func TestChild(t *testing.T) {
	var logged, dirs []string
	var changes []engine.Change
	parent := &engine.Init{
		Change:  func(c engine.Change) { changes = append(changes, c) },
		Refresh: func() bool { return true },
		Recv:    func() map[string]*engine.Send { return map[string]*engine.Send{"size": {}} },
		Shared:  shared{},
		Running: func() { t.Error("Running reached the parent") },
		Event:   func() { t.Error("Event reached the parent") },
		Send:    func(any) error { t.Error("Send reached the parent"); return nil },
		Logf:    func(f string, v ...any) { logged = append(logged, fmt.Sprintf(f, v...)) },
		VarDir:  func(s string) (string, error) { dirs = append(dirs, s); return "/state/" + s, nil },
	}
	res := newThing()
	res.SetKind("thing")
	res.SetName("a/b")
	child := parent.Child(res)
	child.Running()
	child.Event()
	if err := child.Send(thingSends{"x"}); err != nil || child.Sent() != (thingSends{"x"}) || parent.Sent() != nil {
		t.Errorf("sent %v, %v", child.Sent(), err)
	}
	child.Logf("hello %d", 1)
	if dir, err := child.VarDir("z"); err != nil || dir != "/state/child/thing/a%2Fb/z" {
		t.Errorf("VarDir %s, %v", dir, err)
	}
	if !slices.Equal(logged, []string{"thing[a/b]: hello 1"}) {
		t.Errorf("logged %q", logged)
	}
	if dir, err := child.VarDir("../../z"); err != nil || dir != "/state/child/thing/a%2Fb/z" {
		t.Errorf("VarDir that leads out is %s, %v", dir, err)
	}
	if child.Refresh() || child.Recv() != nil || child.Shared != nil {
		t.Error("Refresh, Recv or Shared of a child is the parent's")
	}
	sends := &thingSends{"y"}
	if err := child.Send(sends); err != nil {
		t.Error(err)
	}
	if sends.Out = "z"; child.Sent() != (thingSends{"y"}) {
		t.Errorf("what was sent has become %v", child.Sent())
	}
	mute := &plainRes{}
	if err := parent.Child(mute).Send(sends); err == nil {
		t.Error("a kind that sends nothing has sent something")
	}
	child.Change(engine.Change{Field: "size", To: int64(1)})
	child.Child(res).Change(engine.Change{Verb: engine.Created})
	if got := fmt.Sprint(changes); got != "[thing[a/b].size: (none) -> 1 thing[a/b].thing[a/b] created]" {
		t.Errorf("the changes are %s", got)
	}
}

type shared struct{ engine.Shared }
