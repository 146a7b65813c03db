package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/openapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	text  = &schema.Type{Kind: schema.KindString}
	whole = &schema.Type{Kind: schema.KindInt, Bits: 64}
	texts = &schema.Type{Kind: schema.KindList, Elem: text}
)

// port is the model of most tests: a field of each sort.
func port(t testing.TB) *model.Model {
	t.Helper()
	address := define(t, model.Spec{Name: "Address", Plain: true, Fields: []model.Field{{Key: "ip", Type: text}, {Key: "port", Type: whole}}})
	return define(t, model.Spec{
		Name: "Port", Table: "port", Doc: "A port.", Mixins: []model.Mixin{model.Version, model.BasicEvents},
		Fields: []model.Field{
			{Key: "topic", Type: text},
			{Key: "mac", Type: text, Required: true, Doc: "The address."},
			{Key: "vlan", Type: whole},
			{Key: "up", Type: &schema.Type{Kind: schema.KindBool}},
			{Key: "tags", Type: texts},
			{Key: "limit", Type: whole},
			{Key: "address", Nested: address},
			{Key: "key", Type: &schema.Type{Kind: schema.KindString, Secret: true}},
			{Key: "peer", Type: text, Target: "port"},
		},
		Indexes: map[string][]string{"mac": {"mac"}, "place": {"vlan", "mac"}},
	})
}

// zone is a second model.
var zone = model.Spec{Name: "Zone", Table: "zone", Fields: []model.Field{{Key: "name", Type: text}}}

func define(t testing.TB, s model.Spec) *model.Model {
	t.Helper()
	m, err := model.Define(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rig is a server on a unix socket.
type rig struct {
	nb     *model.NB
	world  world.World
	frame  *httpd.Server
	client *http.Client
	spec   *openapitest.Spec // compares each answer; nil in benchmarks and fuzz tests
	path   string
}

// newRig serves some models until the test ends.
func newRig(t testing.TB, o api.Options, models ...*model.Model) *rig {
	t.Helper()
	return newRigOn(t, memory.New(), o, models...)
}

// newRigOn is newRig over a World, which it closes.
func newRigOn(t testing.TB, world world.World, o api.Options, models ...*model.Model) *rig {
	t.Helper()
	r := &rig{world: world, path: filepath.Join(t.TempDir(), "api.sock")}
	reg := model.NewRegistry(nil)
	for _, m := range models {
		if err := reg.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	r.nb = model.Open(r.world, reg, model.Options{Origin: "host:rig", Seal: seal, Sealed: func(s string) bool { return strings.HasPrefix(s, "sealed:") }})
	o.NB = r.nb
	frame := &httpd.Server{}
	frame.Table = httpd.MustTable(api.Describe(httpd.Info{Title: "Objects"}, reg), api.New(o, func() *httpd.Server { return frame }).Routes())
	r.frame = frame
	l, err := httpd.Listen(t.Context(), r.path, httpd.SocketOptions{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- frame.Serve(ctx, l) }()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return httpd.Dial(ctx, r.path) }}
	r.client = &http.Client{Transport: tr}
	if _, ok := t.(*testing.T); ok {
		w := httptest.NewRecorder()
		frame.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", httpd.DescriptionPath, nil))
		r.spec = openapitest.New(t, w.Body.Bytes())
		r.client.Transport = r.spec.Transport(tr)
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = r.world.Close()
	})
	return r
}

// seal is no cipher, but shows that the text was sealed.
func seal(_ context.Context, _ string, clear schema.Secret) (string, error) {
	return "sealed:" + strings.ToUpper(clear.Reveal()), nil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// problem is the body of an error.
type problem struct {
	Detail, Hint, Code string
	Errors             []httpd.Finding
}

func (a answer) problem(t testing.TB) (p problem) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != httpd.ProblemType {
		t.Fatalf("%d has the type %q: %s", a.status, got, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// value returns the body as JSON.
func (a answer) value(t testing.TB) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return v
}

// ask sends a request; header has names and values by turns.
func (r *rig) ask(t testing.TB, method, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://mgmt"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == "PATCH" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// want asks, and fails where the status is another one.
func (r *rig) want(t testing.TB, status int, method, path, body string, header ...string) answer {
	t.Helper()
	a := r.ask(t, method, path, body, header...)
	if a.status != status {
		t.Fatalf("%s %s %.200s: %d, not %d: %s", method, path, body, a.status, status, a.body)
	}
	return a
}

// put writes a record as another program might have written it.
func (r *rig) put(t testing.TB, key, record string) {
	t.Helper()
	if _, _, err := r.world.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(record)}}); err != nil {
		t.Fatal(err)
	}
}

// fill makes many ports.
func (r *rig) fill(t testing.TB, n int) {
	t.Helper()
	m, err := r.nb.Registry().Model("port")
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < n; from += 50 {
		_, err := r.nb.Txn(t.Context(), func(tx *model.Tx) error {
			for i := from; i < min(n, from+50); i++ {
				o, err := m.New(map[string]any{"id": fmt.Sprintf("port-%06d", i), "mac": "fa:16:3e:00:00:01", "vlan": i % 4096, "tags": []any{"a", "b"}})
				if err == nil {
					_, err = tx.Create(o, model.Write{})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
