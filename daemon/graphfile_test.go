package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/traits"
)

// moody is a kind that can't be initialised if its name says so.
type moody struct {
	traits.Base
	init *engine.Init
}

func (m *moody) Default() engine.Res                            { return &moody{} }
func (m *moody) Validate() error                                { return nil }
func (m *moody) Cleanup() error                                 { return nil }
func (m *moody) Cmp(engine.Res) error                           { return nil }
func (m *moody) CheckApply(context.Context, bool) (bool, error) { return true, nil }

func (m *moody) Init(i *engine.Init) error {
	m.init = i
	if m.Name() == "bad" {
		return errors.New("not today")
	}
	return nil
}

func (m *moody) Watch(ctx context.Context) error {
	m.init.Running()
	<-ctx.Done()
	return nil
}

// applying is a daemon with a graph file, in this process.
func applying(t *testing.T, path string) *graphInput {
	t.Helper()
	kinds, err := engine.DefaultRegistry().With("moody", func() engine.Res { return &moody{} })
	if err != nil {
		t.Fatal(err)
	}
	loaded := make(chan struct{}, 16)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	e, err := mgmt.Open(ctx, mgmt.Options{Registry: kinds, Reload: make(chan struct{}), Observer: mgmt.Observer{Loaded: func(func() *resgraph.Graph) { loaded <- struct{}{} }}}, yaml.New(path, yaml.Options{Source: gapi.Source{}}))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- e.Wait() }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-loaded
	return newGraphInput(func() *input.Input { return input.New(input.Config{YAML: path}, input.Env{}) }, e, func(string) {}, func() []string { return nil })
}

// TestFindingC4InitFails: a graph that passes every check, and can't be initialised then, leaves the
// file as it was, and the graph of that file in effect. Where there had been no file, there is none.
func TestFindingC4InitFails(t *testing.T) {
	const good, bad = "resources: {moody: [{name: one}]}\n", "resources: {moody: [{name: one}, {name: bad}]}\n"
	path := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(path, []byte(good), 0o640); err != nil {
		t.Fatal(err)
	}
	g := applying(t, path)
	for range 2 {
		v, err := g.Apply(t.Context(), "new.yaml", []byte(bad), nil)
		if err != nil || !strings.Contains(v.Refused, "moody[bad]") || !strings.Contains(v.Refused, "not today") {
			t.Fatalf("%+v, %v", v, err)
		}
		if got, err := os.ReadFile(path); string(got) != good || err != nil {
			t.Errorf("the file is %q, %v", got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
		now, err := g.engine.Snapshot(t.Context())
		if err != nil || len(now.Statuses) != 1 || now.Statuses[0].Resource != "moody[one]" {
			t.Errorf("%+v, %v", now, err)
		}
	}
	if v, err := g.Reload(t.Context()); err != nil || v.Refused != "" {
		t.Errorf("the file of before is refused: %+v, %v", v, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if v, err := g.Apply(t.Context(), "new.yaml", []byte(bad), nil); err != nil || !strings.Contains(v.Refused, "not today") {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
	if v, err := g.Apply(t.Context(), "new.yaml", []byte(good), nil); err != nil || v.Refused != "" {
		t.Errorf("%+v, %v", v, err)
	}
}
