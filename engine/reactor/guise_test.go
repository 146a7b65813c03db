package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// counter receives a number.
type counter struct {
	fake
	Num int `yaml:"num"`
}

// TestSecretInOtherGuises: a secret is not shown quoted, by its lines, or as a part
// of why it does not fit.
func TestSecretInOtherGuises(t *testing.T) {
	const secret = "first\"line'9f3c\nsecond\\line-7d1a\n"
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		src := newSender(w, func() sends { return sends{Secret: schema.NewSecret(secret)} })
		quoted := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			lines := strings.Split(f.Want, "\n")
			return false, fmt.Errorf("no user %q, nor %s, nor %q", f.Want, lines[1], lines[0])
		}}
		rg.swap(newDecl(t).add("quoted", quoted, "want=fake[src].secret").
			add("number", &counter{fake: fake{w: w}}, "num=fake[src].secret").add("src", src).edges("src>quoted", "src>number"))
		rg.rest()
		for _, name := range []string{"quoted", "number"} {
			s := rg.state(name)
			if s.State != engine.StateFailed {
				t.Fatalf("%s is %s", name, s.State)
			}
			for _, part := range []string{"9f3c", "7d1a"} {
				if strings.Contains(s.Err.Error(), part) {
					t.Errorf("%s shows %q: %v", name, part, s.Err)
				}
			}
		}
	})
}

// TestWhatTheEndCutsHasNotFailed: a run that Run's end cuts counts as unsettled.
func TestWhatTheEndCutsHasNotFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		started := make(chan struct{})
		f := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			close(started)
			<-ctx.Done()
			return false, errors.New("cut")
		}}
		rg.swap(newDecl(t).add("f", f))
		<-started
		rg.close()
		if c, _ := rg.r.Final(); c[engine.StateFailed] != 0 {
			t.Errorf("Final says %v", c)
		}
	})
}
