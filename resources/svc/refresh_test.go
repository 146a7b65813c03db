package svc

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFindingB6Refresh: a notification does what refresh says, and the change says what was done, and why.
func TestFindingB6Refresh(t *testing.T) {
	for _, c := range []struct {
		refresh string
		plain   bool // the unit cannot reload
		want    string
		call    string
	}{
		{"", false, "refreshed: reloaded", "ReloadOrTryRestartUnit web.service"},
		{"", true, "refreshed: restarted, since it cannot reload", "ReloadOrTryRestartUnit web.service"},
		{"try", true, "refreshed: restarted, since it cannot reload", "ReloadOrTryRestartUnit web.service"},
		{"reload", false, "refreshed: reloaded", "ReloadOrTryRestartUnit web.service"},
		{"reload", true, "error: the service web cannot reload its configuration: give it a way to (ExecReload= of a unit), or write refresh: restart", ""},
		{"restart", false, "refreshed: restarted, as refresh says", "RestartUnit web.service"},
		{"restart", true, "refreshed: restarted, as refresh says", "RestartUnit web.service"},
	} {
		r := newSvcRig(t, Res{OnRefresh: c.refresh})
		r.Add("web.service", systemdtest.Unit{Plain: c.plain})
		r.fake.SetRefresh(true)
		kindtest.Want(t, r.fake, r.res, "") // it does not run
		r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "active" })
		kindtest.Want(t, r.fake, r.res, c.want)
		if got := strings.Join(r.Calls(), ", "); got != c.call {
			t.Errorf("refresh: %q of a unit that cannot reload, %t: %s", c.refresh, c.plain, got)
		}
	}
}

// TestFindingB6RefreshIsChecked: another word is refused, and so is what the backend cannot do.
func TestFindingB6RefreshIsChecked(t *testing.T) {
	err := of(t, on(t, withSystemd), "web", Res{OnRefresh: "often"}).Validate()
	if err == nil || !strings.Contains(err.Error(), `refresh is "often", it must be reload, restart or try`) {
		t.Error(err)
	}
	for _, facts := range []virtual.Facts{withSystemd, {"init": "openrc"}, {"init": "runit"}, {"init": "sysv"}} {
		for _, refresh := range []string{"reload", "restart", "try"} {
			if err := of(t, on(t, facts), "web", Res{OnRefresh: refresh}).Validate(); err != nil {
				t.Errorf("%v, refresh: %s: %v", facts, refresh, err)
			}
		}
	}
	if err := engine.CmpFields(of(t, on(t, withSystemd), "web", Res{}), of(t, on(t, withSystemd), "web", Res{OnRefresh: "restart"})); err == nil {
		t.Error("another refresh is no difference")
	}
}
