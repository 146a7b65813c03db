package gapi_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Who retries for ever with nothing between is told, and served all the same.
func TestBuildRetry(t *testing.T) {
	const fast = "g:5:20: warning: retry: -1 without a delay tries as fast as it can; give it a delay"
	num := func(col int32, text string) *schema.Node {
		return &schema.Node{Kind: schema.NodeInt, Pos: at(5, col), Text: text}
	}
	ever := pair("retry", num(20, "-1"))
	for name, test := range map[string]struct {
		meta *schema.Node
		want string
	}{
		"for ever": {object(5, ever), fast}, "0 of delay": {object(5, ever, pair("delay", num(30, "0"))), fast},
		"with a delay": {object(5, ever, pair("delay", num(30, "1"))), ""},
		"with a limit": {object(5, ever, pair("limit", num(30, "1")), pair("burst", num(40, "1"))), ""},
		"some":         {object(5, pair("retry", num(20, "1000"))), ""},
	} {
		r := declare(5, "plain", "a")
		r.Meta = test.meta
		g, ds := gapi.Build(registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{r}})
		got := ""
		if len(ds) > 0 {
			got = ds.Error()
		}
		if g == nil || got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
