package collect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// failing is a World whose lists fail, by topic, until the errors are taken away.
type failing struct {
	world.World
	mu     sync.Mutex
	errors map[string]error
}

func (f *failing) set(errors map[string]error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = errors
}

func (f *failing) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for topic, err := range f.errors {
		if prefix == hosts.ExportPrefix(topic) {
			return world.Page{}, err
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
			World: w, Clock: clock.System{}, Topics: []string{"all", "group:web"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		away, refused := world.ErrUnavailable, world.ErrRefused
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

// TestFindingH2Flood: a host that changes its export all the time has the others look once in a second. What another host exports meanwhile comes within
// that second, and nothing of the last state is lost, neither here nor for a start without the store.
func TestFindingH2Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		o := options(t)
		kept := filepath.Join(t.TempDir(), "collected.json")
		r := collect.NewReader(collect.ReaderOptions{
			Host: "me", World: w, Clock: clock.System{}, Topics: []string{"all"}, Accept: o.Accept, Log: slog.New(slog.DiscardHandler), File: kept,
		})
		put := func(host string, n int) {
			t.Helper()
			value := fmt.Appendf(nil, `{"value":{"text":"%d"}}`, n)
			if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "exports/all/" + host + "/thing/" + host, Value: value}}); err != nil {
				t.Fatal(err)
			}
		}
		says := func() string {
			var all []string
			found, _ := r.Declare(o.Registry, func(string) bool { return false })
			for _, f := range found {
				all = append(all, f.From+f.Value.Get("text").Text)
			}
			return strings.Join(all, " ")
		}
		r.Want(t.Context(), t.Context(), []gapi.CollectDecl{{Kind: "thing"}})
		looks, last := 0, ""
		look := func() {
			synctest.Wait()
			select {
			case <-r.News():
				looks++
				last = says()
			default:
			}
		}
		put("good", 1)
		if look(); looks != 1 || last != "good1" {
			t.Errorf("the first change: %d looks, %q", looks, last)
		}
		for n := range 1000 {
			put("foe", n)
			look()
			time.Sleep(10 * time.Millisecond)
			switch n {
			case 500:
				put("good", 2)
			case 601:
				if !strings.Contains(last, "good2") {
					t.Errorf("a second later it is still %q", last)
				}
			}
		}
		time.Sleep(time.Second)
		if look(); last != "foe999 good2" || looks > 40 {
			t.Errorf("%d looks, and %q", looks, last)
		}
		for n := range 30 {
			put("good", n)
		}
		synctest.Wait()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(kept)
		var records map[string][]byte
		if err == nil {
			err = json.Unmarshal(text, &records)
		}
		if err != nil || string(records["exports/all/good/thing/good"]) != `{"value":{"text":"29"}}` {
			t.Errorf("%v: kept is %s", err, records)
		}
	})
}
