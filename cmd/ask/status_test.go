package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// TestStatusOfWatches: the status counts what tells of changes, and says where no event does.
func TestStatusOfWatches(t *testing.T) {
	w := &control.Watches{Counts: map[string]int{"poll": 1, "fanotify": 214, "inotify": 3}, Folders: []control.Folder{
		{Path: "/etc", Source: "fanotify"}, {Path: "/srv/\x1b[31mnfs", Source: "inotify", Remote: "nfs4"}, {Path: "/x", Source: "poll"},
	}, More: 2}
	want := "watched folders: 214 by fanotify, 3 by inotify, 1 polled\n" +
		"  /srv/\\x1b[31mnfs is nfs4: changes made elsewhere are seen by meta.poll, and once an hour\n  /x is polled\n  and 2 more, which --all names\n"
	if got := watchesText(w, render.Style{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for want, w := range map[string]*control.Watches{"": nil, "watches: a\\x1bb\n": {Error: "a\x1bb"}} {
		if got := watchesText(w, render.Style{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if watchesText(&control.Watches{}, render.Style{}) != "" {
		t.Error("nothing watched is a line")
	}
}

// TestStatusOfLostStore: the status says since when the store is away, and that the last state goes on.
func TestStatusOfLostStore(t *testing.T) {
	now := time.Unix(1000, 0)
	st := &control.Status{Graph: "g", Converged: true, StoreLost: &control.StoreLost{Since: now.Add(-90 * time.Second), Error: "no \x1b[31mserver"}}
	text := (&statusFlags{}).text(st, render.Style{}, now)
	if want := "the store has been out of reach for 1m30s, and the last state goes on: no \\x1b[31mserver\n"; !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
	}
	st.StoreLost.Refused = true
	if text := (&statusFlags{}).text(st, render.Style{}, now); !strings.Contains(text, "the store has refused this host for 1m30s, and") {
		t.Errorf("a refusal: %q", text)
	}
	before := unhurried(st)
	st.StoreLost = nil
	if strings.Contains((&statusFlags{}).text(st, render.Style{}, now), "out of reach") || unhurried(st) == before {
		t.Error("a store that is back is not told")
	}
}

// TestStatusOfNotices: the status names the receivers that are not reached, and those that were not told of everything.
func TestStatusOfNotices(t *testing.T) {
	now := time.Unix(1000, 0)
	list := []control.NoticeReceiver{
		{Name: "ops", Queued: 3, Error: "no \x1b[31manswer", Since: now.Add(-90 * time.Second), Dropped: 7},
		{Name: "admin", Dropped: 1},
	}
	want := "notices to ops: not delivered for 1m30s, 3 wait: no \\x1b[31manswer; 7 events were dropped\nnotices to admin: 1 event was dropped\n"
	if got := noticesText(list, render.Style{}, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if st := (&control.Status{Notices: list}); !strings.Contains((&statusFlags{}).text(st, render.Style{}, now), want) {
		t.Error("the status lacks them")
	}
}
