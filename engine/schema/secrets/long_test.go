package secrets_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// longSecret has 16 KB in lines, as a chain of certificates has, with a seed.
func longSecret(seed int) string {
	var b strings.Builder
	for i := 0; b.Len() < 16<<10; i++ {
		fmt.Fprintf(&b, "%02d/Line+%03d: \"quoted\" <and> it's & so\\on=%016x==\n", seed, i, (i+seed)*0x9e3779b97f4a7c1)
	}
	return b.String()
}

// allocated returns how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFindingM5Long: a secret of 16 KB costs a bounded number of copies of it, and the second user of it, who tells another one of it, none.
func TestFindingM5Long(t *testing.T) {
	secret := longSecret(0)
	all := secrets.Texts{Least: 6}
	if n := allocated(func() { all.Add(secret) }); n > 3<<19 {
		t.Errorf("it takes %d KiB", n>>10)
	}
	own := secrets.Texts{Also: &all}
	if n := allocated(func() { own.Add(secret) }); n > 64<<10 {
		t.Errorf("once more it takes %d KiB", n>>10)
	}
}

// TestFindingM5Notations: a long secret is known in each notation, and so is each of its lines.
func TestFindingM5Notations(t *testing.T) {
	secret := longSecret(0)
	var s secrets.Texts
	s.Add(secret)
	line := strings.Split(secret, "\n")[20]
	for name, f := range notations {
		for _, part := range []string{secret, line} {
			form := f(part)
			got := s.Clean("said: " + form + " (end)")
			if !strings.HasPrefix(got, "said: ") || !strings.HasSuffix(got, " (end)") || len(got) > len(form)/10+60 {
				t.Errorf("%d bytes as %s became %d: %.200s", len(part), name, len(got), got)
			}
		}
	}
	// PostgreSQL has an x before the hex, with which the first byte looks like an escape.
	if got := s.Clean(fmt.Sprintf(`said: \x%x (end)`, secret)); len(got) > 60 {
		t.Errorf("%.200s", got)
	}
	for _, c := range []string{"\xff\xfe", "é\u2028"} { // no text, and no ASCII
		secret := strings.Repeat("it's "+c+" \"so\"\t<x>&", 200)
		var s secrets.Texts
		s.Add(secret)
		for name, f := range notations {
			form := f(secret)
			if got := s.Clean("said: " + form + " (end)"); len(got) > len(form)/10+60 {
				t.Errorf("%q as %s: %.200s", c, name, got)
			}
		}
	}
}

// TestFindingM5Also: what two keep out together is what one would keep out; and what one has forgotten it is told again.
func TestFindingM5Also(t *testing.T) {
	all := secrets.Texts{Least: 6, Most: 4}
	own := secrets.Texts{Also: &all}
	for _, s := range []string{"root1", "root1-hunter2", "one longer line\nabcd\n"} {
		own.Add(s)
	}
	other := secrets.Texts{Also: &all}
	for i := range 10 {
		other.Add(fmt.Sprint("another secret ", i))
	}
	for text, want := range map[string]string{
		"root1-hunter2, root1 and abcd": "(secret), (secret) and (secret)",
		"one longer line":               "(secret)",
		"another secret 9":              "(secret)",
		"nothing":                       "nothing",
	} {
		if got := own.Clean(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := other.Clean("root1, abcd"); got != "root1, abcd" {
		t.Errorf("short secrets of another one: %s", got)
	}
}

// BenchmarkFindingM5Long is the cost of a secret of 16 KB, of a first and of a second vertex.
func BenchmarkFindingM5Long(b *testing.B) {
	secret := longSecret(0)
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s secrets.Texts
			s.Add(secret)
		}
	})
	b.Run("second", func(b *testing.B) {
		all := secrets.Texts{Least: 6}
		all.Add(secret)
		b.ReportAllocs()
		for b.Loop() {
			s := secrets.Texts{Also: &all}
			s.Add(secret)
		}
	})
}
