package static_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func names(ctx context.Context, f gapi.Frontend, most int) []string {
	var list []string
	for d, err := range f.Graphs(ctx, gapi.Env{}) {
		if err != nil || len(list) == most {
			break
		}
		list = append(list, d.Name)
	}
	return list
}

func TestYieldsWhatItWasGiven(t *testing.T) {
	f := static.New(&gapi.Declared{Name: "a"}, &gapi.Declared{Name: "b"})
	if got := names(t.Context(), f, 9); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("yielded %v", got)
	}
	if got := names(t.Context(), f, 1); !slices.Equal(got, []string{"a"}) {
		t.Errorf("yielded %v to one who stops", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := names(ctx, f, 9); len(got) != 0 {
		t.Errorf("yielded %v after the end", got)
	}
}

func TestDeclare(t *testing.T) {
	d := static.Declare("file", "/x", nil)
	if d.Kind != "file" || d.Name != "/x" {
		t.Errorf("%+v", d)
	}
}
