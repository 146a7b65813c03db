package main

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

// TestGuard: values that take too much end the context with a sentence, and fewer do not.
func TestGuard(t *testing.T) {
	ctx, full := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() {
		guard(ctx, full, 1<<40)
		close(ended)
	}()
	full(nil)
	<-ended
	if cause := context.Cause(ctx); cause != context.Canceled {
		t.Errorf("the cause is %v", cause)
	}
	ctx, full = context.WithCancelCause(t.Context())
	defer full(nil)
	ballast := make([]byte, 32<<20)
	guard(ctx, full, 16<<20)
	if text := context.Cause(ctx).Error(); !strings.Contains(text, "MiB of memory") {
		t.Errorf("the cause is %s", text)
	}
	runtime.KeepAlive(ballast)
}
