package daemon

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestWebSettings: a page that others could reach has TLS, and settings that belong together come together, before anything is altered.
func TestWebSettings(t *testing.T) {
	for want, w := range map[string]Web{
		"other machines could reach the page at 0.0.0.0:0": {Address: "0.0.0.0:0"},
		"Web.Address is not": {Hosts: []string{"mgmt.example.org"}},
		"go together":        {Address: "127.0.0.1:0", Cert: "cert.pem"},
		"needs both":         {Address: "127.0.0.1:0", CA: "ca.pem"},
		"certificate of the": {Address: "127.0.0.1:0", Cert: "cert.pem", Key: "key.pem", Proxy: "proxy", Header: "X-Remote-User"},
		"names certificates": {Address: "127.0.0.1:0", Operators: []string{"ada"}},
		"cert.pem: no such":  {Address: "127.0.0.1:0", Cert: "/nowhere/cert.pem", Key: "/nowhere/key.pem"},
		"missing port":       {Address: "127.0.0.1"},
	} {
		d, err := open(t, Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "{}\n")}, Web: w})
		if err == nil {
			_ = d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", w, err, want)
		}
	}
}

// TestPageOfADaemon: a link that the socket gives opens the page of the daemon, which asks the API of the socket.
func TestPageOfADaemon(t *testing.T) {
	d, err := open(t, Config{Graph: input.Config{YAML: graph(t, t.TempDir(), "resources: {noop: [{name: a}]}\n")}, Web: Web{Address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, d)
	c := control.NewClient(d.Socket.Places(d.State)...)
	var login *control.Login
	await.Until(t, "a link", func() bool { login, err = c.Login(t.Context(), control.LoginRequest{}); return err == nil })
	u, err := url.Parse(login.URL)
	if err != nil || !strings.HasPrefix(u.Fragment, "login=") || !strings.Contains(login.By, "uid") {
		t.Fatalf("the link is %+v, %v", login, err)
	}
	page := "http://" + u.Host
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"/login", strings.NewReader(`{"link":"`+strings.TrimPrefix(u.Fragment, "login=")+`"}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Errorf("the login: %s", resp.Status)
	}
	resp, err = http.Get(page + "/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a login: %s", resp.Status)
	}
}
