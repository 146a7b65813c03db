package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"pgregory.net/rapid"
)

const logCanary = "canary in the mine"

// everything returns all forms in which events can be seen.
func (b *logBench) everything() string {
	var out bytes.Buffer
	text := provider.SlogSink(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, e := range b.events {
		fmt.Fprintf(&out, "%+v %#v\n", e, e)
		if e.Context != nil {
			fmt.Fprintf(&out, "%+v\n", *e.Context)
		}
		text(e)
	}
	return b.spec() + b.text(provider.RSAPIText) + out.String()
}

// TestLogHidesSecrets sends a secret along every way.
func TestLogHidesSecrets(t *testing.T) {
	secret := schema.NewSecret(logCanary)
	for name, do := range map[string]func(*logBench){
		"a sensitive attribute": func(b *logBench) { b.AttributeChanged("password", logCanary, logCanary+"2", provider.Of("a")) },
		"bytes of one":          func(b *logBench) { b.AttributeChanged("password", nil, []byte(logCanary), provider.Of("a")) },
		"a list of one":         func(b *logBench) { b.AttributeChanged("password", nil, []any{logCanary}, provider.Of("a")) },
		"a Secret":              func(b *logBench) { b.AttributeChanged("v", nil, secret, provider.Of("a")) },
		"a Sensitive":           func(b *logBench) { b.AttributeChanged("v", puppettype.NewSensitive(logCanary), nil, provider.Of("a")) },
		"a Sensitive in a hash": func(b *logBench) {
			b.AttributeChanged("v", nil, map[string]any{"k": puppettype.NewSensitive([]any{logCanary})}, provider.Of("a"))
		},
		"a Sensitive in a Map": func(b *logBench) {
			b.AttributeChanged("v", nil, puppettype.Map{{Key: int64(1), Value: secret}}, provider.Of("a"))
		},
		"a record": func(b *logBench) {
			b.Processed("a", provider.Record{"password": "old " + logCanary}, provider.Record{"password": secret})
		},
		"records of a context": func(b *logBench) {
			_ = b.Processing("a", provider.Record{"password": logCanary}, nil, func() error { return errors.New("not " + logCanary) })
		},
		"the message beside it": func(b *logBench) {
			b.AttributeChanged("password", nil, logCanary, provider.Of("a"), provider.Message("to "+logCanary))
		},
		"a value beside it": func(b *logBench) {
			b.Processed("a", nil, provider.Record{"password": logCanary, "v": []any{map[string]any{"k": "x" + logCanary}}})
		},
		"a later message": func(b *logBench) { learnCanary(b); b.Info("it is " + logCanary) },
		"quoted": func(b *logBench) {
			b.AttributeChanged("password", nil, "\""+logCanary, provider.Of("a"))
			b.Info(fmt.Sprintf("%q", "\""+logCanary))
		},
		"a line of it": func(b *logBench) {
			b.AttributeChanged("password", nil, "first line\n"+logCanary+"\n", provider.Of("a"))
			b.Info("it has " + logCanary)
		},
		"an error": func(b *logBench) {
			learnCanary(b)
			_ = b.Updating("b", func() error { return errors.New("bad " + logCanary) })
		},
		"a failure": func(b *logBench) { learnCanary(b); b.Failed("b", "bad "+logCanary) },
		"a panic": func(b *logBench) {
			learnCanary(b)
			defer func() { _ = recover() }()
			_ = b.Updating("b", func() error { panic(logCanary) })
		},
		"the words of a context": func(b *logBench) {
			learnCanary(b)
			_ = b.Updating("b", func() error { b.Info("i"); return nil }, provider.Message("Setting "+logCanary))
		},
		"an action":     func(b *logBench) { learnCanary(b); b.Created("b", provider.Message(logCanary)) },
		"the long form": func(b *logBench) { learnCanary(b); _ = b.Updating("b", nil); b.Failed("b", logCanary) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newLogBench(provider.LogOptions{Secret: func(a string) bool { return a == "password" }}, "a", "b")
			do(b)
			if text := b.everything(); strings.Contains(text, logCanary) || !strings.Contains(text, schema.Redacted) {
				t.Errorf("seen:\n%s", text)
			}
			for _, title := range []string{"a", "b"} {
				if _, words := b.Status(title); strings.Contains(words, logCanary) {
					t.Errorf("the status says %q", words)
				}
			}
			b.wantBroken(t, "")
		})
	}
}

