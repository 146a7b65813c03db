package attack_test

import (
	"encoding/json"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// TestFindingH2Crooked: records that no mgmt writes are left out: keys that come twice, expressions, wiring among the parameters, identities in another
// notation, and kinds in another case.
func TestFindingH2Crooked(t *testing.T) {
	rules, err := lend.Parse([]string{"file=/in/", "line=/in/", "ini_setting=/in/", "host=web*", "sysctl=net.*", "kv=web/*", "value", "print", "gzip=/in/"})
	if err != nil {
		t.Fatal(err)
	}
	reg := engine.DefaultRegistry()
	var wishes []gapi.CollectDecl
	for _, kind := range reg.Kinds() {
		wishes = append(wishes, gapi.CollectDecl{Kind: kind, From: "*"})
	}
	taken := func(kind, name, value, meta string) bool {
		t.Helper()
		x := hosts.Export{Topic: "all", From: "foe", Kind: kind, Name: name, Record: hosts.Record{Value: json.RawMessage(value), Meta: json.RawMessage(meta)}}
		found, _ := collect.Declare(collect.Options{Host: "victim", Registry: reg, Accept: rules}, wishes, []hosts.Export{x}, func(string) bool { return false })
		if len(found) == 0 {
			return false
		}
		res, err := reg.New(found[0].Kind)
		if err != nil {
			t.Fatal(err)
		}
		res.SetName(found[0].Name)
		return runs(res, &found[0].Declaration)
	}
	for _, c := range []struct{ kind, name, value string }{
		{"file", "/in/x", `{"content":"x"}`}, {"line", "any", `{"file":"/in/x","content":"x"}`}, {"ini_setting", "any", `{"path":"/in/x","section":"s","setting":"k","value":"v"}`},
		{"host", "web1", `{"ip":"192.0.2.1","host_aliases":["web2"],"comment":"x"}`}, {"sysctl", "net.x", `{"value":"1"}`}, {"sysctl", "any", `{"key":"net.x/1.y","value":"1"}`},
		{"kv", "web/x", `{"value":"x"}`}, {"print", "x", `{"msg":"x"}`}, {"gzip", "/in/x", `{"content":"x"}`},
	} {
		if !taken(c.kind, c.name, c.value, "") {
			t.Errorf("%s[%q] with %s is left out: the test proves nothing", c.kind, c.name, c.value)
		}
	}
	for _, c := range []struct{ kind, name, value, meta string }{
		{"file", "/in/x", `{"mode":"0644","mode":"4755"}`, ""},
		{"file", "/in/x", `{"path":"/in/x","path":"/etc/cron.d/x"}`, ""},
		{"file", "/in/x", `{"path":"/etc/cron.d/x","path":"/in/x"}`, ""},
		{"file", "/in/x", `{"content":"${{ file('/etc/shadow') }}","when":true}`, ""},
		{"file", "/in/x", `{"content":{"secret":"x"}}`, ""},
		{"file", "/in/x", `{"content":"x","recv":{"content":"exec[x].output"}}`, ""},
		{"file", "/in/x", `{"content":"x","for_each":["a"]}`, ""},
		{"file", "/in/x", `{"content":"x","meta":{"export":["*"]}}`, ""},
		{"file", "/in/x", `{"content":"x","name":"/etc/cron.d/x"}`, ""},
		{"file", "/in/x", `{"dirname":"/etc/cron.d/"}`, ""},
		{"file", "/in/x", `{"basename":"../../etc/cron.d/x"}`, ""},
		{"file", "/in/x", `{"path":"/in/../etc/cron.d/x"}`, ""},
		{"file", "/in/x", `{"path":"/in//../../etc/x"}`, ""},
		{"file", "/in/x", `{"path":["/etc/cron.d/x"]}`, ""},
		{"file", "/in/x\x00", `{"content":"x","path":"/etc/x"}`, ""},
		{"file", "/in/x", `{"source":""}{"content":"x"}`, ""},
		{"file", "/in/x", `[{"content":"x"}]`, ""},
		{"file", "/in/x", `{"content":"x"}`, `{"poll":"no time"}`},
		{"File", "/in/x", `{"content":"x"}`, ""},
		{"FILE", "/in/x", `{"content":"x"}`, ""},
		{"file ", "/in/x", `{"content":"x"}`, ""},
		{"line", "/in/x", `{"content":"x"}`, ""},
		{"line", "/in/x", `{"file":"/etc/passwd","content":"x"}`, ""},
		{"ini_setting", "/in/x [s] k", `{"path":"/etc/x","section":"s","setting":"k","value":"v"}`, ""},
		{"ini_setting", "/in/x", `{"path":"/in/x","section":"s","setting":"k","value":"v\n[Service]\nExecStart=/bin/x"}`, ""},
		{"host", "web1 in /etc/cron.d/x", `{"ip":"192.0.2.1"}`, ""},
		{"host", "web1", `{"ip":"192.0.2.1","host_aliases":["bank.example"]}`, ""},
		{"host", "web1", `{"ip":"192.0.2.1","host_aliases":["web2 bank.example"]}`, ""},
		{"host", "web1", `{"ip":"192.0.2.1","comment":"x\n192.0.2.2 bank.example"}`, ""},
		{"host", "web1", `{"ip":"192.0.2.1 bank.example"}`, ""},
		{"host", "web1", `{"hostname":"bank.example","ip":"192.0.2.1"}`, ""},
		{"sysctl", "net.x", `{"key":"net/../kernel/core_pattern","value":"|/bin/x"}`, ""},
		{"sysctl", "net.x", `{"key":"net.//.kernel.core_pattern","value":"|/bin/x"}`, ""},
		{"sysctl", "net.x", `{"key":"net.//.x//.kernel.core_pattern","value":"|/bin/x"}`, ""},
		{"sysctl", "net.x", `{"value":"1\nkernel.core_pattern = |/bin/x"}`, ""},
		{"sysctl", "net.x\nkernel.core_pattern", `{"value":"1"}`, ""},
		{"sysctl", "net.x", `{"path":"/etc/sysctl.d/00-x.conf","value":"1"}`, ""},
		{"kv", "web/x", `{"topic":"group:db","value":"x"}`, ""},
		{"kv", "web/x", `{"key":"db/x","value":"x"}`, ""},
		{"kv", "web/../db/x", `{"value":"x"}`, ""},
		{"print", "x", `{"msg":"x","level":"x"}`, ""},
		{"gzip", "/in/x", `{"content":"x","input":"/etc/shadow"}`, ""},
	} {
		if taken(c.kind, c.name, c.value, c.meta) {
			t.Errorf("%s[%q] with %s %s is taken over", c.kind, c.name, c.value, c.meta)
		}
	}
}

// runs reports whether the graph takes a declaration: it can be decoded, and it is valid. The engine puts others aside.
func runs(res engine.Res, d *gapi.Declaration) bool {
	meta := *engine.MetaOf(res)
	return schema.Decode(d.Value, res).Err() == nil && engine.DecodeMeta(d.Meta, &meta).Err() == nil && res.Validate() == nil
}
