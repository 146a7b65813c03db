package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/daemon/notices"
)

// inbox is a webhook that keeps what it gets.
func inbox(t *testing.T) (url string, messages func() []notices.Message) {
	var mu sync.Mutex
	var got []notices.Message
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m notices.Message
		if err := json.Unmarshal(body, &m); err != nil || r.URL.Path == "/down" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, m)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []notices.Message {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// configured writes a configuration, and has the verbs read it.
func configured(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "mgmt.yaml")
	if err := os.WriteFile(path, []byte(text+"\nprefix: "+dir+"/state\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MGMT_CONFIG", path)
	return dir
}

// TestNotifyTest: each receiver of the configuration, or the named ones, gets a test, and the code tells whether all have taken it.
func TestNotifyTest(t *testing.T) {
	url, messages := inbox(t)
	out := filepath.Join(t.TempDir(), "out")
	configured(t, fmt.Sprintf(`notify:
- {name: hook, filter: outcome == "never", webhook: {url: %q}}
- {name: down, webhook: {url: "%s/down"}}
- {name: script, command: [/bin/sh, -c, "cat > %s"]}`, url, url, out))
	stdout, errs, code := verb(t, "notify", "test")
	if code != cli.ExitFailed || !strings.Contains(stdout, "hook    webhook  sent\ndown    webhook  the server ") || !strings.Contains(stdout, "answers 500\nscript  command  sent\n") {
		t.Errorf("code %d:\n%s%s", code, stdout, errs)
	}
	if m := messages(); len(m) != 1 || !m[0].Test || !strings.Contains(m[0].Text, "this is a test of the receiver hook") {
		t.Errorf("the messages are %+v", m)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), `"test":true`) {
		t.Errorf("%s, %v", text, err)
	}
	stdout, errs, code = verb(t, "notify", "test", "hook", "-o", "json")
	if want := `[
  {
    "name": "hook",
    "type": "webhook",
    "ok": true
  }
]
`; code != cli.ExitOK || stdout != want {
		t.Errorf("code %d:\n%s%s", code, stdout, errs)
	}
	if _, errs, code := verb(t, "notify", "test", "hok"); code != cli.ExitUsage || !strings.Contains(errs, `there is no receiver "hok" (did you mean "hook"?)`) {
		t.Errorf("code %d: %s", code, errs)
	}
	configured(t, "notify: []")
	if _, errs, code := verb(t, "notify", "test"); code != cli.ExitUsage || !strings.Contains(errs, "there are no receivers") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestNotifySetting: the configuration is checked with places, shown as it is, and can be given as a variable.
func TestNotifySetting(t *testing.T) {
	dir := configured(t, "notify:\n- {name: a, journal: true, filter: 'outcom == \"failed\"'}")
	out, _, code := verb(t, "config", "--check")
	if code != cli.ExitUsage || !strings.Contains(out, dir+`/mgmt.yaml:2:37: notify: filter: there is no "outcom" here (did you mean "outcome"?)`) {
		t.Errorf("code %d: %s", code, out)
	}
	if _, errs, code := verb(t, "run", dir); code != cli.ExitUsage || !strings.Contains(errs, "mgmt.yaml:2:37: notify: filter: ") {
		t.Errorf("code %d: %s", code, errs)
	}
	configured(t, "")
	t.Setenv("MGMT_NOTIFY", "[{name: a, journal: true, group: 90s}]")
	out, errs, code := verb(t, "config", "notify", "-o", "json")
	if code != cli.ExitOK || !strings.Contains(out, `"group": "1m30s"`) || !strings.Contains(out, `"source": "environment"`) {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	t.Setenv("MGMT_NOTIFY", "[{name: a}]")
	if _, errs, code := verb(t, "config", "notify"); code != cli.ExitUsage || !strings.Contains(errs, "a receiver needs one of") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestNoticesOfARun: a run tells its receivers at its end, too; what one has not taken is there for the next run, in one message for all that has failed.
func TestNoticesOfARun(t *testing.T) {
	url, messages := inbox(t)
	settings := "notify:\n- {name: ops, filter: outcome == \"failed\", webhook: {url: %q}}"
	dir := configured(t, fmt.Sprintf(settings, url+"/down"))
	var b strings.Builder
	b.WriteString("resources:\n  exec:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  - {name: e%d, cmd: \"false\"}\n", i)
	}
	graph := filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(graph, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := verb(t, "run", graph, "--converged-exit", "--quiet"); code != cli.ExitFailed || !strings.Contains(errs, "a notice is not delivered") {
		t.Errorf("code %d: %s", code, errs)
	}
	text := fmt.Sprintf(settings, url) + "\nprefix: " + dir + "/state\n"
	if err := os.WriteFile(filepath.Join(dir, "mgmt.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(graph, []byte("resources: {noop: [{name: n}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := verb(t, "run", graph, "--converged-exit", "--quiet", "--max-removals=off"); code != cli.ExitOK {
		t.Errorf("code %d: %s", code, errs)
	}
	list := messages()
	if len(list) == 0 {
		t.Fatal("nothing was told")
	}
	for _, m := range list { // the end of the run may cut a try, so the message may come twice
		if m.ID != list[0].ID || m.Total != 200 || len(m.Events) > 50 {
			t.Errorf("the message %s is %s", m.ID, m.Text)
		}
	}
}