func learnCanary(b *logBench) { b.AttributeChanged("password", nil, logCanary, provider.Of("a")) }

// TestLogRedact holds that what the engine knows is asked, and that the error that is
// returned stays the one of the provider.
func TestLogRedact(t *testing.T) {
	b := newLogBench(provider.LogOptions{Redact: func(s string) string { return strings.ReplaceAll(s, "known", "***") }}, "a")
	err := errors.New("known to the engine")
	if got := b.Updating("a", func() error { return err }); got != err {
		t.Errorf("returned %v", got)
	}
	b.AttributeChanged("v", 1, 2, provider.Of("x"))
	b.wantSpec(t, "Debug: Apt_key[a]: Started updating\nError: Apt_key[a]: Updating failed: *** to the engine")
}

// TestLogDoesNotShare holds that what a sink gets is its own.
func TestLogDoesNotShare(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a", "b")
	value := map[string]any{"k": []any{"x"}}
	titles := []string{"a", "b"}
	b.AttributeChanged("v", nil, value, provider.Of(titles...))
	value["k"].([]any)[0] = "altered"
	titles[0] = "altered"
	if e := b.events[0]; !reflect.DeepEqual(e.To, map[string]any{"k": []any{"x"}}) || !reflect.DeepEqual(e.Titles, []string{"a", "b"}) {
		t.Errorf("%+v", e)
	}
}

// TestSecretForms holds in which forms a secret is known once it was seen, wherever
// that was.
func TestSecretForms(t *testing.T) {
	for _, c := range []struct {
		attribute  string
		value      any
		text, want string
	}{
		{"password", "ab\n", "x ab", "x (secret)"},
		{"password", "a\tb", `x "a\tb"`, `x "(secret)"`},
		{"password", "one\ntwo more\n", "two more, one", "(secret), one"},
		{"password", " a b ", "(a b)", "((secret))"},
		{"password", `it's \`, `'it\'s \\' "it's \\" 'it'\''s \' 'it'"'"'s \'`, `'(secret)' "(secret)" '(secret)' '(secret)'`},
		{"password", "<é\x01", `\u003cé\u0001 <\u00e9\u0001 <é\u0001 <é\x01`, "(secret) (secret) (secret) (secret)"},
		{"password", []byte("bytes"), "of bytes", "of (secret)"},
		{"password", []any{map[string]any{"k": "deep"}}, "deep k", "(secret) k"},
		{"password", puppettype.Map{{Key: "kkk", Value: "vvv"}}, "kkk vvv", "(secret) (secret)"},
		{"v", puppettype.NewSensitive([]any{"inner", []byte("bytes")}), "inner bytes", "(secret) (secret)"},
		{"v", map[string]any{"k": schema.NewSecret("inner")}, "inner k", "(secret) k"},
		{"v", puppettype.Map{{Key: "k", Value: schema.NewSecret("inner")}}, "inner k", "(secret) k"},
		{"v", "open", "open", "open"},
	} {
		b := newLogBench(provider.LogOptions{Secret: func(a string) bool { return a == "password" }}, "t")
		b.AttributeChanged(c.attribute, nil, c.value, provider.Of("t"))
		b.Info(c.text)
		if got := b.events[1].Message; got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
		if b.events[0].From != nil {
			t.Errorf("nothing became %v", b.events[0].From)
		}
	}
}

// TestLogSinkMayAlter holds that an event belongs to the sink.
func TestLogSinkMayAlter(t *testing.T) {
	l := provider.NewLogger(provider.LogOptions{Titles: []string{"a"}, Sink: func(e provider.Event) { e.Titles[0] = "altered" }})
	_ = l.Updating("a", func() error { l.Info("i"); return nil })
	if s, _ := l.Status("a"); s != provider.Updated {
		t.Errorf("a is %s", s)
	}
}

// TestLawSecretsAreCleaned: no secret is left, in whatever order they came. Of all secrets the longest that is there goes first, from the
// left; what goes beyond that is part of a secret, too, which lay across two of these.
func TestLawSecretsAreCleaned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`a{1,7}b?`), 0, 6).Draw(t, "secrets")
		pieces := append(secrets, "a", "b", "c", "(")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "text"), "")
		b := newLogBench(provider.LogOptions{Secret: func(string) bool { return true }}, "t")
		for _, s := range secrets {
			b.AttributeChanged("password", nil, s, provider.Of("t"))
		}
		b.Info(text)
		var most, least strings.Builder // what may be left, and what is in no secret
		for i, hidden, secret := 0, 0, 0; i < len(text); i++ {
			longest := 0
			for _, s := range secrets {
				if strings.HasPrefix(text[i:], s) {
					longest = max(longest, len(s))
				}
			}
			secret = max(secret, i+longest)
			if hidden <= i {
				hidden = i + longest
			}
			if hidden <= i {
				most.WriteByte(text[i])
			}
			if secret <= i {
				least.WriteByte(text[i])
			}
		}
		got := b.events[len(b.events)-1].Message
		for piece := range strings.SplitSeq(got, schema.Redacted) {
			for _, s := range secrets {
				if strings.Contains(piece, s) {
					t.Fatalf("%q still has %q", got, s)
				}
			}
		}
		if left := strings.ReplaceAll(got, schema.Redacted, ""); !within(least.String(), left) || !within(left, most.String()) {
			t.Fatalf("%q, want at least %q and at most %q", got, least.String(), most.String())
		}
	})
}

