package reactor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// counter receives a number.
type counter struct {
	fake
	Num int `yaml:"num"`
}

// TestSecretInOtherForms: a secret is not shown quoted, by its lines, or as a part
// of why it does not fit.
func TestSecretInOtherForms(t *testing.T) {
	long := "head-9f3c" + strings.Repeat("x", 300) // messages cut it off
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
			add("number", &counter{fake: fake{w: w}}, "num=fake[long].secret").add("src", src).
			add("long", newSender(w, func() sends { return sends{Secret: schema.NewSecret(long)} })).
			edges("src>quoted", "long>number"))
		rg.rest()
		for _, name := range []string{"quoted", "number"} {
			s := rg.state(name)
			if s.State != resgraph.StateFailed {
				t.Fatalf("%s is %s", name, s.State)
			}
			if name == "number" && !strings.Contains(s.Err.Error(), "does not fit") {
				t.Errorf("number failed otherwise: %v", s.Err)
			}
			for _, part := range []string{"9f3c", "7d1a"} {
				if strings.Contains(s.Err.Error(), part) {
					t.Errorf("%s shows %q: %v", name, part, s.Err)
				}
			}
		}
	})
}

// TestWhatTheEndCutsHasNotFailed: an error of which the loop hears after the end of
// Run's context may be of that end, so the vertex counts as unsettled.
func TestWhatTheEndCutsHasNotFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		after := func(d time.Duration) *sender {
			return newSender(w, func() sends { time.Sleep(d); return sends{Out: "v"} })
		}
		// The first Validate keeps the loop while "ends" and "cut" come to their
		// ends, so that it hears of both at once; the second one is the end.
		slow := &fake{w: w, validate: func(*fake) error { time.Sleep(time.Second); return nil }}
		last := &fake{w: w, validate: func(*fake) error { rg.stop(); return nil }}
		cut := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(600 * time.Millisecond)
			return false, errors.New("cut")
		}}
		rg.swap(newDecl(t).add("cut", cut).add("holds", after(250*time.Millisecond)).add("ends", after(500*time.Millisecond)).
			add("slow", slow, "want=fake[holds].out").add("last", last, "want=fake[ends].out").edges("holds>slow", "ends>last"))
		if err := <-rg.done; err != nil {
			t.Fatal(err)
		}
		if rest, cut := rg.r.Final(); rest.Counts[resgraph.StateFailed] != 0 || len(cut) > 0 {
			t.Errorf("Final says %+v, cut off %v", rest, cut)
		}
	})
}

// TestFindingA9AnotherCommandPrintsASecret: what a vertex prints that has not received the
// secret of another one shows it in no notation: neither in its error, its log nor its changes.
func TestFindingA9AnotherCommandPrintsASecret(t *testing.T) {
	const secret = `it's "a" <canary-7f3d1b> & ü\n`
	said := []string{
		secret, fmt.Sprintf("%q", secret), fmt.Sprintf("%+q", secret), fmt.Sprintf("%x", secret),
		`+ read 'it'\''s "a" <canary-7f3d1b> & ü\n'`, `+ read 'it'"'"'s "a" <canary-7f3d1b> & ü\n'`,
		`{"k":"it's \"a\" \u003ccanary-7f3d1b\u003e \u0026 \u00fc\\n"}`, `'it\'s "a" <canary-7f3d1b> & \xfc\\n'`,
		"it&#39;s &quot;a&quot; &lt;canary-7f3d1b&gt; &amp; ü\\n", "it%27s+%22a%22+%3Ccanary-7f3d1b%3E+%26+%C3%BC%5Cn",
		base64.StdEncoding.EncodeToString([]byte("user:" + secret)), `it's "a" <canary-7f3...`,
	}
	bubble(t, func(t *testing.T) {
		w := newWorld()
		var log bytes.Buffer
		rg := newRig(t, reactor.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		defer rg.close()
		prints := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			for _, s := range said {
				f.init.Logf("it says %s", s)
				f.init.Log.Info("it says", "what", s, "err", errors.New(s))
			}
			return false, errors.New(strings.Join(said, "; "))
		}}
		rg.swap(newDecl(t).add("src", newSender(w, func() sends { return sends{Secret: schema.NewSecret(secret)} })).
			add("prints", prints).edges("src>prints"))
		rg.rest()
		all := log.String() + rg.state("prints").Err.Error()
		for _, part := range []string{"canary", "63616e617279", base64.StdEncoding.EncodeToString([]byte("user:" + secret))[8:30]} {
			if i := strings.Index(all, part); i >= 0 {
				t.Errorf("%s is shown: ...%s...", part, all[max(0, i-60):min(len(all), i+60)])
			}
		}
	})
}
