package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lend"
	worldmem "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// TestFindingH2Objects: an object that could run a program is refused by the rule of collected resources, and its status says so. The
// others take effect.
func TestFindingH2Objects(t *testing.T) {
	tests := map[string]struct {
		accept []string
		kind   string
		object string
		want   string // of the refusal; empty for none
	}{
		"a print":                  {nil, "print", `{"id":"x","msg":"m"}`, ""},
		"a file by default":        {nil, "file", `{"id":"/x","content":"c"}`, "by default only host, kv, noop, print, value come from other hosts"},
		"a file":                   {[]string{"file"}, "file", `{"id":"/x","content":"c","mode":"0640","meta":{"poll":60}}`, ""},
		"a file elsewhere":         {[]string{"file=/etc/motd.d/"}, "file", `{"id":"/x","content":"c"}`, "only at /etc/motd.d/"},
		"a file elsewhere by path": {[]string{"file=/etc/motd.d/"}, "file", `{"id":"/etc/motd.d/x","path":"/x","content":"c"}`, "only at /etc/motd.d/"},
		"an exec":                  {nil, "exec", `{"id":"x","cmd":"touch $DIR/ran"}`, "the setting accept does not name the kind exec"},
		"a file that validates":    {[]string{"file"}, "file", `{"id":"/x","content":"c","validate":"touch $DIR/ran"}`, "it gives validate, which the kind does not lend to other hosts: add file.validate to the setting accept"},
		"a file with an owner":     {[]string{"file"}, "file", `{"id":"/x","content":"c","owner":"root"}`, "it gives owner"},
		"a file with setuid":       {[]string{"file"}, "file", `{"id":"/x","content":"c","mode":"4755"}`, "a mode with bits above 0777"},
		"a file that is absent":    {[]string{"file"}, "file", `{"id":"/x","state":"absent"}`, "which takes the thing away"},
		"a file that receives":     {[]string{"file"}, "file", `{"id":"/x","recv":{"content":"exec[x].output"}}`, "it has recv"},
		"an exec that is named":    {[]string{"exec"}, "exec", `{"id":"touch $DIR/ran"}`, "no exec comes from another host as it is"},
		"an exec that is lent":     {[]string{"exec.*"}, "exec", `{"id":"x","cmd":"true"}`, ""},
		"a file not named":         {[]string{"exec.*"}, "file", `{"id":"/x","content":"c"}`, "this host takes over the kinds exec"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reg := engine.DefaultRegistry()
			rules, err := lend.Parse(test.accept)
			if err != nil {
				t.Fatal(err)
			}
			rule := native.Accepting(func() *engine.Registry { return reg }, rules)
			h := startObjectsBy(t, worldmem.New(), "h", rule)
			text := strings.ReplaceAll(strings.ReplaceAll(test.object, "$DIR", h.dir), `"id":"/x"`, `"id":"`+h.path("x")+`"`)
			text = strings.ReplaceAll(text, `"path":"/x"`, `"path":"`+h.path("x")+`"`)
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
