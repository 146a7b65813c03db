package control

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// selectable has a graph in which modules, labels, groups and strange names can be selected.
func selectable(t *testing.T) *rig {
	r := newRig(t)
	g := graphOf(t, "file[/a]", "file[/b]", "svc[web]", "file[/c],svc[web]]", "print[all]<print[one]")
	meta := func(id string) *engine.MetaParams {
		i, _ := g.Index(id)
		return g.Value(i).Res.MetaParams()
	}
	meta("file[/b]").Module = "web.tls"
	meta("svc[web]").Labels = map[string]string{"tier": "front"}
	i, _ := g.Index("print[all]")
	g.Value(i).Special().Group[0].Res.MetaParams().Module = "member"
	r.rec.Loaded(func() *resgraph.Graph { return g })
	r.engine.list = nil
	for i := range g.IDs() {
		r.engine.list = append(r.engine.list, reactor.Status{Resource: g.ID(i), State: resgraph.StateOK})
	}
	r.engine.list[0].State = resgraph.StateFailed
	r.engine.list[2].State = resgraph.StateFailed
	return r
}

func TestFindingQ9Choose(t *testing.T) {
	r := selectable(t)
	for text, want := range map[string]string{
		"file":                     "file[/a] file[/b] file[/c],svc[web]]",
		"file[/a],svc[web]":        "file[/a] svc[web]",
		"file[/c],svc[web]]":       "file[/c],svc[web]]", // a name before all else
		"module:web":               "file[/b]",
		"label:tier":               "svc[web]",
		"state:failed":             "file[/a] svc[web]",
		"state:failed & file":      "file[/a]",
		"print[on*]":               "print[all]", // by a member
		"module:member,print[one]": "print[all]",
		"print[one]":               "print[all]",
		"*":                        "file[/a] file[/b] svc[web] file[/c],svc[web]] print[all]",
	} {
		c, err := r.chooseNow(t.Context(), text)
		if err != nil || strings.Join(c[0].ids, " ") != want {
			t.Errorf("%q: %v, %v, want %s", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		"fil":          `the selection "fil" selects nothing, there is no kind "fil", did you mean "file"?`,
		"/a":           `did you mean "file[/a]"?`,
		"svc[wbe]":     `svc[wbe] is not in the graph, did you mean "svc[web]"?`,
		"state:paused": "no resource is paused",
		"file,":        "character 6",
	} {
		_, err := r.chooseNow(t.Context(), text)
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), want) || (e.Status == http.StatusBadRequest) != (text == "file,") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestFindingQ9Orders gives a daemon orders that select several resources.
func TestFindingQ9Orders(t *testing.T) {
	r := selectable(t)
	for _, c := range []struct {
		path, body, want string
		code             int
	}{
		{"pause", `{"resource":"file[/a],module:web"}`, `{"resources":["file[/a]","file[/b]"],"selected":2}`, 200},
		{"resume", `{"resource":"file"}`, `{"resources":["file[/a]","file[/b]"],"selected":3}`, 200},
		{"resume", `{"resource":"file"}`, `{"resources":[],"selected":3}`, 200},
		{"pause", `{"resource":"file[/a]"}`, `{"resource":"file[/a]"}`, 200},
		{"retry", `{"resources":["file"]}`, `{"resources":["file[/a]"],"selected":3}`, 200},
		{"retry", `{"resources":["svc[web]","file"]}`, `{"resources":["file[/a]","svc[web]"],"selected":3}`, 200},
		{"retry", `{"resources":["print"]}`, `{"resources":[],"selected":1}`, 200},
		{"retry", `{"resources":["file[/b]","file"]}`, `file[/b] has not failed`, 409},
		{"retry", `{"resources":["file","pkg"]}`, `there is no kind`, 404},
		{"pause", `{"resource":"modul:web"}`, `did you mean`, 400},
		{"resume", `{"resource":"pkg"}`, `there is no kind`, 404},
	} {
		if w := r.request(t, "POST", "/v1/"+c.path, c.body); w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	// Each one has the caller in the history, and none of them a second time.
	if got := len(r.engine.paused); got != 1 || len(r.rec.speakers) != 0 {
		t.Errorf("%d pauses are left, %v", got, r.rec.speakers)
	}
}

// TestFindingQ9Questions asks about several resources.
func TestFindingQ9Questions(t *testing.T) {
	r := selectable(t)
	for _, c := range []struct {
		path, query, want string
		code              int
	}{
		{"status", "select=file", `"selected":{"counts":{"failed":1,"ok":2},"exit_code":4}`, 200},
		{"status", "select=module:web", `"selected":{"counts":{"ok":1},"exit_code":0}`, 200},
		{"status", "select=file&state=failed", `"resources":[{"resource":"file[/a]"`, 200},
		{"status", "select=pkg", `there is no kind`, 404},
		{"resources", "select=file&limit=1", `{"resources":["file[/a]"],"all":3}`, 200},
		{"resources", "select=svc[web]", `{"resources":["svc[web]"],"one":true,"all":1}`, 200},
		{"resources", "select=file&prefix=file[/b", `{"resources":["file[/b]"],"all":1}`, 200},
		{"resources", "prefix=m&terms=1", `{"resources":[],"terms":["module:member","module:web","module:web.tls"]}`, 200},
		{"resources", "prefix=label&terms=1", `"terms":["label:tier=front"]`, 200},
		{"log", "resource=file,", "character 6", 400},
		{"log", "resource=pkg", "there is no kind", 404},
		{"log", "resource=module:web", `"events":[]`, 200},
		{"events", "resource=pkg", "there is no kind", 404},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if w := r.request(t, "GET", "/v1/"+c.path+"?"+q.Encode(), ""); w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.query, w.Code, w.Body)
		}
	}
}

// TestFindingQ9Watching: who watches or waits is told that a selection has nothing, and that there is no graph yet; it is no error.
func TestFindingQ9Watching(t *testing.T) {
	r := selectable(t)
	for _, c := range []struct {
		query, want string
		code        int
	}{
		{"select=state:paused&empty=true", `"selected":{"counts":{},"exit_code":0,"none":"the selection \"state:paused\" selects nothing, no resource is paused"}`, 200},
		{"select=svc[gone]&empty=true", `"none":"svc[gone] is not in the graph`, 200},
		{"select=file,&empty=true", `character 6`, 400},
		{"select=state:paused", `no resource is paused`, 404},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		w := r.request(t, "GET", "/v1/status?"+q.Encode(), "")
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.query, w.Code, w.Body)
		}
		if c.code == 200 && !strings.Contains(w.Body.String(), `"resources":[]`) {
			t.Errorf("%s: %s", c.query, w.Body)
		}
	}
	r.rec.Loaded(nil)
	r.engine.list = nil
	if w := r.get(t, "/v1/status?select=file&empty=true"); w.Code != 200 || !strings.Contains(w.Body.String(), `"none":"there is no graph yet"`) {
		t.Errorf("without a graph: %d %s", w.Code, w.Body)
	}
}

