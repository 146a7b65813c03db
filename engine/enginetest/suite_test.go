package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func toySuite(b bug) Suite {
	reg := engine.NewRegistry()
	if err := reg.Register("toy", func() engine.Res { return &toy{bug: b} }); err != nil {
		panic(err)
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
	return Suite{
		Kind: "toy", Registry: reg, Undocumented: b != "undocumented",
		New: func(t *testing.T, dir string) engine.Res {
			return &toy{bug: b, Path: filepath.Join(dir, "f"), Content: "hello", Token: schema.NewSecret("t0"), Tags: []string{"a"}}
		},
		Drifts: map[string]func(t *testing.T, dir string){
			"content deleted": remove("f"),
			"token deleted":   remove("f.token"),
			"content overwritten": func(t *testing.T, dir string) {
				if err := os.WriteFile(filepath.Join(dir, "f"), []byte("bad"), 0o600); err != nil {
					t.Error(err)
				}
			},
		},
		Variants: map[string]func(engine.Res){
			"other content": func(r engine.Res) { r.(*toy).Content = "much longer" },
			"other tags":    func(r engine.Res) { r.(*toy).Tags = nil },
		},
		ReadIgnores: []string{"env"},
		Received:    []string{"content"},
	}
}

// TestGood: a kind that keeps the laws passes.
func TestGood(t *testing.T) { Run(t, toySuite("")) }

// TestGoodOnRealHost: also on the machine's own watches, of which nothing
// remains either.
func TestGoodOnRealHost(t *testing.T) {
	s := toySuite("")
	s.Host = func(t testing.TB) engine.Host {
		h, err := host.New(context.Background(), host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		return h
	}
	Run(t, s)
}

// TestFindingG10Broken: a kind that breaks a law fails it, and with these words.
func TestFindingG10Broken(t *testing.T) {
	for _, c := range []struct {
		bug  bug
		law  string
		want string
	}{
		{"undocumented", "metadata", "no doc text: [bad]"},
		{"validate panics", "metadata", "panicked"},
		{"default aliases", "default", "share what is in .Tags"},
		{"default itself", "default", "the same resource twice"},
		{"validate alters", "validate", "Validate alters a resource"},
		{"cmp alters", "cmp", "Cmp alters a resource"},
		{"cmp panics", "cmp", "panicked"},
		{"cmp always equal", "cmp", "told apart"},
		{"cmp one-sided", "cmp", "not told apart"},
		{"cmp forgets a field", "cmp", "another env"},
		{"uids alter", "uids", "UIDs alters a resource"},
		{"uids unstable", "uids", "and then"},
		{"uids match nothing", "uids", "does not match itself"},
		{"edges endless", "uids", "never comes to an end"},
		{"init alters", "init", "by Init: 2 paths were altered"},
		{"cleanup alters", "init", "by Cleanup: 2 paths were altered"},
		{"init hangs", "init", "Init did not return"},
		{"shared does not open", "init", "by Init: opening what it shares: no shared thing"},
		{"begin panics", "apply", "Begin panicked: begin"},
		{"end panics", "apply", "End panicked: end"},
		{"close fails", "init", "Cleanup: closing what it shares: no close"},
		{"cleanup ends the shared thing", "overlap", "the shared thing has ended"},
		{"cleanup hangs", "init", "Cleanup did not return"},
		{"init alters a parameter", "parameters", "Init alters the parameter path"},
		{"check alters a parameter", "parameters", "CheckApply(true) alters the parameter tags"},
		{"cleanup alters a parameter", "parameters", "Cleanup alters the parameter content"},
		{"watch floods", "flood", "after Running: Watch floods"},
		{"watch floods after a drift", "flood", "after the repair: Watch floods"},
		{"check hangs", "apply", "CheckApply did not return"},
		{"cleanup fails", "init", "Cleanup: no"},
		{"noop writes", "noop", "were altered"},
		{"told noop writes", "noop", "with Init.Noop: CheckApply(false): "},
		{"noop makes vardir", "noop", "were altered"},
		{"reports at random", "noop", "reports something else"},
		{"check panics", "apply", "panicked: check"},
		{"true with an error", "apply", "true and an error"},
		{"false without change", "apply", "reported no Change"},
		{"true with change", "apply", "returned true, but reported"},
		{"never applies", "apply", "returned false"},
		{"applies in two runs", "apply", "after an apply: CheckApply(true) returned false"},
		{"writes always", "apply", "where all was right"},
		{"fails to write", "apply", "no space"},
		{"changes after the fact", "announce", "after something was altered"},
		{"reports twice", "announce", "reported twice"},
		{"reports another field", "announce", `is the path of a parameter, or empty for the thing as a whole: unknown key "nonsense"`},
		{"reports a stranger's field", "announce", "stranger[x].text"},
		{"read forgets", "read", `content: wanted hello`},
		{"read names another", "read", "returned is toy[another]"},
		{"read writes", "read", "were altered"},
		{"read of nothing fails", "read", "before an apply"},
		{"ignores the token", "repair", "token deleted"},
		{"noop refreshes", "refresh", "were altered"},
		{"refresh unreported", "refresh", "reported no Change"},
		{"sends another type", "send", "but Sends states"},
		{"sends at first only", "send", "second CheckApply(true) sent nothing"},
		{"hangs when cancelled", "cancelled", "did not return"},
		{"half-written when cancelled", "cancelled", "which altered something"},
		{"watch half", "watch", `drift "token deleted": the first time: its Watch did not see it`},
		{"watch sees one", "watch", "the second time: its Watch did not see it"},
		{"watch never runs", "watch", "did not call Running"},
		{"watch returns", "watch", "ended before its context did"},
		{"watch runs twice", "watch", "Running 2 times"},
		{"watch panics", "watch", "panicked: watch"},
		{"watch event first", "watch", "before Running"},
		{"watch leaks a file", "watch", "file descriptors remain"},
		{"watch leaks goroutines", "watch", "goroutines remain"},
		{"watch runs late", "armed", "before its watches were armed"},
		{"watch only once", "restart", "watched already"},
		{"watch ends with an error", "cancel", "not its context's"},
		{"watch never ends", "cancel", "did not end within"},
		{"watch leaks", "cancel", "still open"},
		{"init uses vardir", "overlap", "Init of a twin"},
		{"validate shows secrets", "secret", "the error of Validate shows it"},
		{"shows secrets in logs", "secret", "the log shows it"},
		{"shows secrets in changes", "secret", "a Change shows it"},
		{"shows received", "secret", "received in content"},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			seen(t, c.law, c.want, func(t *testing.T) Suite {
				free, held := make(chan struct{}), new([]*os.File)
				s := toySuite(c.bug)
				s.New = freed(s.New, free, held)
				t.Cleanup(func() {
					close(free)
					for _, f := range *held {
						f.Close()
					}
				})
				return s
			})
		})
	}
}

