package hosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/traits"
)

// crate is a kind with a parameter of each type that an export has a form for.
type crate struct {
	traits.Base

	Label string            `yaml:"label" doc:"A text."`
	Count int               `yaml:"count" mgmt:"required" doc:"A number."`
	Ratio float64           `yaml:"ratio" doc:"A fraction."`
	On    bool              `yaml:"on" doc:"A switch."`
	Wait  time.Duration     `yaml:"wait" doc:"A time."`
	Room  schema.Size       `yaml:"room" doc:"A size."`
	Mode  schema.Mode       `yaml:"mode" doc:"A mode."`
	Tags  []string          `yaml:"tags" doc:"A list."`
	Env   map[string]string `yaml:"env" doc:"A map."`
	Key   schema.Secret     `yaml:"key" doc:"A secret."`
}

func (*crate) Default() engine.Res                            { return &crate{Label: "plain"} }
func (*crate) Validate() error                                { return nil }
func (*crate) Init(*engine.Init) error                        { return nil }
func (*crate) Cleanup() error                                 { return nil }
func (*crate) Watch(context.Context) error                    { return nil }
func (*crate) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*crate) Cmp(engine.Res) error                           { return nil }

// newCrate returns a crate that is exported to hosts.
func newCrate(name string, to ...string) *crate {
	c := &crate{Label: "plain"}
	c.SetKind("crate")
	c.SetName(name)
	c.MetaParams().Export = to
	return c
}

// TestFormsOfExports: resources in, records out.
func TestFormsOfExports(t *testing.T) {
	for want, alter := range map[string]func(*crate){
		`{"value":{"count":0}}`:                         func(*crate) {},
		`{"value":{"count":7}}`:                         func(c *crate) { c.Count = 7 },
		`{"value":{"count":0,"label":""}}`:              func(c *crate) { c.Label = "" },
		`{"value":{"count":0,"on":true,"ratio":0.5}}`:   func(c *crate) { c.On, c.Ratio = true, 0.5 },
		`{"value":{"count":0,"wait":"1m30s"}}`:          func(c *crate) { c.Wait = 90 * time.Second },
		`{"value":{"count":0,"room":1024}}`:             func(c *crate) { c.Room = 1024 },
		`{"value":{"count":0,"mode":"0644"}}`:           func(c *crate) { c.Mode = "0644" },
		`{"value":{"count":0,"tags":["b","a"]}}`:        func(c *crate) { c.Tags = []string{"b", "a"} },
		`{"value":{"count":0,"env":{"A":"1","B":"2"}}}`: func(c *crate) { c.Env = map[string]string{"B": "2", "A": "1"} },
		`{"value":{"count":0},"meta":{"retry":3}}`:      func(c *crate) { c.MetaParams().Retry = 3 },
		`{"value":{"count":0},"meta":{"retry":0}}`:      func(c *crate) { c.MetaParams().Retry = engine.RetryNever },
		`{"value":{"count":0},"meta":{"delay":"5s"}}`:   func(c *crate) { c.MetaParams().Delay = 5 * time.Second },
		`{"value":{"count":0},"meta":{}}`:               nil,
		`error: ` + hosts.ErrSecret.Error():             func(c *crate) { c.Key = schema.NewSecret("canary") },
		`error: ` + hosts.ErrSecret.Error() + ` `:       func(c *crate) { c.MetaParams().Secret = []string{"label"} },
		`{"value":{"count":0}} `:                        func(c *crate) { c.MetaParams().Noop, c.MetaParams().Hidden = new(true), true },
		`{"value":{"count":0}}  `:                       func(c *crate) { c.MetaParams().Sema = []string{"x:1"} },
	} {
		if alter == nil {
			continue
		}
		c := newCrate("c", "*", "group:web", "db")
		alter(c)
		keys, err := hosts.ExportKeys("me", c)
		if err != nil {
			if got := "error: " + err.Error(); got != strings.TrimSpace(want) || !errors.Is(err, hosts.ErrSecret) || len(keys) > 0 {
				t.Errorf("%s, want %s", got, want)
			}
			continue
		}
		if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, []string{"exports/all/me/crate/c", "exports/group:web/me/crate/c", "exports/host:db/me/crate/c"}) {
			t.Errorf("the keys are %v", got)
		}
		for _, text := range keys {
			if string(text) != strings.TrimSpace(want) {
				t.Errorf("%s, want %s", text, want)
			}
		}
	}
}

