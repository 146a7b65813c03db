package native_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// TestFindingH3ObjectsTold: an object whose metaparameters do not count here says so in the log of the host.
func TestFindingH3ObjectsTold(t *testing.T) {
	r := newRig(t)
	r.create(`{"id":"a","meta":{"retry":3,"sema":["disk:1"]}}`)
	f := native.New(r.nb, native.Options{Accept: func(d *gapi.Declaration) error {
		c := *d.Meta
		c.Pairs = nil
		for _, p := range d.Meta.Pairs {
			if p.Key == "retry" {
				c.Pairs = append(c.Pairs, p)
			}
		}
		d.Meta = &c
		return nil
	}})
	var log bytes.Buffer
	next := r.graphs(f, gapi.Env{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err, _ := next(); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "thing[a]") || !strings.Contains(text, "[sema]") || strings.Contains(text, "retry") {
		t.Errorf("the log is %q", text)
	}
}
