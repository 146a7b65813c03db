package gapi_test

import (
	"math"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Metaparameters set in Go are checked as those of a file: all of them, at once,
// with the name of the resource in place of a position.
func TestBuildMetaFromGo(t *testing.T) {
	ready := func(name string, m engine.MetaParams) gapi.Declaration {
		res := &plain{}
		res.SetMetaParams(&m)
		return gapi.Declaration{Kind: "plain", Name: name, Res: res}
	}
	findings(t, registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{
		ready("good", engine.MetaParams{Retry: -1, Delay: time.Second, Limit: 1, Burst: 1, Sema: []string{"a:2"}}),
		ready("bad", engine.MetaParams{
			Retry: -3, DelayMax: time.Second, Timeout: -time.Second, Limit: math.NaN(),
			Sema: []string{"x", "x"}, Drift: "repair", Export: []string{""},
		}),
	}},
		"plain[bad]: retry is -3, it must be -1 (for ever) or more",
		"plain[bad]: timeout is -1s, it must not be negative",
		"plain[bad]: delaymax is 1s without a delay to begin with, set delay too",
		"plain[bad]: limit is NaN, it must be a number of runs a second, 0 for no limit",
		`plain[bad]: semaphore "x" is named twice, it stands there as "x" already`,
		`plain[bad]: drift is "repair", it must be fix, report or ask`,
		"plain[bad]: export names a host without a name, write the name of a host, or * for all",
	)
}

// What is declared as data has the place of the value, and the path says which.
func TestBuildMetaPaths(t *testing.T) {
	d := declare(2, "plain", "a")
	sema := &schema.Node{Kind: schema.NodeList, Pos: at(3, 9), Items: []*schema.Node{text(4, "disk"), text(5, "disk:1")}}
	d.Meta = object(3, pair("sema", sema), pair("burst", number(6, "2")), pair("limit", text(7, "two")), pair("delaymax", text(8, "2s")))
	_, ds := gapi.Build(registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{d}})
	want := []struct {
		path string
		pos  schema.Pos
	}{
		{"meta.sema[1]", at(5, 9)},
		// Of burst nothing is said: the limit that it needs is there, but can't be read.
		{"meta.limit", at(7, 9)},
		{"meta.delaymax", at(8, 9)},
	}
	if len(ds) != len(want) {
		t.Fatal(ds)
	}
	for i, d := range ds {
		if d.Path != want[i].path || d.Pos != want[i].pos || d.Resource != "plain[a]" {
			t.Errorf("%+v, want %v", d, want[i])
		}
	}
}
