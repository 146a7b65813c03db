package look_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

func looker(t *testing.T, o look.Options) *look.Inspector {
	t.Helper()
	l, err := look.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func target(kind, name string, params map[string]any) look.Target {
	v, err := schema.NodeOf(params)
	if err != nil {
		panic(err)
	}
	return look.Target{Declaration: gapi.Declaration{Kind: kind, Name: name, Value: v}}
}

// seen writes what a sequence yields, one line for each.
func seen(seq iter.Seq2[look.Observation, error]) []string {
	var list []string
	for s, err := range seq {
		list = append(list, seenText(s, err))
	}
	return list
}

func seenText(s look.Observation, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	words := []string{s.Kind, s.Name}
	if s.Absent {
		words = append(words, "absent")
	}
	for _, a := range s.Attrs {
		words = append(words, fmt.Sprintf("%s=%v", a.Key, a.Value))
	}
	return strings.Join(words, " ")
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestLookRead: things are read one after the other in one transaction, each is
// initialised and cleaned up, and what they share is opened once.
func TestLookRead(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum", "b": "fig"})
	l, err := look.New(o)
	if err != nil {
		t.Fatal(err)
	}
	got := seen(l.Read(t.Context(), target("JAR", "a", nil), target("jar", "none", nil), target("jar", "b", map[string]any{"size": 5})))
	same(t, "seen", got, []string{"jar a label=plum size=1 weight=4", "jar none absent", "jar b label=fig size=5 weight=3"})
	same(t, "again", seen(l.Read(t.Context(), target("jar", "a", nil))), []string{"jar a label=plum size=1 weight=4"})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	same(t, "calls", s.calls, strings.Fields("open Init Begin Read Cleanup Init Read Cleanup Init Read Cleanup End Init Begin Read Cleanup End Close"))
}

// TestLookReadFails: what is wrong with one thing is told and the next one is looked
// at; a panic is an error, and whatever was initialised is cleaned up.
func TestLookReadFails(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	s.fault = func(method, name string) error {
		switch name {
		case "bad " + method:
			return errors.New("broken")
		case "mad " + method:
			panic("boo")
		}
		return nil
	}
	l := looker(t, o)
	for _, c := range []struct {
		target look.Target
		want   string
		usage  bool
	}{
		{target("jar", "bad Validate", nil), "jar[bad Validate]: broken", true},
		{target("jar", "mad Validate", nil), "jar[mad Validate]: Validate panicked: boo", true},
		{target("jar", "a/b", nil), "jar[a/b]: a jar has no slash in its name", true},
		{target("jar", "a", map[string]any{"size": "many", "lable": 1}), `unknown key "lable" (did you mean "label"?)`, true},
		{target("jar", "bad Init", nil), "jar[bad Init]: cannot be initialised: broken", false},
		{target("jar", "mad Init", nil), "jar[mad Init]: cannot be initialised: Init panicked: boo", false},
		{target("jar", "bad Read", nil), "jar[bad Read]: broken", false},
		{target("jar", "mad Read", nil), "jar[mad Read]: Read panicked: boo", false},
		{target("jar", "bad Cleanup", nil), "jar[bad Cleanup]: broken", false},
		{target("jra", "a", nil), `unknown resource kind "jra" (did you mean "jar"?)`, false},
	} {
		s.calls = nil
		got := seen(l.Read(t.Context(), c.target, target("jar", "a", nil)))
		if len(got) != 2 || !strings.HasPrefix(got[0], "error: "+c.want) || got[1] != "jar a label=plum size=1 weight=4" {
			t.Errorf("%q, want %s", got, c.want)
		}
		if n := count(s.calls, "Init") - count(s.calls, "Cleanup"); n != 0 {
			t.Errorf("%s: %q", c.want, s.calls)
		}
		for _, err := range l.Read(t.Context(), c.target) {
			if _, ok := errors.AsType[schema.Diagnostics](err); ok != c.usage {
				t.Errorf("%v is a %T", err, err)
			}
		}
	}
	for _, err := range l.Read(t.Context(), target("deaf", "x", nil)) {
		if !errors.Is(err, look.ErrBlind) {
			t.Error(err)
		}
	}
	for _, err := range l.List(t.Context(), target("deaf", "", nil)) {
		if !errors.Is(err, look.ErrBlind) {
			t.Error(err)
		}
	}
}

func count(list []string, s string) (n int) {
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}

// TestLookReadEnds: the end of the context ends a look, and nothing more is yielded.
func TestLookReadEnds(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.hold = func(ctx context.Context, _ string) {
		cancel()
		<-ctx.Done()
	}
	same(t, "seen", seen(looker(t, o).Read(ctx, target("jar", "a", nil), target("jar", "b", nil))), nil)
	same(t, "calls", s.calls, strings.Fields("open Init Begin Read Cleanup End"))
}

// TestLookList: what is found is yielded at once, and the search ends when nobody
// wants more.
func TestLookList(t *testing.T) {
	many := map[string]string{}
	for i := range 10_000 {
		many[fmt.Sprintf("%05d", i)] = "x"
	}
	s, o := jars(t, many)
	l := looker(t, o)
	n := 0
	for seen, err := range l.List(t.Context(), target("jar", "", nil)) {
		if err != nil || seen.Name != fmt.Sprintf("%05d", n) || s.looked != n+1 {
			t.Fatalf("%s, %v after %d, of %d that were found", seen.Name, err, n, s.looked)
		}
		n++
	}
	if n != len(many) {
		t.Errorf("%d", n)
	}
	same(t, "calls", s.calls, strings.Fields("open Init Begin listed Cleanup End"))
	for range l.List(t.Context(), target("jar", "", nil)) {
		break
	}
	same(t, "calls", s.calls[6:], strings.Fields("Init Begin listed Cleanup End"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	for range l.List(ctx, target("jar", "", nil)) {
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d were listed after the end", n)
	}
}

// TestLookListFails: an error about one thing does not hide the others; a panic ends
// the search; what the caller does wrong is his own.
func TestLookListFails(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "1", "b": "2", "c": "3"})
	l := looker(t, o)
	s.fault = func(method, name string) error {
		if method == "List" && name == "b" {
			return errors.New("broken")
		}
		return nil
	}
	same(t, "error", seen(l.List(t.Context(), target("jar", "", nil))), []string{"jar a label=1 size=1 weight=1", "error: broken", "jar c label=3 size=1 weight=1"})
	s.fault = func(method, name string) error {
		if method == "List" && name == "b" {
			panic("boo")
		}
		return nil
	}
	same(t, "panic", seen(l.List(t.Context(), target("jar", "", nil))), []string{"jar a label=1 size=1 weight=1", "error: List panicked: boo"})
	s.fault = nil
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		for range l.List(t.Context(), target("jar", "", nil)) {
			panic("mine")
		}
	}()
}

// TestLookLacks: what must be given to be set need not be to look.
func TestLookLacks(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	reg, err := o.Registry.With("strict", func() engine.Res { return &strictJar{jar: jar{cupboard: s}} })
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = reg
	got := seen(looker(t, o).Read(t.Context(), target("strict", "a", nil), target("strict", "a", map[string]any{"size": 0})))
	same(t, "seen", got, []string{"strict a label=plum size=1 weight=4", "error: strict[a]: size is too small"})
}

// strictJar refuses what lacks a label that will not be received.
type strictJar struct {
	jar `yaml:",inline"`
	traits.Recvable
}

func (j *strictJar) Default() engine.Res { return &strictJar{jar: jar{cupboard: j.cupboard, Size: 1}} }
func (j *strictJar) Read(ctx context.Context) (engine.Res, error) {
	if len(j.Recv()) > 0 {
		return nil, errors.New("it is still told that it will receive")
	}
	got := &strictJar{jar: *j.see(j.Name(), "plum")}
	return got, nil
}

func (j *strictJar) Validate() error {
	if _, coming := j.Recv()["label"]; j.Label == "" && !coming {
		return errors.New("label is required")
	}
	if j.Size < 1 {
		return errors.New("size is too small")
	}
	return nil
}

// TestLookHidden: secrets are not among what is shown, by their type or because they
// were given as such.
func TestLookHidden(t *testing.T) {
	_, o := jars(t, map[string]string{"a": "canary"})
	tg := target("jar", "a", nil)
	tg.Secret = []string{"label"}
	for s, err := range looker(t, o).Read(t.Context(), tg) {
		if err != nil || !s.Attrs[0].Hidden || s.Attrs[0].Value != nil {
			t.Errorf("%+v, %v", s.Attrs, err)
		}
	}
}

// TestLookVarDir: without a state folder there is a temporary one, with one nothing is
// made in it.
func TestLookVarDir(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	var dirs []string
	s.fault = func(string, string) error { return nil }
	reg, err := o.Registry.With("dir", func() engine.Res { return &dirJar{jar: jar{cupboard: s}, dirs: &dirs} })
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = reg
	for _, state := range []string{"", t.TempDir()} {
		o.StateDir = state
		l, err := look.New(o)
		if err != nil {
			t.Fatal(err)
		}
		seen(l.Read(t.Context(), target("dir", "a", nil)))
		if _, err := os.Stat(dirs[0]); (err == nil) != (state == "") || !strings.HasSuffix(dirs[0], "/vars/dir/a/sub") {
			t.Errorf("%q: %v", dirs, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dirs[0]); err == nil {
			t.Error("it is still there")
		}
		dirs = nil
	}
}

type dirJar struct {
	jar
	dirs *[]string
}

func (d *dirJar) Default() engine.Res { return &dirJar{jar: jar{cupboard: d.cupboard}, dirs: d.dirs} }
func (d *dirJar) Read(context.Context) (engine.Res, error) {
	dir, err := d.init.VarDir("sub")
	*d.dirs = append(*d.dirs, dir)
	return nil, err
}

// TestFollow: a thing is yielded once, and again when it is another one.
func TestFollow(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	s.fault = func(method, name string) error {
		if label, _ := s.at(name); method == "Read" && label == "bad" {
			return errors.New("broken")
		}
		return nil
	}
	steps := []string{"fig", "bad", "fig", ""}
	for seen, err := range looker(t, o).Follow(ctx, target("jar", "a", nil)) {
		got = append(got, seenText(seen, err))
		if len(steps) == 0 {
			cancel()
			continue
		}
		s.events <- struct{}{} // nothing has changed: nothing is yielded
		s.put("a", steps[0])
		steps = steps[1:]
		s.events <- struct{}{}
	}
	same(t, "seen", got, []string{
		"jar a label=plum size=1 weight=4", "jar a label=fig size=1 weight=3", "error: jar[a]: broken", "jar a label=fig size=1 weight=3", "jar a absent",
	})
	// A last look may still come when the Watch has ended.
	if n := count(s.calls, "Begin") - count(s.calls, "End"); n != 0 || count(s.calls, "unwatched") != 1 || s.calls[len(s.calls)-1] != "Cleanup" {
		t.Errorf("%q", s.calls)
	}
}

// TestFollowEnds: with the Watch, or when nobody wants more.
func TestFollowEnds(t *testing.T) {
	s, o := jars(t, map[string]string{"a": "plum"})
	l := looker(t, o)
	for want, fault := range map[string]func() error{
		"error: jar[a]: its Watch has ended: broken":              func() error { return errors.New("broken") },
		"error: jar[a]: its Watch has ended: Watch panicked: boo": func() error { panic("boo") },
		"error: jar[a]: its Watch has ended: it gives no reason":  func() error { return errQuiet },
	} {
		s.fault = func(method, _ string) error {
			if method == "Watch" {
				return fault()
			}
			return nil
		}
		var got []string
		for seen, err := range l.Follow(t.Context(), target("jar", "a", nil)) {
			if got = append(got, seenText(seen, err)); err == nil {
				s.events <- struct{}{}
			}
		}
		same(t, want, got, []string{"jar a label=plum size=1 weight=4", want})
	}
	s.fault = nil
	for range l.Follow(t.Context(), target("jar", "a", nil)) {
		break
	}
	if got := seen(l.Follow(t.Context(), target("jar", "a/b", nil))); len(got) != 1 || !strings.HasPrefix(got[0], "error: ") {
		t.Errorf("%q", got)
	}
}

// pinJar is a jar whose Read says its code.
type pinJar struct {
	jar
	Code schema.Secret `yaml:"code"`
}

func (j *pinJar) Default() engine.Res { return &pinJar{jar: jar{cupboard: j.cupboard}} }
func (j *pinJar) Read(context.Context) (engine.Res, error) {
	j.init.Logf("the code is %s", j.Code.Reveal())
	return nil, fmt.Errorf("no jar opens with %s", j.Code.Reveal())
}

// TestLookKeepsSecrets: a secret parameter is in neither an error of a look nor its log.
func TestLookKeepsSecrets(t *testing.T) {
	s, o := jars(t, nil)
	reg, err := o.Registry.With("pinned", func() engine.Res { return &pinJar{jar: jar{cupboard: s}} })
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	o.Registry, o.Logger = reg, slog.New(slog.NewTextHandler(&log, nil))
	got := seen(looker(t, o).Read(t.Context(), target("pinned", "a", map[string]any{"code": "canary-7f3d"})))
	if want := "error: pinned[a]: no jar opens with (secret)"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(log.String(), "canary") || !strings.Contains(log.String(), "the code is (secret)") || !strings.Contains(log.String(), "pinned[a]") {
		t.Error(log.String())
	}
}
