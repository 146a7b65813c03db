package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/await"
)

// event is a server-sent event.
type event struct {
	id, name string
	data     api.Change
}

// stream reads events until its test ends, or stop is called.
type stream struct {
	t    testing.TB
	in   *bufio.Reader
	stop func()
}

func (r *rig) watch(t testing.TB, query, last string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://mgmt/v1/api:watch"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, in: bufio.NewReader(resp.Body), stop: func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(s.stop)
	if resp.StatusCode != 200 {
		t.Fatalf("the stream answers %s", resp.Status)
	}
	return s
}

// next returns the next event that is no bookmark.
func (s *stream) next() event {
	s.t.Helper()
	var e event
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case key == "id":
			e.id = value
		case key == "event":
			e.name = value
		case key == "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatal(err)
			}
		case line == "\n" && e.name == "bookmark", line == "\n" && e.name == "":
			e = event{}
		case line == "\n":
			return e
		}
	}
}

// want reads an event, and fails where it is another one.
func (s *stream) want(name, id string) event {
	s.t.Helper()
	e := s.next()
	if e.name != name || e.data.ID != id || e.data.Action != name {
		s.t.Fatalf("the event is %s of %q, not %s of %q", e.name, e.data.ID, name, id)
	}
	return e
}

// TestWatchOrigin: a change names its writer: the host, unless a client has a certificate.
func TestWatchOrigin(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	s := r.watch(t, "", "")
	s.want("synced", "")
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	if got := s.want("create", "1").data.Origin; got != "host:rig" {
		t.Errorf("the origin is %q", got)
	}
}

