package resources

import (
	"testing"

	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/svc"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

func TestRootKey(t *testing.T) {
	for path, want := range map[string]string{"": "", "cmd": "cmd", "env.A": "env", "args[0]": "args", "a[0].b": "a"} {
		if got := received.RootKey(path); got != want {
			t.Errorf("rootKey(%q) = %q, want %q", path, got, want)
		}
	}
}
