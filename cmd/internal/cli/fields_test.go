package cli

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/setting"
)

// TestErrorText: an error of a daemon names flags, and each field that one may name has its flag.
func TestErrorText(t *testing.T) {
	for _, f := range setting.Fields() {
		if s := Settings.Get(fieldKeys[f]); s == nil || FlagOf(f) == "--" {
			t.Errorf("%s has no flag", f)
		}
	}
	err := fmt.Errorf("the state: %w", setting.Errorf("use %v or %v", setting.StatePrefix, setting.StateTemporary))
	if got := ErrorText(err); got != "the state: use --prefix or --tmp-prefix" {
		t.Errorf("%q", got)
	}
	if _, err := input.New(input.Config{}, input.Env{}).Frontend(); err != nil && ErrorText(err) == err.Error() {
		t.Errorf("%q names fields", err)
	}
}
