package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

const ports = "/v1/api/port"

// TestIDs: an id may have any character, in the body, in the path and in Location.
func TestIDs(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for _, id := range []string{
		"a/b", "/etc/motd", "a%2Fb", "%", "a b", "ä€🙂", "a:b", "a:add", ".", "..", "...", "a?b#c", "a\nb", `"`, "status", "a/status", "\\", "+", "&=",
	} {
		body, err := json.Marshal(map[string]any{"id": id, "mac": "m"})
		if err != nil {
			t.Fatal(err)
		}
		a := r.want(t, 201, "POST", ports, string(body))
		path := a.header.Get("Location")
		if path != ports+"/"+api.Escape(id) {
			t.Errorf("%q is at %s", id, path)
		}
		if got := r.want(t, 200, "GET", path, "").value(t).(map[string]any)["id"]; got != id {
			t.Errorf("%q is told as %q", id, got)
		}
		r.want(t, 204, "PATCH", path, `{"vlan": 4}`)
		r.want(t, 200, "POST", path+":add", `{"field": "tags", "value": "x"}`)
		r.want(t, 200, "GET", path+"/status", "")
		r.want(t, 204, "DELETE", path, "")
		r.want(t, 404, "GET", path, "")
	}
}

// TestCallersFaults: each has its status, and all fields of a body that are wrong come at once with their places.
func TestCallersFaults(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	for _, c := range []struct {
		status             int
		method, path, body string
		hint, fields       string // of the problem; field@line:column
	}{
		{400, "POST", ports, "", "", ""},
		{400, "POST", ports, "{", "", "@1:2"},
		{400, "POST", ports, "[1]", "write the fields", "@1:1"},
		{400, "POST", ports, `{"id": "2", "mac": "a", "mac": "b"}`, "", "@1:25"},
		{422, "POST", ports, "{\"id\": \"2\",\n \"mca\": \"a\", \"vlan\": \"x\",\n \"up\": 3}", `did you mean "mac"?`, "mca@2:2 vlan@2:22 up@3:8"},
		{422, "POST", ports, "\n {\"id\": \"2\"}", "", "mac@2:2"},
		{422, "POST", ports, `{"mac": "a"}`, "", "id@1:1"},
		{422, "POST", ports, `{"id": "", "mac": "a"}`, "", "id@1:8"},
		{422, "POST", ports, `{"id": "2", "mac": "a", "address": {"ip": 7, "prot": 1}}`, "", "address.ip@1:43 address.prot@1:46"},
		{422, "POST", ports, `{"id": "2", "mac": "a", "key": "(secret)"}`, "", "key@1:32"},
		{422, "PUT", ports, `{"mac": "a"}`, "", "id@1:1"},
		{422, "PUT", ports + "/1", `{"id": "2", "mac": "a"}`, "", "id@1:8"},
		{422, "PATCH", ports + "/1", `{"tags": [1]}`, "", "tags[0]@1:11"},
		{422, "PATCH", ports + "/1", `{"mac": null}`, "", "mac@1:9"},
		{422, "POST", ports + "/1:add", `{"field": "mac", "value": 1}`, "", "mac@1:1"},
		{422, "POST", ports + "/1:add", ``, "", "field"},
		{409, "POST", ports, `{"id": "1", "mac": "m"}`, "", "id@1:8"},
		{409, "PUT", ports, `{"id": "1", "mac": "x", "version": 9}`, "", "version@1:36"},
		{404, "GET", "/v1/api/prot", "", `did you mean "port"?`, ""},
		{404, "GET", "/v1/api/Address", "", "", ""},
		{404, "GET", ports + "/2", "", "", ""},
		{404, "PUT", ports + "/2", `{"mac": "a"}`, "", ""},
		{404, "PATCH", ports + "/2", `{"mac": "a"}`, "", ""},
		{404, "DELETE", ports + "/2", "", "", ""},
		{404, "GET", ports + "/2/status", "", "", ""},
		{404, "POST", ports + "/2:add", `{}`, "", ""},
		{404, "POST", ports + "/1:ad", `{}`, `did you mean "add"?`, "ad@1:1"},
		{400, "GET", ports + "?index=mca", "", `did you mean "mac"?`, ""},
		{400, "GET", ports + "?index=mac&vlan=1", "", "", ""},
		{400, "GET", ports + "?mca=1", "", `did you mean "mac"?`, ""},
		{400, "GET", ports + "?vlan=x", "", "", ""},
		{400, "GET", ports + "?limit=0", "", "", ""},
		{400, "GET", ports + "?first=perhaps", "", "", ""},
		{400, "GET", ports + "?mac=1&mac=2", "", "", ""},
		{400, "PUT", ports + "/1?dry_run=perhaps", `{"mac": "a"}`, "", ""},
		{400, "DELETE", ports + "/1?dry=1", "", "", ""},
		{405, "DELETE", ports, "", "", ""},
	} {
		a := r.ask(t, c.method, c.path, c.body)
		if a.status != c.status {
			t.Errorf("%s %s %s: %d, not %d: %s", c.method, c.path, c.body, a.status, c.status, a.body)
			continue
		}
		p := a.problem(t)
		if !strings.HasPrefix(p.Hint, c.hint) || p.Detail == "" {
			t.Errorf("%s %s %s: the hint is %q: %s", c.method, c.path, c.body, p.Hint, a.body)
		}
		if got := places(p.Errors); c.fields != "" && got != c.fields {
			t.Errorf("%s %s %s: %s, not %s: %s", c.method, c.path, c.body, got, c.fields, a.body)
		}
	}
}

