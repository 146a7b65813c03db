package provenance_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/provenance"
)

// TestCulprit: the words for a process cannot be taken for others, whatever its program is called.
func TestCulprit(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*provenance.Culprit{
		"":                nil,
		"/bin/cp (pid 7)": {PID: 7, Program: "/bin/cp"},
		"pid 7 (gone)":    {PID: 7, Gone: true},
		"/bin/cp (pid 7, user a, unit u.service)":         {PID: 7, Program: "/bin/cp", User: "a", Unit: "u.service"},
		`"/tmp/cp (pid 1)" (pid 7, login "a, user root")`: {PID: 7, Program: "/tmp/cp (pid 1)", Login: "a, user root"},
		`"/tmp/\u202ecp\x1b[2J\xff" (pid 7)`:              {PID: 7, Program: "/tmp/\u202ecp\x1b[2J\xff"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	odd := &provenance.Culprit{PID: 7, Program: "/a\"b\\c\u202e\xff", Unit: "d\n"}
	if got := odd.Plain(); *got != (provenance.Culprit{PID: 7, Program: `/a"b\c\u202e\xff`, Unit: `d\n`}) || (*provenance.Culprit)(nil).Plain() != nil {
		t.Errorf("%+v", got)
	}
}
