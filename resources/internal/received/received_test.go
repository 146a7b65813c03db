package received_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/received"
)

func TestRootKey(t *testing.T) {
	for path, want := range map[string]string{"": "", "cmd": "cmd", "env.A": "env", "args[0]": "args", "a[0].b": "a"} {
		if got := received.RootKey(path); got != want {
			t.Errorf("rootKey(%q) = %q, want %q", path, got, want)
		}
	}
}
