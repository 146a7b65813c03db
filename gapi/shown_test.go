package gapi_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// tag has a name and a path of its own, and a default.
type tag struct {
	traits.Base
	Name_ string        `yaml:"name" mgmt:"identity"`
	Path  string        `yaml:"path" mgmt:"identity"`
	Count int           `yaml:"count"`
	Key   schema.Secret `yaml:"key"`
	Force bool          `yaml:"force" mgmt:"param"`
	Old   *string       `yaml:"old"`
}

func (*tag) Default() engine.Res                            { return &tag{Count: 3, Force: true, Old: new("o")} }
func (*tag) Validate() error                                { return nil }
func (*tag) Init(*engine.Init) error                        { return nil }
func (*tag) Cleanup() error                                 { return nil }
func (*tag) Watch(context.Context) error                    { return nil }
func (*tag) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*tag) Cmp(engine.Res) error                           { return nil }

// TestShow: the name is not shown a second time, what is not by default so is unless it
// can't be read, and no secret.
func TestShow(t *testing.T) {
	reg := engine.NewRegistry()
	if err := reg.Register("tag", func() engine.Res { return &tag{} }); err != nil {
		t.Fatal(err)
	}
	k, err := reg.Kind("tag")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		res    engine.Res
		hidden []string
		want   []gapi.ShownAttr
	}{
		{&tag{Name_: "x", Path: "x", Count: 3, Old: new("o")}, nil, []gapi.ShownAttr{{Key: "count", Value: int64(3)}, {Key: "old", Value: "o"}}},
		{&tag{Name_: "y", Path: "z", Force: true}, nil, []gapi.ShownAttr{{Key: "path", Value: "z"}, {Key: "count", Value: int64(0)}, {Key: "force", Value: true}, {Key: "old"}}},
		{&tag{Count: 3, Old: new("o"), Key: schema.NewSecret("canary")}, []string{"count"}, []gapi.ShownAttr{{Key: "count", Hidden: true}, {Key: "key", Hidden: true}, {Key: "old", Value: "o"}}},
		{nil, nil, nil},
		{(*tag)(nil), nil, nil},
	} {
		s, err := gapi.Show(k, "x", (&tag{}).Default(), c.res, c.hidden)
		if diff := cmp.Diff(c.want, s.Attrs); err != nil || diff != "" || s.Absent != (c.want == nil) {
			t.Errorf("%+v, %v: %s", s, err, diff)
		}
	}
	if _, err := gapi.Show(k, "x", (&tag{}).Default(), &other{}, nil); err == nil {
		t.Error("two types are no error")
	}
}

type other struct{ tag }
