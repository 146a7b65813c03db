package daemon_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/setting"
)

// TestFields: each of them is a field of a Config.
func TestFields(t *testing.T) {
	for _, f := range setting.Fields() {
		at := reflect.TypeFor[daemon.Config]()
		for name := range strings.SplitSeq(string(f), ".") {
			field, ok := at.FieldByName(name)
			if !ok {
				t.Fatalf("a daemon.Config has no %s", f)
			}
			at = field.Type
		}
	}
}