// places writes findings as field@line:column.
func places(all []httpd.Finding) string {
	var out []string
	for _, f := range all {
		text := f.Field
		if f.Line > 0 {
			text += fmt.Sprintf("@%d:%d", f.Line, f.Column)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestSizes: an object of 1 MiB is taken, and 2 MiB are too much, with the figure.
func TestSizes(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "`+strings.Repeat("x", 1<<20-100)+`"}`)
	for _, method := range []string{"POST", "PUT"} {
		p := r.want(t, 413, method, ports, `{"id": "2", "mac": "`+strings.Repeat("x", 2<<20)+`"}`).problem(t)
		if !strings.Contains(p.Hint, strconv.Itoa(1<<20)) {
			t.Errorf("the hint is %q", p.Hint)
		}
	}
	r.want(t, 413, "POST", ports, `{"mac": "m", "id": "`+strings.Repeat("x", 5000)+`"}`)
}

// TestChanges: what each way to change an object does with the fields that it names, and with the others.
func TestChanges(t *testing.T) {
	const whole = `{"id": "1", "mac": "m", "vlan": 4, "tags": ["a"], "address": {"ip": "::1", "port": 7}}`
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", ports, `{"id": "1", "vlan": 5, "tags": null}`, `{"address":{"ip":"::1","port":7},"id":"1","mac":"m","version":2,"vlan":5}`},
		{"PUT", ports, `{"id": "1", "address": {"ip": "::2"}}`, `{"address":{"ip":"::2"},"id":"1","mac":"m","tags":["a"],"version":2,"vlan":4}`},
		{"PUT", ports + "/1", `{"mac": "n"}`, `{"id":"1","mac":"n","version":2}`},
		{"PUT", ports + "/1", whole, `{"address":{"ip":"::1","port":7},"id":"1","mac":"m","tags":["a"],"version":1,"vlan":4}`},
		{"PATCH", ports + "/1", `{"address": {"port": null}}`, `{"address":{"ip":"::1"},"id":"1","mac":"m","tags":["a"],"version":2,"vlan":4}`},
		{"PATCH", ports + "/1", `{"address": {"port": 8}, "vlan": null}`, `{"address":{"ip":"::1","port":8},"id":"1","mac":"m","tags":["a"],"version":2}`},
		{"PATCH", ports + "/1", `{"address": null}`, `{"id":"1","mac":"m","tags":["a"],"version":2,"vlan":4}`},
		{"PATCH", ports + "/1", `{}`, `{"address":{"ip":"::1","port":7},"id":"1","mac":"m","tags":["a"],"version":1,"vlan":4}`},
		{"POST", ports + "/1:add", `{"field": "tags", "value": "b"}`, `{"address":{"ip":"::1","port":7},"id":"1","mac":"m","tags":["a","b"],"version":2,"vlan":4}`},
		{"POST", ports + "/1:remove", `{"field": "tags", "value": "a"}`, `{"address":{"ip":"::1","port":7},"id":"1","mac":"m","tags":[],"version":2,"vlan":4}`},
	} {
		r := newRig(t, api.Options{}, port(t))
		first := r.want(t, 201, "POST", ports, whole)
		dry := r.want(t, 200, c.method, c.path+"?dry_run=1", c.body)
		if got := strings.TrimSpace(dry.body); got != c.want {
			t.Errorf("dry %s %s %s: %s", c.method, c.path, c.body, got)
		}
		if got := r.want(t, 200, "GET", ports+"/1", ""); got.body != first.body || got.header.Get("ETag") != first.header.Get("ETag") {
			t.Errorf("the dry run has written %s", got.body)
		}
		a := r.want(t, 200, c.method, c.path, c.body, "Prefer", "return=representation")
		now := r.want(t, 200, "GET", ports+"/1", "")
		if got := strings.TrimSpace(a.body); got != c.want || a.body != now.body || a.header.Get("ETag") != now.header.Get("ETag") {
			t.Errorf("%s %s %s: %s, then %s", c.method, c.path, c.body, got, now.body)
		}
	}
}

// TestConditions: a writer that names a revision loses against every other writer, and one without takes effect.
func TestConditions(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	tag := r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`).header.Get("ETag")
	now := r.want(t, 204, "PATCH", ports+"/1", `{"vlan": 1}`, "If-Match", tag).header.Get("ETag")
	if now == tag || tag == "" {
		t.Fatalf("the revision is %s after %s", now, tag)
	}
	for _, c := range [][2]string{{"PATCH", ports + "/1"}, {"PUT", ports + "/1"}, {"DELETE", ports + "/1"}, {"POST", ports + "/1:add"}} {
		for _, bad := range []string{tag, "stale", `W/` + now} {
			a := r.want(t, 412, c[0], c[1], `{"mac": "x"}`, "If-Match", bad)
			if got := a.header.Get("ETag"); bad == tag && got != now {
				t.Errorf("the answer names the revision %s, not %s", got, now)
			}
		}
	}
	r.want(t, 412, "POST", ports, `{"id": "2", "mac": "m"}`, "If-Match", "*")
	r.want(t, 412, "PUT", ports+"/1", `{"mac": "m"}`, "If-None-Match", "*")
	r.want(t, 304, "GET", ports+"/1", "", "If-None-Match", now)
	r.want(t, 204, "DELETE", ports+"/1", "", "If-Match", now)
}

// TestWritersMeet: of those that add to a list none is lost; of those that name a revision exactly one wins each round.
func TestWritersMeet(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "vlan": 0}`)
	const writers, rounds = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				r.want(t, 200, "POST", ports+"/1:add", fmt.Sprintf(`{"field": "tags", "value": "%d-%d"}`, w, i))
				for { // count up by one
					a := r.ask(t, "GET", ports+"/1", "")
					var o struct{ Vlan int }
					if err := json.Unmarshal([]byte(a.body), &o); err != nil {
						t.Error(err)
						return
					}
					status := r.ask(t, "PATCH", ports+"/1", fmt.Sprintf(`{"vlan": %d}`, o.Vlan+1), "If-Match", a.header.Get("ETag")).status
					if status == 204 {
						break
					}
					if status != 412 {
						t.Errorf("the status is %d", status)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	o := r.want(t, 200, "GET", ports+"/1", "").value(t).(map[string]any)
	if len(o["tags"].([]any)) != writers*rounds || o["vlan"] != float64(writers*rounds) {
		t.Errorf("%d values were added and %v counted, not %d", len(o["tags"].([]any)), o["vlan"], writers*rounds)
	}
}

// TestLists: filters, indexes, topics, pages, and the field that is called like a parameter.
func TestLists(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for i := range 10 {
		topic := ""
		if i%2 == 1 {
			topic = fmt.Sprintf(`, "topic": "host:%d"`, i%4)
		}
		r.want(t, 201, "POST", ports, fmt.Sprintf(`{"id": "p/%d", "mac": "m%d", "vlan": %d, "limit": %d, "tags": ["t%d", "all"], "address": {"ip": "::%d"}%s}`, i, i%3, i%2, i, i, i%2, topic))
	}
	for query, want := range map[string]string{
		"":                           "0123456789",
		"?mac=m1":                    "147",
		"?mac=m1&vlan=0":             "4",
		"?tags=t7":                   "7",
		"?address.ip=::1":            "13579",
		"?index=mac&mac=m2":          "258",
		"?index=place&vlan=1":        "13579",
		"?index=place&vlan=1&mac=m0": "39",
		"?topic=host:1":              "159",
		"?topic=host:1,host:3":       "13579",
		"?topic=":                    "02468",
		"?first=1":                   "0",
		"?first=1&mac=m2":            "2",
		"?first=1&mac=none":          "",
		"?limit=3":                   "012",
		"?limit=3&continue=cC8y":     "345",
		"?where.limit=7":             "7",
		"?where.topic=host:3":        "37",
		"?limit=2000":                "0123456789",
	} {
		var got strings.Builder
		for _, o := range r.want(t, 200, "GET", ports+query, "").value(t).([]any) {
			got.WriteString(strings.TrimPrefix(o.(map[string]any)["id"].(string), "p/"))
		}
		if got.String() != want {
			t.Errorf("%s: %s, not %s", query, got.String(), want)
		}
	}
	var got strings.Builder
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		a := r.want(t, 200, "GET", ports+"?limit=3&continue="+token, "")
		for _, o := range a.value(t).([]any) {
			got.WriteString(strings.TrimPrefix(o.(map[string]any)["id"].(string), "p/"))
		}
		token = a.header.Get("Continue")
	}
	if got.String() != "0123456789" {
		t.Errorf("the pages have %s", got.String())
	}
}

// TestContinue: a page that is not the last has the header Continue, unless only the first object is wanted.
func TestContinue(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for i := range 3 {
		r.want(t, 201, "POST", ports, fmt.Sprintf(`{"id": "%d", "mac": "m"}`, i))
	}
	for query, want := range map[string]string{
		"?limit=2": "MQ", "?limit=2&first=false": "MQ", "?limit=2&first=0": "MQ", "?limit=3": "", "?first=1": "", "?limit=2&first=true": "", "": "",
	} {
		if got := r.want(t, 200, "GET", ports+query, "").header.Get("Continue"); got != want {
			t.Errorf("%s: Continue is %q, not %q", query, got, want)
		}
	}
}

// TestDigits: a whole number of 64 bits keeps its digits in every answer.
func TestDigits(t *testing.T) {
	const big = "9007199254740993"
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "vlan": `+big+`, "peer": "2"}`)
	r.want(t, 201, "POST", ports, `{"id": "2", "mac": "m", "vlan": `+big+`}`)
	for _, path := range []string{ports + "/1", ports + "/1?resolve=deep", ports} {
		a := r.want(t, 200, "GET", path, "")
		want := 1
		if path != ports+"/1" {
			want = 2
		}
		if got := strings.Count(a.body, big); got != want {
			t.Errorf("%s: the number is there %d times, not %d: %s", path, got, want, a.body)
		}
	}
	c := &api.Client{HTTP: r.client.Transport}
	var o api.Object
	if _, err := c.Ask(t.Context(), api.Request{Method: "GET", Path: ports + "/1"}, &o); err != nil || fmt.Sprint(o["vlan"]) != big {
		t.Errorf("the client reads %v: %v", o["vlan"], err)
	}
}

