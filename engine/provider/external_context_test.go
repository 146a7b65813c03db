package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// contextual has a set command say something about resources, and returns what is logged, what became of each, and the error.
func contextual(t *testing.T, titles []string, stdout string, code int) (log []string, status map[string]string, err error) {
	t.Helper()
	r := rigFor(t, plainAttributes, titles, answering(stdout, "", code))
	var changes []provider.Change
	for _, title := range titles {
		changes = append(changes, provider.Change{Title: title, Name: provider.NameOf(title), Is: provider.State{Presence: provider.Absent}, Should: provider.Record{"id": title, "n": int64(1)}})
	}
	err = errors.Join(r.prov.Set(t.Context(), r.rt, changes), r.rt.Log.Broken())
	status = map[string]string{}
	for _, title := range titles {
		s, text := r.rt.Log.Status(title)
		status[title] = strings.TrimSpace(fmt.Sprint(s, " ", text))
	}
	for _, e := range r.events {
		label := ""
		if e.Context != nil {
			label = e.Context.Label
		}
		log = append(log, strings.TrimSpace(fmt.Sprint(e.Phase, " ", strings.Join(e.Titles, ","), " ", label, " ", e.Attribute, " ", e.Message)))
	}
	return log, status, err
}

// TestFindingE7Contexts: a set command opens the logging contexts of the Resource API; messages and changes within one are about its resource.
func TestFindingE7Contexts(t *testing.T) {
	log, status, err := contextual(t, []string{"a", "b", "c", "d", "e", "f"}, `{"title": "a", "context": "creating"}
{"level": "warning", "message": "slow disk"}
{"attribute": "n", "from": null, "to": 1}
{"title": "a", "status": "created"}
{"title": "b", "context": "updating", "message": "Turning"}
{"title": "b", "status": "failed", "message": "stuck"}
{"title": "c", "context": "deleting"}
{"titles": ["d", "e"], "context": "processing"}
{"level": "info", "message": "both"}
{"title": "f", "context": "failing"}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]string{"a": "created", "b": "failed stuck", "c": "deleted", "d": "processed", "e": "processed", "f": "failed"} {
		if !strings.HasPrefix(status[title], want) {
			t.Errorf("%s is %q, wanted %q", title, status[title], want)
		}
	}
	all := strings.Join(log, "\n")
	for _, want := range []string{"a Creating", "a Creating  slow disk", "a Creating n", "b Turning", "c Deleting", "d,e Processing  both"} {
		if !strings.Contains(all, want) {
			t.Errorf("the log has no %q:\n%s", want, all)
		}
	}
}

// TestFindingE7ContextOfACommandThatFails: what is open when the command fails has failed, with its words.
func TestFindingE7ContextOfACommandThatFails(t *testing.T) {
	_, status, err := contextual(t, []string{"a", "b"}, `{"title": "a", "context": "updating"}
{"title": "a", "status": "updated"}
{"title": "b", "context": "updating"}
`, 3)
	if err == nil || status["a"] != "updated" || !strings.Contains(status["b"], "ended with code 3") {
		t.Errorf("%v, %v", status, err)
	}
}

// TestFindingE7ContextsRefused: lines that break the rules are errors with their numbers.
func TestFindingE7ContextsRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"title": "a", "context": "polishing"}`:                                                     "line 1 of its output: context must be creating",
		`{"context": "updating"}`:                                                                    "line 1 of its output: it has no title",
		`{"attribute": "n", "to": 1}`:                                                                "line 1 of its output: it has no title, and there is no context",
		`{"title": "a", "context": "updating", "status": "updated"}`:                                 "line 1 of its output: it must have one of",
		`{"titles": "a", "context": "updating"}`:                                                     "line 1 of its output: titles is no list of text",
		`{"titles": [1], "context": "updating"}`:                                                     "line 1 of its output: titles is no list of text",
		`{"title": "z", "context": "updating"}`:                                                      "is not among the changes",
		"{\"title\": \"a\", \"status\": \"updated\"}\n{\"title\": \"a\", \"context\": \"updating\"}": "a",
	} {
		if _, _, err := contextual(t, []string{"a"}, line+"\n", 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wanted %q", line, err, want)
		}
	}
}

// TestFindingE7ContextsAsTheyCome: what a command says is logged while it works.
func TestFindingE7ContextsAsTheyCome(t *testing.T) {
	var r *commandRig
	during := 0
	r = rigFor(t, plainAttributes, []string{"a"}, func(_ context.Context, c engine.Command) (*engine.Result, error) {
		c.Stdout([]byte(`{"title": "a", "context": "updating"}`))
		during = len(r.events)
		long := `{"level": "info", "message": "` + strings.Repeat("x", 70<<10) + `"}`
		c.Stdout([]byte(long[:64<<10]))
		c.Stdout([]byte(long[64<<10:]))
		return &engine.Result{Stdout: []byte(`{"title": "a", "context": "updating"}` + "\n" + long + "\n")}, nil
	})
	err := r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "a", Name: provider.NameOf("a"), Should: provider.Record{"id": "a"}}})
	if err := errors.Join(err, r.rt.Log.Broken()); err != nil {
		t.Fatal(err)
	}
	if s, _ := r.rt.Log.Status("a"); during != 1 || len(r.events) != 3 || s != provider.Updated {
		t.Errorf("%d events while it works, %d in all, %s", during, len(r.events), s)
	}
}
