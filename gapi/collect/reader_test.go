package collect_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// failing is a World whose lists fail, by topic, until the errors are taken away.
type failing struct {
	engine.World
	mu     sync.Mutex
	errors map[string]error
}

func (f *failing) set(errors map[string]error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = errors
}

func (f *failing) List(ctx context.Context, prefix string, o engine.ListOptions) (engine.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for topic, err := range f.errors {
		if prefix == hosts.ExportPrefix(topic) {
			return engine.Page{}, err
		}
	}
	return f.World.List(ctx, prefix, o)
}

// TestReaderTellsOfLosses: the loss of several topics is told once, that of another class anew, and the end of the last one.
func TestReaderTellsOfLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &failing{World: memory.New()}
		var log bytes.Buffer
		r := collect.NewReader(collect.ReaderOptions{
			World: w, Clock: engine.SystemClock{}, Topics: []string{"all", "group:web"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		away, refused := engine.ErrUnavailable, engine.ErrRefused
		w.set(map[string]error{"all": away, "group:web": away})
		r.Want(t.Context(), t.Context(), []gapi.CollectDecl{{Kind: "file", Name: "*", From: "*"}})
		defer r.Close()
		for _, step := range []struct {
			fails map[string]error
			want  string // "" for nothing new
		}{
			{map[string]error{"all": away, "group:web": away}, "out of reach"},
			{map[string]error{"all": refused, "group:web": away}, "refuses this host"},
			{map[string]error{"all": refused, "group:web": refused}, ""},
			{map[string]error{"group:web": refused}, ""},
			{map[string]error{"group:web": away}, "out of reach"},
			{nil, "the store is back"},
		} {
			w.set(step.fails)
			time.Sleep(time.Minute)
			synctest.Wait()
			lines := strings.Count(log.String(), "\n")
			if !strings.Contains(log.String(), step.want) || step.want == "" && lines != 0 || step.want != "" && lines != 1 {
				t.Errorf("%v: %q, want %q", errors.Join(step.fails["all"], step.fails["group:web"]), log.String(), step.want)
			}
			log.Reset()
		}
	})
}