// TestWatch: the objects that there are, synced, and then each change, with the revision that a reader goes on after.
func TestWatch(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "a/1", "mac": "m", "key": "canary"}`)
	s := r.watch(t, "", "")
	if e := s.want("object", "a/1"); e.id != "" || strings.Contains(string(e.data.Object), "canary") {
		t.Errorf("%+v", e)
	}
	if e := s.want("synced", ""); e.id == "" {
		t.Error("a reader cannot go on after synced")
	}
	tag := r.want(t, 204, "PATCH", ports+"/a%2F1", `{"vlan": 7}`).header.Get("ETag")
	if e := s.want("set", "a/1"); `"`+e.id+`"` != tag || !strings.Contains(string(e.data.Object), `"vlan":7`) {
		t.Errorf("%+v, and the revision is %s", e, tag)
	}
	r.want(t, 201, "POST", ports, `{"id": "2", "mac": "m"}`)
	s.want("create", "2")
	r.want(t, 204, "DELETE", ports+"/2", "")
	if e := s.want("delete", "2"); e.data.Object != nil {
		t.Errorf("%+v", e)
	}
}

// TestResume: a reader that comes back after each single event misses nothing, and sees no revision twice.
func TestResume(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	s := r.watch(t, "", "")
	last := s.want("synced", "").id
	for i := range 10 {
		r.want(t, 200, "POST", "/v1/api:txn", fmt.Sprintf(`{"operations": [
			{"op": "create", "table": "port", "object": {"id": "%d-a", "mac": "m"}},
			{"op": "create", "table": "port", "object": {"id": "%d-b", "mac": "m"}}]}`, i, i))
	}
	for i := range 10 {
		s.stop()
		s = r.watch(t, "?since=1", last) // the header counts
		if e := s.want("create", fmt.Sprintf("%d-a", i)); e.id != "" {
			t.Fatal("a reader may go on in the midst of a revision, and would miss the rest of it")
		}
		s.stop()
		s = r.watch(t, "?since="+last, "")
		s.want("create", fmt.Sprintf("%d-a", i))
		last = s.want("create", fmt.Sprintf("%d-b", i)).id
	}
}

// TestWatchSome: only what was asked for.
func TestWatchSome(t *testing.T) {
	other := define(t, model.Spec{Name: "Other", Table: "other"})
	r := newRig(t, api.Options{}, port(t), other)
	all, some, topic := r.watch(t, "", ""), r.watch(t, "?table=Other", ""), r.watch(t, "?table=port&topic=host:a", "")
	for _, s := range []*stream{all, some, topic} {
		s.want("synced", "")
	}
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	r.want(t, 201, "POST", "/v1/api/other", `{"id": "2"}`)
	r.want(t, 201, "POST", ports, `{"id": "3", "mac": "m", "topic": "host:a"}`)
	all.want("create", "1")
	all.want("create", "2")
	all.want("create", "3")
	some.want("create", "2")
	topic.want("create", "3")
	r.want(t, 404, "GET", "/v1/api:watch?table=othre", "")
	r.want(t, 400, "GET", "/v1/api:watch?since=x", "")
}

// TestWatchCompacted: a revision that the store has forgotten leads to all objects anew.
func TestWatchCompacted(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	for range 5_000 {
		if _, _, err := r.world.Txn(t.Context(), nil, []world.Op{{Key: "filler", Value: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	s := r.watch(t, "?since=1", "")
	s.want("relist", "")
	s.want("object", "1")
	s.want("synced", "")
	r.want(t, 204, "DELETE", ports+"/1", "")
	s.want("delete", "1")
}

// TestDeafReader: one that takes nothing holds up no writer and no other reader.
func TestDeafReader(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	deaf, other := r.watch(t, "", ""), r.watch(t, "", "")
	other.want("synced", "")
	pad := strings.Repeat("x", 100_000)
	for i := range 100 { // 10 MB, more than a socket and the queue hold
		r.want(t, 201, "POST", ports, fmt.Sprintf(`{"id": "%d", "mac": "%s"}`, i, pad))
		other.want("create", fmt.Sprint(i))
	}
	deaf.stop()
}

// TestTxn: all operations take effect, or none; the faults name the operation.
func TestTxn(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	const path = "/v1/api:txn"
	ops := func(list ...string) string { return `{"operations": [` + strings.Join(list, ", ") + `]}` }
	const one = `{"op": "create", "table": "port", "object": {"id": "1", "mac": "m"}}`
	r.want(t, 200, "POST", path+"?dry_run=1", ops(one))
	r.want(t, 404, "GET", ports+"/1", "")
	r.want(t, 200, "POST", path, ops(one,
		`{"op": "update", "table": "Port", "id": "1", "object": {"vlan": 3}}`,
		`{"op": "call", "table": "port", "id": "1", "operation": "add", "args": {"field": "tags", "value": "x"}}`,
		`{"op": "apply", "table": "port", "object": {"id": "2", "mac": "n"}}`))
	tag := r.want(t, 200, "GET", ports+"/1", "").header.Get("ETag")
	a := r.want(t, 200, "POST", path, ops(
		`{"op": "patch", "table": "port", "id": "1", "object": {"vlan": 4}, "if_rev": `+strings.Trim(tag, `"`)+`}`,
		`{"op": "delete", "table": "port", "id": "2"}`,
		`{"op": "apply", "table": "port", "object": {"id": "1", "mac": "k"}}`)).value(t).(map[string]any)
	if objects := a["objects"].([]any); len(objects) != 3 || objects[1] != nil || objects[2].(map[string]any)["mac"] != "k" {
		t.Errorf("%v", a)
	}
	before := r.want(t, 200, "GET", ports, "").body
	const well = `{"op": "update", "table": "port", "id": "1", "object": {"vlan": 99}}`
	for _, c := range []struct {
		status int
		body   string
		fields string
	}{
		{409, ops(well, `{"op": "create", "table": "port", "object": {"id": "1", "mac": "m"}}`), "operations[1].object.id"},
		{404, ops(well, `{"op": "delete", "table": "port", "id": "7"}`), "operations[1]"},
		{412, ops(well, `{"op": "update", "table": "port", "id": "1", "object": {"vlan": 1}, "if_rev": 1}`), ""},
		{422, ops(well, `{"op": "update", "table": "port", "id": "1", "object": {"vlna": 1, "up": 3}}`), "operations[1].object.vlna operations[1].object.up"},
		{422, ops(well, `{"op": "updat", "tabel": "x", "id": 7}`), "operations[1].tabel operations[1].op operations[1].table operations[1].object"},
		{422, ops(`{"op": "updat", "table": "port", "object": {}}`, `{"op": "update", "table": "port", "id": "1", "object": {"vlna": 1}}`), "operations[0].op operations[1].object.vlna"},
		{422, `{"operations": []}`, "operations"},
		{422, `{"operation": []}`, "operation operations"},
		{400, `{`, ""},
	} {
		p := r.want(t, c.status, "POST", path, c.body).problem(t)
		var got []string
		for _, f := range p.Errors {
			got = append(got, f.Field)
			if f.Line == 0 && c.status == 422 {
				t.Errorf("%s has no place", f.Field)
			}
		}
		if c.fields != "" && strings.Join(got, " ") != c.fields {
			t.Errorf("%s: %v, not %s", c.body, got, c.fields)
		}
	}
	many := make([]string, 129)
	for i := range many {
		many[i] = fmt.Sprintf(`{"op": "create", "table": "port", "object": {"id": "n%d", "mac": "m"}}`, i)
	}
	if p := r.want(t, 413, "POST", path, ops(many...)).problem(t); !strings.Contains(p.Detail, "128") {
		t.Errorf("the answer lacks the figure: %s", p.Detail)
	}
	if after := r.want(t, 200, "GET", ports, "").body; after != before {
		t.Errorf("a refused transaction has changed %s to %s", before, after)
	}
}

