package puppet_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// concat makes a catalog of one file, on line 1, and its fragments.
func concat(params string, fragments ...string) string {
	list := []string{entry(1, "Concat_file", "/x", params)}
	for i, f := range fragments {
		title, params, _ := strings.Cut(f, " ")
		list = append(list, entry(i+2, "Concat_fragment", title, params))
	}
	return source(list)
}

// contentOf returns the content of file[/x] in what became of a catalog, and all that
// was found.
func contentOf(t *testing.T, src string, o puppet.Options) (content string, found []string) {
	t.Helper()
	d := read(t, src, o)
	for _, r := range d.Resources {
		if n := r.Value.Get("content"); r.Kind == "file" && n != nil {
			content = n.Text
		}
	}
	for _, p := range d.Problems {
		found = append(found, p.String())
	}
	return content, found
}

// TestFindingE5Concat: a concat_file is a file with the content of its fragments, in
// the order that the module gives them.
func TestFindingE5Concat(t *testing.T) {
	const here = `"target": "/x"`
	for name, c := range map[string]struct {
		src, want, found string
	}{
		"by number, then by name": {src: concat(`{}`, `b {`+here+`, "content": "b", "order": "2"}`, `c {`+here+`, "content": "c", "order": 10}`,
			`10 {`+here+`, "content": "x", "order": "02"}`, `9 {`+here+`, "content": "y", "order": "2"}`), want: "yxbc"},
		"as text": {src: concat(`{"order": "alpha"}`, `b {`+here+`, "content": "b", "order": "2"}`, `c {`+here+`, "content": "c", "order": 10}`), want: "cb"},
		"10 is the default": {src: concat(`{}`, `b {`+here+`, "content": "b"}`, `a {`+here+`, "content": "a", "order": "11"}`,
			`c {`+here+`, "content": "c", "order": "9"}`), want: "cba"},
		"by tag and by path": {src: source([]string{entry(1, "Concat_file", "motd", `{"path": "/x", "tag": "t"}`),
			entry(2, "Concat_fragment", "a", `{"target": "/x", "content": "a"}`), entry(3, "Concat_fragment", "b", `{"target": "motd", "content": "b"}`),
			entry(4, "Concat_fragment", "c", `{"target": "other", "tag": "t", "content": "c"}`),
			entry(5, "Concat_fragment", "d", `{"target": "other", "content": "d"}`)}), want: "abc"},
		"ends of lines": {src: concat(`{"ensure_newline": true}`, `a {`+here+`, "content": "a"}`, `b {`+here+`, "content": "b\n"}`,
			`c {`+here+`, "content": ""}`), want: "a\nb\n\n"},
		"hashes": {src: concat(`{"format": "json"}`, `a {`+here+`, "content": "{\"a\": {\"x\": 1}, \"l\": [1, 2]}"}`,
			`b {`+here+`, "content": "{\"a\": {\"y\": null}, \"l\": [2, 3.50]}"}`), want: `{"a":{"x":1,"y":null},"l":[1,2,3.5]}`},
		"hashes by force": {src: concat(`{"format": "json-pretty", "force": true}`, `a {`+here+`, "content": "{\"a\": 1}"}`,
			`b {`+here+`, "content": "{\"a\": 2}"}`), want: "{\n  \"a\": 1\n}"},
		"lists": {src: concat(`{"format": "json-array"}`, `a {`+here+`, "content": "{\"a\": 1}"}`, `b {`+here+`, "content": "[\"\\u00e9\\n\"]"}`),
			want: `[{"a":1},["é\n"]]`},
		"the defined type by itself": {src: source([]string{entry(1, "Concat", "/x", `{"warn": true}`),
			entry(2, "Concat::Fragment", "a", `{"target": "/x", "content": "a"}`)}), want: "# This file is managed by Puppet. DO NOT EDIT.\na"},
		"words and numbers": {src: concat(`{}`, `a {`+here+`, "content": "a", "order": "x"}`, `b {`+here+`, "content": "b", "order": "1"}`),
			found: `site.pp:1: Concat_file[/x]: content: the orders "x" of Concat_fragment[a] and "1" of Concat_fragment[b] can't be compared as numbers; order => alpha compares them as text`},
		"one key twice": {src: concat(`{"format": "json"}`, `a {`+here+`, "content": "{\"a\": 1}"}`, `b {`+here+`, "content": "{\"a\": 2}"}`),
			found: `site.pp:1: Concat_file[/x]: content: two fragments have the key "a" with other values; force => true keeps the first one`},
		"no JSON": {src: concat(`{"format": "json"}`, `a {`+here+`, "content": "{"}`),
			found: `site.pp:1: Concat_file[/x]: content: Concat_fragment[a]: it is no JSON: it ends too early`},
		"nothing in it": {src: concat(`{}`, `a {`+here+`}`),
			found: `site.pp:1: Concat_file[/x]: content: Concat_fragment[a] needs a content or a source, and not both`},
		"YAML, and nothing that reads it": {src: concat(`{"format": "yaml"}`, `a {`+here+`, "content": "a: 1"}`),
			found: `site.pp:1: Concat_file[/x]: content: Concat_fragment[a]: this program reads no fragments of YAML`},
		"from a server": {src: concat(`{}`, `a {`+here+`, "source": "puppet:///modules/m/x"}`),
			found: `site.pp:1: Concat_file[/x]: content: the source of Concat_fragment[a] is no file of this machine`},
		"deferred": {src: concat(`{}`, `a {`+here+`, "content": {"__ptype": "Deferred", "name": "f"}}`),
			found: `site.pp:1: Concat_file[/x]: content: a Deferred value is what a function of Puppet returns when the catalog is applied, and mgmt has none of them`},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := contentOf(t, c.src, puppet.Options{})
			if all := strings.Join(found, "\n"); got != c.want || all != c.found {
				t.Errorf("%q\n%s", got, all)
			}
		})
	}
}

