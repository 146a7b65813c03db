package yaml_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestFormats: the functions for other notations, networks and versions give these values, or a fault at the expression.
func TestFormats(t *testing.T) {
	for src, want := range map[string]string{
		`yaml({"b": [1, "x: y", true], "a": {}, "n": "1"})`: "a: {}\nb:\n- 1\n- 'x: y'\n- true\nn: '1'\n",
		`yaml("1")`:                         "'1'\n",
		`fromYAML("a: [1, {b: x}]").a[1].b`: "x",
		`fromYAML("a: [")`:                  "!this is no YAML",
		`toml({"z": 1, "t": {"x": "a\"b", "f": 2.0, "u": {"k": true}}, "l": [{"n": 1}, {"n": 2, "m": {"d e": []}}], "mixed": [1, {"a": "b"}]})`: "mixed = [1, {a = \"b\"}]\nz = 1\n\n[[l]]\nn = 1\n\n[[l]]\nn = 2\n\n[l.m]\n\"d e\" = []\n\n[t]\nf = 2.0\nx = \"a\\\"b\"\n\n[t.u]\nk = true\n",
		`toml({})`:          "",
		`toml([1])`:         "!a document of TOML is a map",
		`toml({"a": null})`: "!a: TOML has no null: leave the key out",
		`string(cidrContains("10.0.0.0/8", "10.2.3.4"))`:    "true",
		`string(cidrContains("10.0.0.0/8", "11.2.3.4"))`:    "false",
		`string(cidrContains("10.0.0.0/8", "10.1.0.0/16"))`: "true",
		`string(cidrContains("10.1.0.0/16", "10.0.0.0/8"))`: "false",
		`string(cidrContains("fd00::/8", "fd12::1"))`:       "true",
		`string(cidrContains("10.0.0.0", "10.2.3.4"))`:      "!\"10.0.0.0\" is no network: write one such as 10.0.0.0/8",
		`string(cidrContains("10.0.0.0/8", "host"))`:        "!\"host\" is no address and no network",
		`cidrHost("10.1.2.3/16", 258)`:                      "10.1.1.2",
		`cidrHost("10.1.2.0/30", 4)`:                        "!the network 10.1.2.0/30 has no address of the number 4",
		`cidrHost("10.1.2.0/30", -1)`:                       "!the network 10.1.2.0/30 has no address of the number -1",
		`cidrHost("fd00::/64", 10)`:                         "fd00::a",
		`cidrHost("255.255.255.0/24", 9223372036854775807)`: "!the network 255.255.255.0/24 has no address of the number 9223372036854775807",
		`cidrNetmask("10.0.0.0/20")`:                        "255.255.240.0",
		`cidrNetmask("0.0.0.0/0")`:                          "0.0.0.0",
		`cidrNetmask("fd00::/8")`:                           "!fd00::/8 is a network of IPv6, which has no mask",
		`string(semverCompare("1.10.0", "v1.9.0"))`:         "1",
		`string(semverCompare("1.0.0+a", "1.0.0+b"))`:       "0",
		`string(semverCompare("1.0", "1.0.0"))`:             "!\"1.0\" is no version: write one such as 1.4.0 or 2.0.0-rc.1",
		`["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"].map(a, ["1.0.0-beta.2"].map(b, semverCompare(a, b))[0]).map(n, string(n)).join(" ")`: "-1 -1 -1 -1 0 1 1 1",
	} {
		v, ds := yaml.Eval("", yaml.Options{Facts: machineFacts}, nil, src)
		message, fails := strings.CutPrefix(want, "!")
		switch {
		case fails && !strings.Contains(ds.Error(), message):
			t.Errorf("%s: %v, not %s", src, ds, message)
		case !fails && (ds.Err() != nil || v != want):
			t.Errorf("%s\n got %q %v\nwant %q", src, v, ds, want)
		}
	}
	files := map[string]string{"t": "{{ cidrHost \"10.0.0.0/8\" 1 }} {{ yaml .l }}"}
	maps.Copy(files, map[string]string{"g.yaml": one(`'${{ template("t", {"l": [1]}) }}'`)})
	d, _, err := loadFiles(t, files, yaml.Options{})
	if err != nil || d.Problems.Err() != nil || d.Resources[0].Value.Get("content").Text != "10.0.0.1 - 1\n" {
		t.Error(err, d.Problems)
	}
}
