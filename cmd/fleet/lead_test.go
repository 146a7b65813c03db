package fleet

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/deploy"
)

// TestFindingQ14Wait: the time for missing hosts begins when the batches are over, however long those take. A host that is there and has not reported
// yet is waited for like one that is away, and is told apart at the end.
func TestFindingQ14Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		at := deploy.Rollout{Number: 2, State: deploy.Running, Hosts: []string{"a"}}
		w := &waiter{
			leader: &leader{app: &cli.App{Out: &out}, patience: cli.Seconds(time.Minute), missing: cli.Choice{Word: "wait"}},
			topic:  "all",
			lead:   &deploy.Lead{Rollout: at},
			phases: map[string]deploy.Phase{},
			seen: members{
				live: []string{"a", "b", "fresh"}, topic: []string{"a", "b"}, all: []string{"a", "b", "fresh", "gone"},
				reports: []deploy.Report{{Host: "a"}, {Host: "b"}, {Host: "gone"}},
			},
		}
		awaits := func(what string, want bool) {
			t.Helper()
			if got := w.awaits(w.missingHosts()); got != want {
				t.Errorf("%s: waits %t, want %t; told\n%s", what, got, want, &out)
			}
		}
		time.Sleep(time.Hour)
		awaits("in the first batch", true)
		w.phases["a"], w.lead.Rollout.Hosts = deploy.Converged, []string{"a", "b"}
		time.Sleep(time.Hour)
		awaits("in the second batch", true)
		if out.Len() > 0 {
			t.Errorf("it tells before the batches are over:\n%s", &out)
		}
		w.phases["b"] = deploy.Late // in a batch whose failures do not stop the rollout
		awaits("after the batches", true)
		if want := "waiting for fresh gone, 1m0s at most\n"; out.String() != want {
			t.Errorf("it tells %q, want %q", &out, want)
		}
		time.Sleep(time.Minute)
		awaits("at the end of the patience", true)
		w.seen.live = []string{"a", "b", "fresh", "gone"}
		w.seen.topic = []string{"a", "b", "gone"}
		w.lead.Rollout.Hosts = []string{"a", "b", "gone"}
		w.phases["gone"] = deploy.Converged
		awaits("after one has come back", true)
		time.Sleep(time.Second)
		awaits("after the patience", false)
		if got := w.standing("fresh"); got.Number != 0 || got.State != "" {
			t.Errorf("a host without a report has %v", got)
		}
		w.phases["fresh"] = deploy.Converged
		awaits("without missing hosts", false)
	})
}

// TestFindingQ14Why: a host without the deploy is told by what it lacks.
func TestFindingQ14Why(t *testing.T) {
	w := &waiter{seen: members{live: []string{"busy", "other"}, topic: []string{"busy"}}}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for host, want := range map[string]string{
		"busy":  "busy is there, and has not come to rest",
		"other": "other is there, and takes no deploys so far: it needs the public key in its setting trusted_keys",
		"gone":  "gone not seen for 5m0s",
	} {
		if got := w.lacks(host, now.Add(-5*time.Minute), now); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	for _, seen := range []time.Time{{}, now.Add(time.Hour)} { // never, and by a clock that is ahead
		if got, want := w.lacks("gone", seen, now), "gone not there"; got != want {
			t.Errorf("seen at %v: %q, want %q", seen, got, want)
		}
	}
}
