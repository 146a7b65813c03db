package entries

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// providedKinds are resources of all kinds that have a provider, about what is below dir.
func providedKinds(t *testing.T, dir string) map[string]engine.Res {
	t.Helper()
	layHome(t, dir)
	layCrontab(t, dir)
	all := map[string]engine.Res{}
	for name, at := range map[string]func(*testing.T) (*provider.Kind, *kindtest.Place){"host": hostKindAt, "crontab": crontabKindAt, "apt_key": aptKindAt, "ssh_authorized_key": sshKindAt} {
		k, place := at(t)
		place.Set(dir)
		all[name] = kindtest.Filled(t, k, strings.Repeat("A", 40), nil)
	}
	all["ini_setting"] = kindtest.Filled(t, iniKindHere(t), dir+"/a.ini [main] port", nil)
	return all
}
