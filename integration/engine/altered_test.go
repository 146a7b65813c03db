package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// careless is a resource whose Init cleans a path, and whose CheckApply empties a list.
type careless struct {
	traits.Base
	traits.Unwatched

	Path  string        `lang:"path" yaml:"path"`
	Tags  []string      `lang:"tags" yaml:"tags"`
	Pass  schema.Secret `lang:"pass" yaml:"pass"`
	Found string        `lang:"found" mgmt:"readonly" yaml:"found"`
}

func (c *careless) Default() engine.Res { return &careless{} }
func (c *careless) Validate() error     { return nil }
func (c *careless) Cleanup() error      { return nil }
func (c *careless) Init(*engine.Init) error {
	c.Path, c.Pass = strings.TrimSuffix(c.Path, "/"), schema.NewSecret("canary-7f3d")
	return nil
}
func (c *careless) CheckApply(context.Context, bool) (bool, error) {
	c.Tags, c.Found = nil, "found"
	return true, nil
}
func (c *careless) Cmp(r engine.Res) error { return engine.CmpFields(c, r) }

// TestFindingM4Debug: with Debug, the log names each parameter that a method alters, and not its value.
func TestFindingM4Debug(t *testing.T) {
	for _, debug := range []bool{true, false} {
		var buf bytes.Buffer
		reg, err := engine.DefaultRegistry().With("careless", func() engine.Res { return &careless{} })
		if err != nil {
			t.Fatal(err)
		}
		o := mgmt.Options{NoAutoGroup: true, Registry: reg, Debug: debug, ConvergedExit: true, Logger: slog.New(slog.NewJSONHandler(&buf, nil))}
		g := static.NewGraph("careless")
		g.AddValues("careless", "a", map[string]any{"path": "/a/", "tags": []any{"x"}, "pass": "secret-of-the-graph"})
		g.AddValues("careless", "b", map[string]any{"path": "/b", "pass": "canary-7f3d"})
		if _, err := mgmt.Run(t.Context(), o, static.New(g.Declared())); err != nil {
			t.Fatal(err)
		}
		var said []string
		for line := range bytes.Lines(buf.Bytes()) {
			var rec struct {
				Msg, Resource, Method string
				Parameters            []string
			}
			if err := json.Unmarshal(line, &rec); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(rec.Msg, "alters parameters") {
				said = append(said, rec.Resource+" "+rec.Method+" "+strings.Join(rec.Parameters, ","))
			}
		}
		slices.Sort(said)
		want := []string{"careless[a] CheckApply tags", "careless[a] Init path,pass"}
		if !debug {
			want = nil
		}
		if !slices.Equal(said, want) || strings.Contains(buf.String(), "canary") || strings.Contains(buf.String(), "secret-of") {
			t.Errorf("debug %t: %q; %s", debug, said, buf.String())
		}
	}
}
