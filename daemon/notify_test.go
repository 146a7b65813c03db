package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/internal/await"
)

// told is a webhook that counts the messages by the resource of their first event.
type told struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]notices.Event
}

func newTold(t *testing.T) *told {
	x := &told{got: map[string]notices.Event{}}
	x.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m notices.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, e := range m.Events {
			x.got[e.Resource] = e
		}
	}))
	t.Cleanup(x.Close)
	return x
}

func (x *told) of(resource string) (notices.Event, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.got[resource]
	return e, ok
}

// receiver is a webhook that hears of failures.
func (x *told) receiver(name string) notices.Receiver {
	return notices.Receiver{Name: name, Filter: `outcome == "failed"`, Group: time.Millisecond, Webhook: &notices.Webhook{URL: x.URL}}
}

// TestFailuresAreTold: a failure reaches the receiver, with the labels of the resource. A reload takes over other receivers as a whole or not at
// all; metrics and the socket know them.
func TestFailuresAreTold(t *testing.T) {
	first, second := newTold(t), newTold(t)
	dir := t.TempDir()
	text := "resources: {exec: [{name: a, cmd: \"false\", meta: {labels: {tier: db}}}]}\n"
	c := Config{Graph: input.Config{YAML: graph(t, dir, text)}, Notify: []notices.Receiver{first.receiver("ops")}}
	d, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, d)
	await.Until(t, "the first message", func() bool { _, ok := first.of("exec[a]"); return ok })
	if e, _ := first.of("exec[a]"); e.Labels["tier"] != "db" || e.State != "failed" || !strings.Contains(e.Error, "exit status 1") {
		t.Errorf("the event is %+v", e)
	}
	await.Until(t, "its end", func() bool { return d.notices.Status()[0].Sent == 1 })
	sample, err := d.exporter.sample(t.Context(), d.Running())
	if err != nil || len(sample.Notices) != 1 || sample.Notices[0].Sent != 1 || len(d.notices.receivers()) != 1 {
		t.Errorf("the metrics are %+v, %v", sample.Notices, err)
	}
	bad := second.receiver("other")
	bad.Webhook.SecretFile = filepath.Join(dir, "nowhere")
	next := Next{Notify: &[]notices.Receiver{second.receiver("ops"), bad}}
	d.Reloading.Next = func(context.Context) (Next, error) { return next, nil }
	if _, err := d.beforeReload(t.Context()); err == nil || !strings.Contains(fmt.Sprint(err), "notify: other: secret_file: ") {
		t.Errorf("a reload with a missing file: %v", err)
	}
	if list := d.notices.Status(); len(list) != 1 || list[0].Sent != 1 {
		t.Errorf("a refused reload has altered the receivers: %+v", list)
	}
	next.Notify = &[]notices.Receiver{second.receiver("ops")}
	if _, err := d.beforeReload(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the other receiver", func() bool { list := d.notices.Status(); return len(list) == 1 && list[0].Sent == 0 })
	if err := os.WriteFile(c.Graph.YAML, []byte(strings.Replace(text, "name: a", "name: b", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the second message", func() bool { _, ok := second.of("exec[b]"); return ok })
	if _, ok := first.of("exec[b]"); ok {
		t.Error("the old receiver is still told")
	}
}

// TestWrongReceiverIsAnError: a daemon with a receiver that can't be used does not start.
func TestWrongReceiverIsAnError(t *testing.T) {
	r := (&told{Server: &httptest.Server{URL: "http://127.0.0.1:1"}}).receiver("ops")
	r.Webhook.CA = filepath.Join(t.TempDir(), "nowhere")
	d, err := open(t, Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "{}\n")}, Notify: []notices.Receiver{r}})
	if err == nil {
		_ = d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "notify: ops: ca: ") {
		t.Errorf("the error is %v", err)
	}
}
