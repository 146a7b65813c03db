package setting_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/setting"
)

// TestNamed: a program has its own names in the texts, however deep the error stands, and the error stays what it is.
func TestNamed(t *testing.T) {
	err := setting.Errorf("%v=%d: use %v: %w", setting.StorePlace, 3, setting.TrustedKeys, fs.ErrNotExist)
	deep := fmt.Errorf("the daemon: %w", errors.Join(errors.New("first"), setting.Errorf("in %v: %w", setting.StatusFile, err)))
	const own = "the daemon: first\nin StatusFile: Store.Place=3: use TrustedKeys: file does not exist"
	if deep.Error() != own || !errors.Is(deep, fs.ErrNotExist) {
		t.Errorf("%q", deep)
	}
	flags := func(f setting.Field) string { return "--" + strings.ToLower(string(f)) }
	if got := setting.Named(deep, flags); got != "the daemon: first\nin --statusfile: --store.place=3: use --trustedkeys: file does not exist" {
		t.Errorf("%q", got)
	}
	if got := setting.Named(fs.ErrExist, flags); got != fs.ErrExist.Error() {
		t.Errorf("%q", got)
	}
}
