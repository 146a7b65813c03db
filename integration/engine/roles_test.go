package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// roleRes tells the facts of its host.
type roleRes struct {
	traits.Base
	init *engine.Init
	tell chan<- engine.Facts
}

func (r *roleRes) Default() engine.Res          { return &roleRes{tell: r.tell} }
func (r *roleRes) Validate() error              { return nil }
func (r *roleRes) Init(init *engine.Init) error { r.init = init; return nil }
func (r *roleRes) Cleanup() error               { return nil }
func (r *roleRes) Cmp(engine.Res) error         { return nil }

func (r *roleRes) Watch(ctx context.Context) error {
	r.init.Running()
	<-ctx.Done()
	return nil
}

func (r *roleRes) CheckApply(context.Context, bool) (bool, error) {
	r.tell <- r.init.Host.Facts()
	return true, nil
}

// TestRoles: the roles and the name of the options are facts for every resource.
func TestRoles(t *testing.T) {
	told := make(chan engine.Facts, 1)
	reg := engine.NewRegistry()
	if err := reg.Register("role", func() engine.Res { return &roleRes{tell: told} }); err != nil {
		t.Fatal(err)
	}
	d := &gapi.Declared{Name: "roles", Resources: []gapi.Declaration{static.Declare("role", "it", &roleRes{tell: told})}}
	if _, err := mgmt.Run(t.Context(), mgmt.Options{Registry: reg, Roles: []string{"web"}, Hostname: "w2", ConvergedExit: true, ConvergedTimeout: time.Millisecond}, static.New(d)); err != nil {
		t.Fatal(err)
	}
	if got := <-told; !slices.Equal(got.Roles, []string{"web"}) || got.Hostname != "w2" {
		t.Errorf("roles %v of %q", got.Roles, got.Hostname)
	}
}
