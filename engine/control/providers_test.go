package control

import (
	"net/http"
	"strings"
	"testing"
)

// fakeProviders are two providers, of which one runs.
type fakeProviders struct{ restarted []string }

func (f *fakeProviders) List() []Provider {
	return []Provider{{Name: "aws", Version: "1.0.0", Phase: "ready", PID: 7, Kinds: []string{"aws:ec2:vpc"}}, {Name: "pki", Phase: "stopped", Kinds: []string{}}}
}

func (f *fakeProviders) Restart(name string) (found, running bool) {
	f.restarted = append(f.restarted, name)
	return name == "aws" || name == "pki", name == "aws"
}

// TestProviders: the providers are listed, one that runs is restarted, and the error of another one says why it is not.
func TestProviders(t *testing.T) {
	fake := &fakeProviders{}
	r := newRig(t, func(o *Options) { o.Providers = fake })
	path, _ := r.listen(t)
	c := NewClient(path)
	all, err := c.Providers(t.Context())
	if err != nil || len(all.Providers) != 2 || all.Providers[0].PID != 7 || all.Providers[1].Phase != "stopped" {
		t.Errorf("%+v, %v", all, err)
	}
	if done, err := c.RestartProvider(t.Context(), "aws"); err != nil || done.Provider != "aws" || len(fake.restarted) != 1 {
		t.Errorf("%+v, %v, %v", done, err, fake.restarted)
	}
	for body, want := range map[string]struct {
		code int
		text string
	}{
		`{"provider":"aw"}`:  {http.StatusNotFound, "no provider aw"},
		`{"provider":"pki"}`: {http.StatusConflict, "no resource needs"},
		`{"name":"pki"}`:     {http.StatusBadRequest, "name"},
	} {
		if w := r.request(t, "POST", "/v1/providers/restart", body); w.Code != want.code || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	none := newRig(t)
	if w := none.get(t, "/v1/providers"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"providers":[]`) {
		t.Errorf("without providers: %d %s", w.Code, w.Body)
	}
	if w := none.request(t, "POST", "/v1/providers/restart", `{"provider":"aws"}`); w.Code != http.StatusNotFound {
		t.Errorf("without providers: %d %s", w.Code, w.Body)
	}
}
