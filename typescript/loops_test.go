package typescript_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestLoops: a program that does not end is told with the line of the loop, whatever the loop looks like.
func TestLoops(t *testing.T) {
	for _, src := range []string{
		"for (;;) {}",
		"while (true) {}",
		"do {} while (true)",
		"let n = 0; while (true) n++",
		"const all: number[] = []; for (;;) { all.length = 0 }",
		"function f() { for (;;) {} }\nf()",
		"[1].forEach(() => { for (;;) {} })",
		"class A { constructor() { while (true) {} } }\nnew A()",
		"Promise.resolve().then(() => { for (;;) {} })",
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("the program has not ended in time"))
		a := buildIn(ctx, t, t.TempDir(), map[string]string{"main.ts": "// a comment\n\n" + src + "\n"})
		cancel()
		if got := say(a); !strings.HasPrefix(got, "main.ts:3:") || !strings.Contains(got, "has not ended in time") {
			t.Errorf("%s: %s", src, got)
		}
	}
}
