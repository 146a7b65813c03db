package mountinfo_test

import (
	"reflect"
	"testing"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{"": "", `/a\040b`: "/a b", `/x\134y`: `/x\y`, "/x": "/x", `/\0`: `/\0`, `\011\012`: "\t\n", `\999`: `\999`} {
		if got := mountinfo.Unescape(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}

func TestParse(t *testing.T) {
	got, ok := mountinfo.Parse(`36 35 98:0 /mnt\0401 /mnt\0402 rw,noatime shared:1 master:2 - ext3 /dev/a\134b rw,errors=continue` + "\n")
	want := mountinfo.Line{
		Place: mountinfo.Place{ID: 36, Parent: 35, Device: "98:0", Root: "/mnt 1", Point: "/mnt 2"}, Options: "rw,noatime",
		Tags: []string{"shared:1", "master:2"}, Type: "ext3", Source: `/dev/a\b`, Super: "rw,errors=continue",
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for _, line := range []string{"", "36 35 98:0 / /mnt rw", "36 35 98:0 / /mnt rw - ext3 /dev/a", "x 35 98:0 / /mnt rw - ext3 /dev/a rw", "36 x 98:0 / /mnt rw - ext3 /dev/a rw", "36 35 98:0 / /mnt - ext3 /dev/a rw"} {
		if got, ok := mountinfo.Parse(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}