// TestFindingQ9Moment: a request is about the graph that was in effect when it came, also where the Recorder was not told of it yet.
func TestFindingQ9Moment(t *testing.T) {
	for _, c := range []struct{ path, body, want string }{
		{"pause", `{"resource":"pkg"}`, `{"resources":["pkg[new]"],"selected":1}`},
		{"pause", `{"resource":"pkg[new]"}`, `{"resource":"pkg[new]"}`},
		{"retry", `{"resources":["pkg"]}`, `{"resources":["pkg[new]"],"selected":1}`},
	} {
		r := selectable(t)
		g := graphOf(t, "pkg[new]")
		r.rec.Swapped(reactor.Swap{Generation: 2, Name: "web"})
		r.engine.list = []reactor.Status{{Resource: "pkg[new]", State: resgraph.StateFailed}}
		r.engine.told = func() { go r.rec.Loaded(func() *resgraph.Graph { return g }) } // comes after what Told has waited for
		if w := r.request(t, "POST", "/v1/"+c.path, c.body); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
}

// TestFindingQ9OneStep: whatever several arguments of retry name, one step of the engine does it.
func TestFindingQ9OneStep(t *testing.T) {
	r := selectable(t)
	w := r.request(t, "POST", "/v1/retry", `{"resources":["svc[web]","state:failed & file","file"]}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `{"resources":["file[/a]","svc[web]"],"selected":3}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if r.engine.steps != 1 || len(r.engine.asked) != 1 {
		t.Errorf("%d steps, and the states of %d moments", r.engine.steps, len(r.engine.asked))
	}
}

// TestFindingQ9Past selects events of what is in the graph, of what has left it, and of what a dead daemon has kept.
func TestFindingQ9Past(t *testing.T) {
	r := selectable(t)
	for i, id := range []string{"file[/a]", "file[/b]", "file[/gone]", "exec[a*]", "exec[ab]", "svc[web]"} {
		r.rec.Ran(changedRun(id, uint64(i+1)))
	}
	resources := func(log *Log, err error) string {
		var ids []string
		if err == nil {
			for _, e := range log.Events {
				ids = append(ids, e.Resource)
			}
		} else {
			ids = append(ids, err.Error())
		}
		return strings.Join(ids, " ")
	}
	events(t, r.rec, r.opt.History)
	path, _ := r.listen(t)
	live, past := NewClient(path), Past{History: r.opt.History}
	for text, want := range map[string]string{
		"file":             "file[/a] file[/b] file[/gone]",
		"file[/g*]":        "file[/gone]",
		"exec[a*]":         "exec[a*]", // a name before all else
		"exec[a*],file[a]": "exec[a*] exec[ab]",
		"exec[*]":          "exec[a*] exec[ab]",
	} {
		if got := resources(live.Log(t.Context(), Query{Resource: text})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if got := resources(past.Log(t.Context(), Query{Resource: text})); got != want {
			t.Errorf("past: %q: %s, want %s", text, got, want)
		}
	}
	if got := resources(live.Log(t.Context(), Query{Resource: "module:web,svc"})); got != "file[/b] svc[web]" {
		t.Error(got)
	}
	if got := resources(past.Log(t.Context(), Query{Resource: "module:web"})); !strings.Contains(got, "a history alone knows no module") {
		t.Error(got)
	}
	names, err := past.Choose(t.Context(), "file,svc", 2)
	if err != nil || !slices.Equal(names.Resources, []string{"svc[web]", "file[/gone]"}) || names.All != 4 || names.One {
		t.Errorf("%+v, %v", names, err)
	}
	if _, err := past.Choose(t.Context(), "fil", 2); err == nil || !strings.Contains(err.Error(), `did you mean "file"?`) {
		t.Error(err)
	}
	if names, err = past.Choose(t.Context(), "exec[a*]", 2); err != nil || !names.One || names.All != 1 {
		t.Errorf("%+v, %v", names, err)
	}
}