// TestSplit: what is too much for one transaction is made in several, after all was checked together; a second time changes nothing.
func TestSplit(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	c := &api.Client{HTTP: r.client.Transport}
	send := func(query string, list []string) (api.Done, error) {
		var done api.Done
		_, err := c.Ask(t.Context(), api.Request{Method: "POST", Path: "/v1/api:txn?" + query, Body: []byte(`{"operations": [` + strings.Join(list, ",") + `]}`), Header: []string{"Prefer", "return=minimal"}}, &done)
		return done, err
	}
	const n = 300
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"op": "apply", "table": "port", "object": {"id": "%d", "mac": %d}}`, i, i)
	}
	if _, err := send("split=1", list); err == nil {
		t.Error("a number is text")
	}
	if _, err := send("split=1&loose=1&dry_run=1", list); err != nil {
		t.Error(err)
	}
	bad := append(slices.Clone(list), `{"op": "apply", "table": "port", "object": {"id": "x"}}`)
	if _, err := send("split=1&loose=1", bad); err == nil || !strings.Contains(err.Error(), "mac is required") {
		t.Errorf("the error is %v", err)
	}
	if a := r.want(t, 200, "GET", ports, "").value(t).([]any); len(a) != 0 {
		t.Fatalf("%d objects in spite of a fault", len(a))
	}
	for i, want := range []string{"created", "same"} {
		done, err := send("split=1&loose=1", list)
		if err != nil || len(done.Results) != n || done.Results[0] != want || done.Results[n-1] != want || done.Objects != nil {
			t.Errorf("round %d: %v %v", i, done, err)
		}
		if i == 0 && done.Transactions < 2 {
			t.Errorf("%d transactions", done.Transactions)
		}
	}
}

// failing is a World that is away after some transactions.
type failing struct {
	world.World
	left atomic.Int64
	gets atomic.Int64
}

var errAway = fmt.Errorf("the store is away: %w", world.ErrUnavailable)

func (f *failing) Get(ctx context.Context, key string) (world.KV, error) {
	if f.gets.Add(1); f.left.Load() <= 0 {
		return world.KV{}, errAway
	}
	return f.World.Get(ctx, key)
}

func (f *failing) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	if f.left.Add(-1) < 0 {
		return 0, false, errAway
	}
	return f.World.Txn(ctx, compares, ops)
}

// TestHalfway: a store that is lost between two transactions is told as such, with the first operation that was not made.
func TestHalfway(t *testing.T) {
	w := &failing{World: memory.New()}
	w.left.Store(2)
	r := newRigOn(t, w, api.Options{}, port(t))
	list := make([]string, 300)
	for i := range list {
		list[i] = fmt.Sprintf(`{"op": "create", "table": "port", "object": {"id": "%d", "mac": "m"}}`, i)
	}
	body := `{"operations": [` + strings.Join(list, ",") + `]}`
	p := r.want(t, 503, "POST", "/v1/api:txn?split=1", body).problem(t)
	if !strings.Contains(p.Detail, "128 of 300 operations were made") || !strings.Contains(p.Hint, "operations[128]") {
		t.Errorf("the answer is %q, %q", p.Detail, p.Hint)
	}
	w.gets.Store(0)
	r.want(t, 503, "POST", "/v1/api:txn", body)
	if n := w.gets.Load(); n > 1 {
		t.Errorf("the lost store was asked %d times", n)
	}
}

// TestDump: the lines make the same objects in another store, and tell what cannot be read.
func TestDump(t *testing.T) {
	r, other := newRig(t, api.Options{}, port(t)), newRig(t, api.Options{}, port(t))
	for _, o := range []string{`{"id": "1", "mac": "m", "vlan": 9007199254740993, "key": "k", "topic": "all"}`, `{"id": "a/b", "mac": "m", "address": {"ip": "::1"}}`} {
		r.want(t, 201, "POST", ports, o)
	}
	r.want(t, 204, "PATCH", ports+"/1", `{"up": true}`)
	r.put(t, "m//port/torn", `nonsense`)
	var ops []string
	broken, ended := "", false
	for line, err := range api.Lines[api.Dumped](t.Context(), &api.Client{HTTP: r.client.Transport}, api.Request{Method: "GET", Path: "/v1/api:dump"}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case line.Error != "":
			broken += line.ID
		case line.End:
			ended = true
		default:
			ops = append(ops, fmt.Sprintf(`{"op": "apply", "table": %q, "object": %s}`, line.Table, line.Object))
		}
	}
	if broken != "torn" || !ended || len(ops) != 2 {
		t.Errorf("broken %q, ended %v, %d objects", broken, ended, len(ops))
	}
	other.want(t, 200, "POST", "/v1/api:txn?split=1", `{"operations": [`+strings.Join(ops, ",")+`]}`)
	without := func(body string) string { return strings.ReplaceAll(body, `"version":2`, `"version":1`) }
	if a, b := without(r.want(t, 200, "GET", ports, "").body), other.want(t, 200, "GET", ports, "").body; a != b {
		t.Errorf("restored %s from %s", b, a)
	}
	m, err := other.nb.Registry().Model("port")
	if err != nil {
		t.Fatal(err)
	}
	if o, err := other.nb.Get(t.Context(), m, "1"); err != nil || o.Get("key").(interface{ Reveal() string }).Reveal() != "sealed:K" {
		t.Errorf("the secret was not restored: %v", err)
	}
}

// TestDangling: check tells references to nothing, and takes the word of the program for resources that are no objects.
func TestDangling(t *testing.T) {
	r := newRig(t, api.Options{Known: func(_ context.Context, resource string) bool { return resource == "port[yaml]" }}, port(t))
	for id, peer := range map[string]string{"1": "2", "2": "none", "3": "yaml"} {
		r.want(t, 201, "POST", ports, fmt.Sprintf(`{"id": %q, "mac": "m", "peer": %q}`, id, peer))
	}
	var checked []api.Checked
	if err := json.Unmarshal([]byte(r.want(t, 200, "GET", "/v1/api:check", "").body), &checked); err != nil {
		t.Fatal(err)
	}
	if len(checked) != 1 || len(checked[0].Faults) != 1 || checked[0].Faults[0].ID != "2" || checked[0].Faults[0].Field != "peer" || checked[0].Faults[0].Code != model.RefNotFound {
		t.Errorf("%+v", checked)
	}
}

// TestDanglingSenders: check tells senders of values that are not there, for objects of kinds.
func TestDanglingSenders(t *testing.T) {
	r := newRig(t, api.Options{Known: func(_ context.Context, resource string) bool { return resource == "note[yaml]" }}, define(t, model.Spec{
		Name: "note", Table: "note", Kind: "note", Fields: []model.Field{{Key: "recv", Type: &schema.Type{Kind: schema.KindMap, Elem: text}}},
	}))
	for id, from := range map[string]string{"1": "note[2].out", "2": "note[none].out", "3": "note[yaml].out"} {
		r.want(t, 201, "POST", "/v1/api/note", fmt.Sprintf(`{"id": %q, "recv": {"text": %q}}`, id, from))
	}
	var checked []api.Checked
	if err := json.Unmarshal([]byte(r.want(t, 200, "GET", "/v1/api:check", "").body), &checked); err != nil {
		t.Fatal(err)
	}
	if len(checked) != 1 || len(checked[0].Faults) != 1 || checked[0].Faults[0].ID != "2" || checked[0].Faults[0].Field != "recv" {
		t.Errorf("%+v", checked)
	}
}

// TestRecords: check tells records that cannot be read, and migrate leaves them alone.
func TestRecords(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for _, id := range []string{"1", "2", "3"} {
		r.want(t, 201, "POST", ports, `{"id": "`+id+`", "mac": "m"}`)
	}
	r.put(t, "m//port/2", `{"schema": 99, "kind": "port", "object": {"id": "2"}}`)
	r.put(t, "m//port/3", `nonsense`)
	var checked []api.Checked
	if err := json.Unmarshal([]byte(r.want(t, 200, "GET", "/v1/api:check", "").body), &checked); err != nil {
		t.Fatal(err)
	}
	if len(checked) != 1 || checked[0].Records != 1 || len(checked[0].Faults) != 2 || checked[0].Faults[0].Code != model.SchemaTooNew || checked[0].Faults[1].Code != model.BadRecord {
		t.Errorf("%+v", checked)
	}
	var done []api.Migrated
	if err := json.Unmarshal([]byte(r.want(t, 200, "POST", "/v1/api:migrate", "").body), &done); err != nil {
		t.Fatal(err)
	}
	if len(done) != 1 || fmt.Sprint(done[0].Newer, done[0].Broken) != "[2] [3]" {
		t.Errorf("%+v", done)
	}
}

// topical is a store that lets a host watch single topics alone.
type topical struct{ world.World }

func (w topical) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	if prefix == model.Records {
		return func(yield func(world.Batch, error) bool) { yield(world.Batch{}, world.ErrRefused) }
	}
	return w.World.Watch(ctx, prefix, from)
}

// TestWatchTopics: a change of one topic is told while the other topics are quiet.
func TestWatchTopics(t *testing.T) {
	r := newRigOn(t, topical{memory.New()}, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "topic": "host:a"}`)
	s := r.watch(t, "?topic=host:a,host:b", "")
	s.want("object", "1")
	s.want("synced", "")
	r.want(t, 201, "POST", ports, `{"id": "2", "mac": "m", "topic": "host:a"}`)
	s.want("create", "2")
}

// TestWatchNamesATableTwice: a table that is named twice, also by the name of its model, is told once. A model without a table is refused, as
// it is in a path.
func TestWatchNamesATableTwice(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	s := r.watch(t, "?table=port,Port,port", "")
	s.want("object", "1")
	s.want("synced", "")
	for _, table := range []string{"Address", "port,Address"} {
		if got := r.want(t, 404, "GET", "/v1/api:watch?table="+table, "").problem(t); got.Code != "unknown_model" {
			t.Errorf("%s: %+v", table, got)
		}
	}
}