// TestFindingM4Suite: the suite finds each method that alters a parameter.
func TestFindingM4Suite(t *testing.T) {
	for b, want := range map[bug]string{
		"init alters a parameter":    "Init alters the parameter path",
		"check alters a parameter":   "CheckApply(true) alters the parameter tags",
		"cleanup alters a parameter": "Cleanup alters the parameter content",
	} {
		if err := lawNamed(t, "parameters").run(t, toySuite(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", b, err)
		}
	}
}

// seen fails if a law does not see what is broken in a suite, or not with these words. What
// hangs is not waited for long; where that is too short for all else, on a machine that is
// busy, it is tried again with more time.
func seen(t *testing.T, name, want string, suite func(t *testing.T) Suite) {
	t.Helper()
	var err error
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			s := suite(t)
			s.Timeout = []time.Duration{150 * time.Millisecond, 5 * time.Second}[i%2]
			err = lawNamed(t, name).run(t, s)
		})
		if err != nil && strings.Contains(err.Error(), want) {
			return
		}
	}
	t.Errorf("the law %s: %v\n-- does not say %q", name, err, want)
}

// inert has nothing to watch, or only says so.
type inert struct {
	traits.Base
	traits.Overlapping
	traits.Unwatched

	init  *engine.Init
	watch func(context.Context, *engine.Init) error // nil for that of the trait
}

func (*inert) Default() engine.Res                            { return &inert{} }
func (*inert) Validate() error                                { return nil }
func (r *inert) Init(i *engine.Init) error                    { r.init = i; return nil }
func (*inert) Cleanup() error                                 { return nil }
func (*inert) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (r *inert) Cmp(o engine.Res) error                       { return engine.CmpFields(r, o) }

func (r *inert) Watch(ctx context.Context) error {
	if r.watch != nil {
		return r.watch(ctx, r.init)
	}
	return r.Unwatched.Watch(ctx)
}

func inertSuite(watch func(context.Context, *engine.Init) error) Suite {
	reg := engine.NewRegistry()
	if err := reg.Register("inert", func() engine.Res { return &inert{watch: watch} }); err != nil {
		panic(err)
	}
	return Suite{
		Kind: "inert", Registry: reg, NoState: true,
		New: func(*testing.T, string) engine.Res { return &inert{watch: watch} },
	}
}

// TestGoodUnwatched: a kind that has nothing to watch passes, whether its Watch says
// Running or not.
func TestGoodUnwatched(t *testing.T) {
	Run(t, inertSuite(nil))
	Run(t, inertSuite(func(ctx context.Context, i *engine.Init) error {
		i.Running()
		<-ctx.Done()
		return ctx.Err()
	}))
}

// TestBrokenUnwatched: who has something to watch after all is found out.
func TestBrokenUnwatched(t *testing.T) {
	drifts := map[string]func(*testing.T, string){"something": func(*testing.T, string) {}}
	for name, c := range map[string]struct {
		watch  func(context.Context, *engine.Init) error
		drifts map[string]func(*testing.T, string)
		want   string
	}{
		"drifts": {drifts: drifts, want: "has drifts"},
		"events": {watch: func(ctx context.Context, i *engine.Init) error {
			i.Running()
			i.Event()
			<-ctx.Done()
			return nil
		}, want: "told of an event"},
		"subscribes": {watch: func(ctx context.Context, i *engine.Init) error {
			s, err := i.Host.Watch(ctx, []string{"/x"}, events.Options{})
			if err == nil {
				defer s.Close()
				<-ctx.Done()
			}
			return err
		}, want: "subscribes to"},
		"returns": {watch: func(context.Context, *engine.Init) error { return nil }, want: "before its context did"},
		"never ends": {watch: func(_ context.Context, i *engine.Init) error {
			time.Sleep(time.Second)
			return nil
		}, want: "did not end within"},
	} {
		t.Run(name, func(t *testing.T) {
			seen(t, "unwatched", c.want, func(*testing.T) Suite {
				s := inertSuite(c.watch)
				s.Drifts = c.drifts
				return s
			})
		})
	}
}

func freed(make func(*testing.T, string) engine.Res, free chan struct{}, held *[]*os.File) func(*testing.T, string) engine.Res {
	return func(t *testing.T, dir string) engine.Res {
		r := make(t, dir)
		r.(*toy).free, r.(*toy).held = free, held
		return r
	}
}

func lawNamed(t *testing.T, name string) law {
	for _, l := range laws {
		if l.name == name {
			return l
		}
	}
	t.Fatalf("no law %q", name)
	return law{}
}