// within reports whether all bytes of a are in b, in their order.
func within(a, b string) bool {
	for i := range len(a) {
		_, after, found := strings.Cut(b, a[i:i+1])
		if !found {
			return false
		}
		b = after
	}
	return true
}

// TestSlogSink pins the structured form: constant messages, the rest as attributes.
func TestSlogSink(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	l := provider.NewLogger(provider.LogOptions{
		Type: "apt_key", Titles: []string{"a", "b", "c", "d"}, Noop: true, Now: stepping(1e9), Sink: provider.SlogSink(log),
		Secret: func(a string) bool { return a == "password" },
	})
	_ = l.Updating("a", func() error {
		l.Warning("w")
		l.AttributeChanged("ensure", nil, "present")
		l.AttributeChanged("password", "old", "new")
		return nil
	})
	_ = l.Deleting("b", func() error { return errors.New("why") }, provider.Also("c"))
	l.Debug("d")
	l.Processed("d", nil, provider.Record{"v": 1})
	want := `
{"level":"DEBUG","msg":"change started","type":"apt_key","title":"a","action":"updated","noop":true}
{"level":"WARN","msg":"provider says","type":"apt_key","title":"a","action":"updated","noop":true,"text":"w"}
{"level":"INFO+2","msg":"attribute changed","type":"apt_key","title":"a","action":"updated","attribute":"ensure","is":null,"should":"present","noop":true}
{"level":"INFO+2","msg":"attribute changed","type":"apt_key","title":"a","action":"updated","attribute":"password","is":"(secret)","should":"(secret)","noop":true}
{"level":"INFO+2","msg":"change done","type":"apt_key","title":"a","action":"updated","noop":true,"took":1000000000}
{"level":"DEBUG","msg":"change started","type":"apt_key","titles":["b","c"],"action":"deleted","noop":true}
{"level":"ERROR","msg":"change failed","type":"apt_key","titles":["b","c"],"action":"deleted","noop":true,"took":1000000000,"err":"why"}
{"level":"DEBUG","msg":"provider says","type":"apt_key","noop":true,"text":"d"}
{"level":"INFO+2","msg":"resource handled","type":"apt_key","title":"d","action":"processed","is":{},"should":{"v":1},"noop":true}
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("logged:%s\nwant:%s", got, want)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// TestSlogLevel holds that what nobody wants is not made.
func TestSlogLevel(t *testing.T) {
	var out bytes.Buffer
	l := provider.NewLogger(provider.LogOptions{Sink: provider.SlogSink(slog.New(slog.NewTextHandler(&out, nil)))})
	l.Debug("d")
	l.Info("i")
	if got := out.String(); strings.Contains(got, "text=d") || !strings.Contains(got, "text=i") {
		t.Error(got)
	}
}