// plainCrate is a crate whose kind has no defaults.
type plainCrate struct {
	crate `yaml:",inline"`
}

func (*plainCrate) Default() engine.Res { return nil }

// TestExportWithoutDefault: of a kind without a Default, each parameter that is not the zero value is published.
func TestExportWithoutDefault(t *testing.T) {
	c := &plainCrate{*newCrate("c", "*")}
	keys, err := hosts.ExportKeys("me", c)
	if got := string(keys["exports/all/me/crate/c"]); err != nil || got != `{"value":{"count":0,"label":"plain"}}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestExportsComeBack: whatever the names are made of, the key and the record of an export are read as they were written, and the key
// is found below the prefix of its topic alone.
func TestExportsComeBack(t *testing.T) {
	word := rapid.StringN(1, 6, 20)
	rapid.Check(t, func(t *rapid.T) {
		from, name, to := word.Draw(t, "from"), word.Draw(t, "name"), word.Draw(t, "to")
		c := newCrate(name, "host:"+to)
		c.Label = word.Draw(t, "label")
		c.Env = rapid.MapOfN(word, word, 0, 2).Draw(t, "env")
		keys, err := hosts.ExportKeys(from, c)
		if err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		for key, value := range keys {
			x, err := hosts.ReadExport(key, value)
			if err != nil || x.From != from || x.Name != name || x.Kind != "crate" || x.Topic != hosts.HostTopic(to) {
				t.Fatalf("%q: %+v, %v", key, x, err)
			}
			if !strings.HasPrefix(key, hosts.ExportPrefix(hosts.HostTopic(to))) || strings.HasPrefix(key, hosts.ExportPrefix(hosts.HostTopic(to+"x"))) {
				t.Fatalf("%q is not below %q", key, hosts.ExportPrefix(hosts.HostTopic(to)))
			}
			var back struct {
				Label *string           `json:"label"`
				Env   map[string]string `json:"env"`
			}
			if err := json.Unmarshal(x.Value, &back); err != nil || (back.Label == nil) != (c.Label == "plain") || back.Label != nil && *back.Label != c.Label || !maps.Equal(back.Env, c.Env) {
				t.Fatalf("%s, %v; want %q and %q", x.Value, err, c.Label, c.Env)
			}
		}
	})
	for key, value := range map[string]string{
		"exports/all/me/crate": `{}`, "exports/all/me/crate/c/d": `{}`, "hosts/me": `{}`, "exports/all/me/crate/%zz": `{}`, "exports/all/me/crate/c": `{`, "exports/all/me/crate/d": `[]`,
	} {
		if x, err := hosts.ReadExport(key, []byte(value)); err == nil {
			t.Errorf("%s with %s is read as %+v", key, value, x)
		}
	}
}

// TestWordsOfTopics: words in, topics out.
func TestWordsOfTopics(t *testing.T) {
	for word, want := range map[string]string{"*": "all", "db": "host:db", "host:db": "host:db", "group:web": "group:web", "all": "host:all"} {
		if got := hosts.TopicOf(word); got != want || hosts.CheckTopic(got) != nil {
			t.Errorf("%s is %s, %v; want %s", word, got, hosts.CheckTopic(got), want)
		}
	}
	for topic, good := range map[string]bool{"": true, "all": true, "host:a": true, "group:a": true, "host:": false, "group:": false, "*": false, "db": false, "hosts:a": false, "All": false} {
		if err := hosts.CheckTopic(topic); (err == nil) != good {
			t.Errorf("%q: %v", topic, err)
		}
	}
	for _, topic := range hosts.Topics("me", []string{"web", "db"}) {
		if err := hosts.CheckTopic(topic); err != nil {
			t.Error(err)
		}
	}
	if got := hosts.Topics("me", []string{"web"}); !slices.Equal(got, []string{"all", "host:me", "group:web"}) {
		t.Error(got)
	}
	if a, b := hosts.KVKey("all", "a/b"), hosts.KVKey("all/a", "b"); a == b || a != "kv/all/a%2Fb" {
		t.Errorf("two values have the key %s", a)
	}
}

// shown is a Publisher with its store, in a bubble of synctest.
type shown struct {
	t   *testing.T
	p   *hosts.Publisher
	w   world.World
	log *strings.Builder
}

// do obeys one word: see TestPublisher.
func (s *shown) do(word string, args ...string) string {
	switch word {
	case "swap":
		s.p.Swapped(args[0], len(args) == 1)
	case "rest":
		var counts [resgraph.NumStates]int
		for _, a := range args {
			state, n := "", 0
			_, _ = fmt.Sscanf(strings.Replace(a, "=", " ", 1), "%s %d", &state, &n)
			for i := range counts {
				if resgraph.State(i).String() == state {
					counts[i] = n
				}
			}
		}
		s.p.Rested(counts)
	case "stir":
		s.p.Stirred()
	case "wait":
		d, _ := time.ParseDuration(args[0])
		time.Sleep(d)
	case "part":
		brought, removed := map[string]*resgraph.Vertex{}, []string(nil)
		for _, a := range args {
			name, gone := strings.CutPrefix(a, "-")
			if gone {
				removed = append(removed, "crate["+name+"]")
				continue
			}
			name, to, _ := strings.Cut(name, ">")
			var list []string
			if to != "" {
				list = strings.Split(to, "+")
			}
			c := newCrate(name, list...)
			switch name {
			case "secret":
				c.Key = schema.NewSecret("canary")
			case "large":
				c.Label = strings.Repeat("x", s.w.Limits().Bytes)
			}
			brought["crate["+name+"]"] = &resgraph.Vertex{Res: c}
		}
		s.p.Part(brought, removed)
	}
	synctest.Wait()
	return s.state()
}

// state is what another host sees: this host in one line, and the exports.
func (s *shown) state() string {
	ms, err := hosts.Members(context.Background(), s.w)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, m := range ms {
		st := m.State
		out = append(out, fmt.Sprintf("%s %s %q ok %d failed %d blocked %d other %d for %s", m.Name, st.Word(), st.Graph, st.OK, st.Failed, st.Blocked, st.Other, time.Since(st.Since).Round(time.Second)))
	}
	page, err := s.w.List(context.Background(), "exports/", world.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, kv := range page.KVs {
		out = append(out, strings.TrimPrefix(kv.Key, "exports/"))
	}
	return strings.Join(out, ", ")
}

// TestPublisher: calls in, what the other hosts see out. A host that shares nothing is no member. A correction of less than a second
// is not published.
func TestPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := memory.New()
		s := &shown{t: t, w: w, log: &strings.Builder{}}
		s.p = hosts.NewPublisher(hosts.PublisherOptions{
			World: w, Clock: clock.System{}, Lease: time.Minute, Host: "me", Version: "1.0", Facts: func() engine.Facts { return engine.Facts{Hostname: "me"} },
			Log: slog.New(slog.NewTextHandler(s.log, nil)),
		})
		over := make(chan struct{})
		go func() { defer close(over); s.p.Run(ctx) }()
		for _, step := range []struct{ words, want string }{
			{"swap g", ""},
			{"part a b", ""},
			{"part secret>* large>*", ""},
			{"part a>*", `me working "g" ok 0 failed 0 blocked 0 other 0 for 0s, all/me/crate/a`},
			{"wait 5s", `me working "g" ok 0 failed 0 blocked 0 other 0 for 5s, all/me/crate/a`},
			{"rest ok=3", `me converged "g" ok 3 failed 0 blocked 0 other 0 for 0s, all/me/crate/a`},
			{"wait 5s", `me converged "g" ok 3 failed 0 blocked 0 other 0 for 5s, all/me/crate/a`},
			{"rest ok=2 paused=1", `me converged "g" ok 2 failed 0 blocked 0 other 1 for 5s, all/me/crate/a`},
			{"stir", `me converged "g" ok 2 failed 0 blocked 0 other 1 for 5s, all/me/crate/a`},
			{"wait 500ms", `me converged "g" ok 2 failed 0 blocked 0 other 1 for 6s, all/me/crate/a`},
			{"rest ok=3", `me converged "g" ok 3 failed 0 blocked 0 other 0 for 6s, all/me/crate/a`},
			{"wait 2s", `me converged "g" ok 3 failed 0 blocked 0 other 0 for 8s, all/me/crate/a`},
			{"stir", `me converged "g" ok 3 failed 0 blocked 0 other 0 for 8s, all/me/crate/a`},
			{"wait 1500ms", `me working "g" ok 3 failed 0 blocked 0 other 0 for 1s, all/me/crate/a`},
			{"rest ok=1 failed=1 blocked=1", `me failing "g" ok 1 failed 1 blocked 1 other 0 for 0s, all/me/crate/a`},
			{"part b>group:web+db", `me failing "g" ok 1 failed 1 blocked 1 other 0 for 0s, all/me/crate/a, group:web/me/crate/b, host:db/me/crate/b`},
			{"part b>db -none", `me failing "g" ok 1 failed 1 blocked 1 other 0 for 0s, all/me/crate/a, host:db/me/crate/b`},
			{"part a", `me failing "g" ok 1 failed 1 blocked 1 other 0 for 0s, host:db/me/crate/b`},
			{"part -b", `me failing "g" ok 1 failed 1 blocked 1 other 0 for 0s`},
			{"swap h", `me failing "h" ok 1 failed 1 blocked 1 other 0 for 0s`},
			{"rest ok=9", `me converged "h" ok 9 failed 0 blocked 0 other 0 for 0s`},
			{"swap same kept", `me converged "same" ok 9 failed 0 blocked 0 other 0 for 0s`},
			{"swap i", `me working "i" ok 9 failed 0 blocked 0 other 0 for 0s`},
		} {
			words := strings.Fields(step.words)
			if got := s.do(words[0], words[1:]...); got != step.want {
				t.Errorf("%s:\n%s\nwant\n%s", step.words, got, step.want)
			}
		}
		cancel()
		<-over
		if got := s.state(); got != "" {
			t.Errorf("after its end the host shows %s", got)
		}
		if log := s.log.String(); strings.Count(log, "other hosts do not get it") != 2 || strings.Contains(log, "canary") || !strings.Contains(log, "resource=crate[secret]") {
			t.Errorf("the log says\n%s", log)
		}
		s.p.Stirred() // its timer comes after the end of Run
		time.Sleep(2 * time.Second)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestQuietPublisher: a run that alters nothing publishes nothing, and a store that is used at all makes a member.
func TestQuietPublisher(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			w := memory.New()
			s := &shown{t: t, w: w, log: &strings.Builder{}}
			s.p = hosts.NewPublisher(hosts.PublisherOptions{
				World: w, Clock: clock.System{}, Lease: time.Minute, Host: "me", Facts: func() engine.Facts { return engine.Facts{} },
				Used: hosts.Used(w), Log: slog.New(slog.DiscardHandler), Quiet: quiet,
			})
			over := make(chan struct{})
			go func() { defer close(over); s.p.Run(ctx) }()
			s.do("swap", "g")
			if got := s.do("part", "a>*"); (got == "") != quiet {
				t.Errorf("quiet %t: %s", quiet, got)
			}
			cancel()
			<-over
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBoard: steps of Follow in, facts out.
func TestBoard(t *testing.T) {
	put := func(host, value string) world.Update {
		return world.Update{KV: world.KV{Key: hosts.MemberKey(host), Value: []byte(value)}}
	}
	gone := func(host string) world.Update {
		return world.Update{KV: world.KV{Key: hosts.MemberKey(host)}, Deleted: true}
	}
	var b hosts.Board
	if got := b.Facts(); len(got) > 0 {
		t.Error("a board of nothing has", got)
	}
	for i, step := range []struct {
		change  hosts.Change
		differs bool
		want    string
	}{
		{hosts.Change{Whole: true, Updates: []world.Update{put("a", `{"facts": {"cpus": 4, "load": 0.5, "os": "Debian"}}`)}}, true, `map[a:map[cpus:4 load:0.5 os:Debian]]`},
		{hosts.Change{Updates: []world.Update{put("a", `{"facts": {"cpus": 4, "load": 0.5, "os": "Debian"}, "state": {"ok": 3}}`)}}, false, `map[a:map[cpus:4 load:0.5 os:Debian]]`},
		{hosts.Change{Updates: []world.Update{put("b", `{`), put("c", `{}`)}}, true, `map[a:map[cpus:4 load:0.5 os:Debian] b:map[] c:map[]]`},
		{hosts.Change{Updates: []world.Update{gone("b"), gone("nobody")}}, true, `map[a:map[cpus:4 load:0.5 os:Debian] c:map[]]`},
		{hosts.Change{Updates: []world.Update{gone("b")}}, false, `map[a:map[cpus:4 load:0.5 os:Debian] c:map[]]`},
		{hosts.Change{Updates: []world.Update{{KV: world.KV{Key: "exports/x"}}, {KV: world.KV{Key: "hosts/a/b"}}}}, false, `map[a:map[cpus:4 load:0.5 os:Debian] c:map[]]`},
		{hosts.Change{Updates: []world.Update{put("a/b", `{"facts": {"big": 1e30}}`)}}, true, `map[a:map[cpus:4 load:0.5 os:Debian] a/b:map[big:1e+30] c:map[]]`},
		{hosts.Change{Whole: true, Updates: []world.Update{put("a", `{"facts": {"cpus": 5}}`)}}, true, `map[a:map[cpus:5]]`},
		{hosts.Change{Whole: true}, true, `map[]`},
		{hosts.Change{Whole: true}, false, `map[]`},
	} {
		differs := b.Take(step.change)
		if got := fmt.Sprint(b.Facts()); differs != step.differs || got != step.want {
			t.Errorf("step %d: differs %t, %s; want %t, %s", i, differs, got, step.differs, step.want)
		}
	}
	b.Take(hosts.Change{Updates: []world.Update{put("a", `{"facts": {"cpus": 5}}`)}})
	if n, ok := b.Facts()["a"]["cpus"].(int64); !ok || n != 5 {
		t.Errorf("the number of processors is %T", b.Facts()["a"]["cpus"])
	}
	facts := b.Facts()
	delete(facts, "a")
	if len(b.Facts()) != 1 {
		t.Error("a caller can take a host off the board")
	}
}

// TestFindingQ7Removed: an operator takes back all exports of a host, and no other key.
func TestFindingQ7Removed(t *testing.T) {
	w := memory.New()
	defer w.Close()
	put(t, w, "exports/all/web1/host/a=1", "exports/host:x/web1/host/b%2Fc=1", "exports/all/web10/host/a=1", "exports/all/web=1", "hosts/web1=1")
	store := hosts.Store{World: w, Clock: clock.System{}}
	for _, most := range []int{2, 0} {
		if n, err := store.DropExports(t.Context(), "web1"); n != most || err != nil {
			t.Errorf("%d keys, %v; want %d", n, err, most)
		}
	}
	page, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil || len(page.KVs) != 3 {
		t.Errorf("the store has %v, %v", page.KVs, err)
	}
}