// TestSecrets: no answer shows one, and a redacted one that comes back leaves the stored one as it is.
func TestSecrets(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	const canary = "canary-7"
	show := func(a answer) {
		if strings.Contains(a.body, canary) || strings.Contains(a.body, strings.ToUpper(canary)) {
			t.Errorf("the secret is in %s", a.body)
		}
	}
	show(r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "key": "`+canary+`"}`))
	o := r.want(t, 200, "GET", ports+"/1", "")
	show(o)
	show(r.want(t, 200, "PUT", ports+"/1", o.body, "Prefer", "return=representation"))
	show(r.want(t, 200, "PATCH", ports+"/1", `{"key": "(secret)", "vlan": 3}`, "Prefer", "return=representation"))
	show(r.want(t, 200, "GET", ports, ""))
	show(r.want(t, 422, "PATCH", ports+"/1", `{"key": {"x": "`+canary+`"}}`))
	show(r.want(t, 400, "POST", ports, `{"id": "2", "key": "`+canary+`}`))
	m, err := r.nb.Registry().Model("port")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := r.nb.Get(t.Context(), m, "1")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(stored.Values()["key"].(interface{ Reveal() string }).Reveal()); got != "sealed:CANARY-7" {
		t.Errorf("the stored secret has become %q", got)
	}
}

// TestDeep: an object comes with those that it refers to, near and far, each once.
func TestDeep(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for _, o := range []string{`{"id": "1", "mac": "m", "peer": "2"}`, `{"id": "2", "mac": "m", "peer": "3"}`, `{"id": "3", "mac": "m", "peer": "1"}`, `{"id": "4", "mac": "m", "peer": "none"}`} {
		r.want(t, 201, "POST", ports, o)
	}
	refs := r.want(t, 200, "GET", ports+"/1?resolve=deep", "").value(t).(map[string]any)["references"].(map[string]any)
	if len(refs) != 2 || refs["port[3]"].(map[string]any)["peer"] != "1" {
		t.Errorf("%v", refs)
	}
	if refs := r.want(t, 200, "GET", ports+"/4?resolve=deep", "").value(t).(map[string]any)["references"].(map[string]any); len(refs) != 0 {
		t.Errorf("%v", refs)
	}
	for query, want := range map[string]string{"": "[2 2 2 0]", "&limit=2": "[2 2]", "&first=1": "[2]"} {
		var counts []int
		for _, o := range r.want(t, 200, "GET", ports+"?resolve=deep"+query, "").value(t).([]any) {
			counts = append(counts, len(o.(map[string]any)["references"].(map[string]any)))
		}
		if fmt.Sprint(counts) != want {
			t.Errorf("%q: the objects have %v references, want %s", query, counts, want)
		}
	}
	for _, path := range []string{ports, ports + "/1"} {
		if p := r.want(t, 400, "GET", path+"?resolve=shallow", "").problem(t); !strings.Contains(p.Detail, "shallow") {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// TestBareOperations: an operation may leave an object without fields out, and the text of many faults is short.
func TestBareOperations(t *testing.T) {
	r := newRig(t, api.Options{}, define(t, zone))
	r.want(t, 200, "POST", "/v1/api:txn", `{"operations": [{"op": "create", "table": "zone", "id": "1"}, {"op": "apply", "table": "zone", "id": "2"}]}`)
	if got := len(r.want(t, 200, "GET", "/v1/api/zone", "").value(t).([]any)); got != 2 {
		t.Errorf("there are %d objects", got)
	}
	for _, op := range []string{"update", "replace", "patch"} {
		r.want(t, 422, "POST", "/v1/api:txn", `{"operations": [{"op": "`+op+`", "table": "zone", "id": "1"}]}`)
	}
	faulty := strings.TrimSuffix(strings.Repeat(`{"op": "update", "table": "zone", "id": "1"},`, 30), ",")
	p := r.want(t, 422, "POST", "/v1/api:txn", `{"operations": [`+faulty+`]}`).problem(t)
	if len(p.Errors) != 30 || !strings.HasSuffix(p.Detail, "and 20 more faults, which errors has") {
		t.Errorf("%d errors, %s", len(p.Errors), p.Detail)
	}
}

// TestWriters: only those who may change objects do, and all may read.
func TestWriters(t *testing.T) {
	allowed := false
	r := newRig(t, api.Options{MayWrite: func(p httpd.Peer) bool { return allowed && p.UID == uint32(os.Getuid()) && p.In(uint32(os.Getgid())) }}, port(t))
	for _, c := range [][2]string{
		{"POST", ports}, {"PUT", ports}, {"PUT", ports + "/1"}, {"PATCH", ports + "/1"}, {"DELETE", ports + "/1"}, {"POST", ports + "/1:add"},
	} {
		r.want(t, http.StatusForbidden, c[0], c[1], `{"id": "1", "mac": "m"}`)
	}
	r.want(t, 200, "GET", ports, "")
	allowed = true
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
}

// TestBrokenRecord: a record that cannot be read hides no other, and is an error of its own.
func TestBrokenRecord(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for _, id := range []string{"1", "2", "3"} {
		r.want(t, 201, "POST", ports, `{"id": "`+id+`", "mac": "m"}`)
	}
	r.put(t, "m//port/2", `{"schema": 99, "kind": "port", "object": {"id": "2"}}`)
	if got := len(r.want(t, 200, "GET", ports, "").value(t).([]any)); got != 2 {
		t.Errorf("the list has %d objects", got)
	}
	if p := r.want(t, 500, "GET", ports+"/2", "").problem(t); p.Code != "schema_too_new" {
		t.Errorf("%+v", p)
	}
}

// TestLongList: the memory of a list does not grow with it.
func TestLongList(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	const objects = 100_000
	r.fill(t, objects)
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := r.client.Get("http://mgmt" + ports)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	most, n := uint64(0), 0
	for dec.More() {
		var o struct{ ID string }
		if err := dec.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if n++; n%20_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			if during.HeapAlloc > before.HeapAlloc {
				most = max(most, during.HeapAlloc-before.HeapAlloc)
			}
		}
	}
	t.Logf("a list of %d objects takes %.1f MB", n, float64(most)/1e6)
	if n != objects || most > 20e6 {
		t.Errorf("%d objects, %.1f MB", n, float64(most)/1e6)
	}
}
