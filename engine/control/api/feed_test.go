package api

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// TestQueueIsBounded: what waits for a reader that takes nothing has a bound in messages, and one in bytes: a table of large objects
// would otherwise take the memory of the machine. A reader that comes gets all of it, in order.
func TestQueueIsBounded(t *testing.T) {
	for what, object := range map[string][]byte{"large objects": bytes.Repeat([]byte("1"), 100_000), "small objects": []byte("1")} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const all = 1000
				f := &feed{wake: make(chan struct{}), room: make(chan struct{}, 1)}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					for n := range int64(all) {
						if f.put(ctx, message(Change{Revision: n, Object: object}, true)) != nil {
							return
						}
					}
				}()
				for next := int64(0); next < all; {
					synctest.Wait()
					page, _, err := f.page(context.Background())
					if err != nil || len(page) == 0 {
						t.Fatalf("the page after %d: %d messages, %v", next, len(page), err)
					}
					if len(page) > maxQueued || size(page) >= maxQueuedBytes+len(object) {
						t.Fatalf("%d messages of %d bytes wait", len(page), size(page))
					}
					next = inOrder(t, page, next)
				}
			})
		})
	}
}

// inOrder fails where the messages do not begin with a revision and go on by one. It returns the next revision.
func inOrder(t *testing.T, page []httpd.Message, next int64) int64 {
	t.Helper()
	for _, m := range page {
		if got := m.Data.(Change).Revision; got != next {
			t.Fatalf("revision %d comes, want %d", got, next)
		}
		next++
	}
	return next
}