// TestFindingE5ConcatFile: what else is said of the file counts as of any file; the
// order of its fragments is kept.
func TestFindingE5ConcatFile(t *testing.T) {
	const left = ` meta {autogroup: false, hidden: true}`
	for _, c := range []struct {
		src  string
		want []string
	}{
		{concat(`{"owner": "root", "mode": "0600", "backup": false, "force": true}`, `a {"target": "/x", "content": "a"}`),
			[]string{`file[/x] {owner: "root", mode: "0600", content: "a", state: "exists"}`, `noop[Concat_fragment[a]]` + left}},
		{concat(`{"ensure": "absent", "mode": "0600"}`, `a {"target": "/x", "content": "a"}`),
			[]string{`file[/x] {state: "absent"}`, `noop[Concat_fragment[a]]` + left}},
		{concat(`{"show_diff": false}`),
			[]string{`value[Concat_file[/x] content] {any: "(secret)"}`, `file[/x] {state: "exists"} content <- value[Concat_file[/x] content].any`}},
		{concat(`{}`, `a {"target": "/x", "content": {"__ptype": "Sensitive", "__pvalue": "hush"}}`),
			[]string{`value[Concat_file[/x] content] {any: "(secret)"}`, `file[/x] {state: "exists"} content <- value[Concat_file[/x] content].any`, `noop[Concat_fragment[a]]` + left}},
		{concat(`{}`, `a {"target": "/x", "source": "/a", "order": 2}`, `b {"target": "/x", "source": ["file:///b"], "order": 1}`),
			[]string{`file[/x] {fragments: ["/b", "/a"], state: "exists"}`, `noop[Concat_fragment[a]]` + left, `noop[Concat_fragment[b]]` + left}},
	} {
		if diff := cmp.Diff(c.want, said(t, read(t, c.src, puppet.Options{}))); diff != "" {
			t.Errorf("%s\n%s", c.src, diff)
		}
	}
}

// rubyValues are values whose notation in Ruby's YAML and JSON is not that of others.
var rubyValues = []any{"", "yes", "y", "n", "1", "1.0", "1e3", "08", "0x1f", "12:30", "2001-01-01", ":sym", "a: b", "a #b", "#c", "- x", "-x",
	"it's", `q"q`, "q: \"q", "\ttab", "line\n", "two\nlines", "two\nlines\n", "a\n\nb", " lead", "trail ", "é", "*x", "[x]", "a,b", "~", ".5", "<<", "x:", "{a",
	"'q", "/etc/app.conf", "a\\b", "null", "%x", "@x", "1_000", "1,000", "+1", "-", "?", "=", "!", "|", "`x", "0o7", "x\x01", "-1", "10.0.0.1", "80:80", "::1",
	1.0, 2.5, 1e20, true, false, nil, []any{}, map[string]any{}, []any{"a", []any{"b"}, map[string]any{"k": "v", "l": []any{"x"}}}, map[string]any{"a": map[string]any{"b": []any{1.0}}}}

// TestFindingE5ConcatData: a file of data is written as Ruby writes it, byte for byte.
func TestFindingE5ConcatData(t *testing.T) {
	if _, err := exec.LookPath("ruby"); err != nil {
		needPuppet(t)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var docs []string
	for _, v := range rubyValues {
		m := map[string]any{"key": v}
		if s, ok := v.(string); ok {
			m[strings.ReplaceAll(s, "\n", "_")] = []any{s, map[string]any{"in": s}, []any{s}}
		}
		for range r.IntN(40) {
			m[strings.ReplaceAll(rubyWord(r), "\n", "_")] = rubyWord(r)
		}
		b, err := json.Marshal(m)
		must(t, err)
		docs = append(docs, string(b))
	}
	in, err := json.Marshal(docs)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "ruby", "-rjson", "-ryaml", "-e",
		`puts JSON.parse(STDIN.read).map { |d| v = JSON.parse(d); [v.to_yaml, v.to_json, JSON.pretty_generate(v)] }.to_json`)
	cmd.Stdin, cmd.Env = bytes.NewReader(in), append(os.Environ(), "LANG=C.UTF-8")
	out, err := cmd.Output()
	must(t, err)
	var want [][3]string
	must(t, json.Unmarshal(out, &want))
	for i, doc := range docs {
		if diff := cmp.Diff(want[i], puppet.RubyData(doc)); diff != "" {
			t.Errorf("%s\n%s", doc, diff)
		}
	}
}

// rubyWord makes a text of signs that mean something.
func rubyWord(r *rand.Rand) string {
	const signs = "ab1: #-'\"[{,.\n"
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteByte(signs[r.IntN(len(signs))])
	}
	return b.String()
}

// TestFindingE5ConcatMany: the cost is linear in the fragments.
func TestFindingE5ConcatMany(t *testing.T) {
	const many = 20000
	list := make([]string, 0, 2*many)
	for i := range many {
		n := strings.Repeat("x", i%7) + "-" + string(rune('a'+i%26)) + time.Duration(i).String()
		list = append(list, entry(1, "Concat_file", "/f/"+n, `{}`), entry(1, "Concat_fragment", n, `{"target": "/f/`+n+`", "content": "a"}`))
	}
	d := read(t, source(list), puppet.Options{})
	if len(d.Problems) > 0 || len(d.Resources) != 2*many {
		t.Error(len(d.Resources), d.Problems)
	}
}
