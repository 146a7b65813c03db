package mgmt_test

import (
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	worldmem "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// TestAcceptObjects: an object that could run a program is refused by the rule of collected resources, and its status says so. The
// others take effect.
func TestAcceptObjects(t *testing.T) {
	tests := map[string]struct {
		accept []string
		kind   string
		object string
		want   string // of the refusal; empty for none
	}{
		"a file":                {nil, "file", `{"id":"/x","content":"c"}`, ""},
		"an exec":               {nil, "exec", `{"id":"x","cmd":"touch $DIR/ran"}`, "it could run a program, and the setting accept does not name the kind exec"},
		"a file that validates": {nil, "file", `{"id":"/x","content":"c","validate":"touch $DIR/ran"}`, "the kind file"},
		"a named exec":          {[]string{"exec"}, "exec", `{"id":"x","cmd":"true"}`, ""},
		"a file not named":      {[]string{"exec"}, "file", `{"id":"/x","content":"c"}`, "this host takes over the kinds exec"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reg := engine.DefaultRegistry()
			rule := func(d *gapi.Declaration) error { return collect.Accepted(reg, test.accept, d.Kind, d.Value) }
			h := startObjectsBy(t, worldmem.New(), "h", rule)
			text := strings.ReplaceAll(strings.ReplaceAll(test.object, "$DIR", h.dir), `"/x"`, `"`+h.path("x")+`"`)
			o := h.object(test.kind, text)
			h.create(o)
			eventually(t, func() string {
				all, err := h.nb.StatusesOf(t.Context(), "h")
				if err != nil || len(all) != 1 {
					return "there is no status"
				}
				got := string(all[0].JSON)
				switch refused := strings.Contains(got, `"`+native.Refused+`"`); {
				case refused != (test.want != ""), !strings.Contains(got, test.want):
					return "the status is " + got
				case !refused && !strings.Contains(got, `"ok"`):
					return "the status is " + got
				}
				return ""
			})
			if _, err := os.Stat(h.path("ran")); err == nil && test.want != "" {
				t.Error("the program of a refused object has run")
			}
		})
	}
}
