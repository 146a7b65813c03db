package svc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSvcSharedHangs: a manager that does not answer keeps neither the end of mgmt waiting for longer
// than closeTime, nor End for longer than rereadTime; what it was not told, it is told again.
func TestSvcSharedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		told := 0
		s := &shared{life: life, due: true, reread: func(ctx context.Context) error {
			told++
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		took := func(most time.Duration, f func()) {
			t.Helper()
			began := time.Now()
			f()
			if d := time.Since(began); d != most {
				t.Errorf("it took %s, want %s", d, most)
			}
		}
		took(rereadTime, s.End)
		time.AfterFunc(time.Second, end)
		took(time.Second, s.End)
		took(0, s.End)
		if told != 2 {
			t.Errorf("it was tried %d times, and the last one when all was over", told)
		}
		took(closeTime, func() {
			if err := s.Close(); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		s.reread = func(context.Context) error { told++; return nil }
		took(0, func() {
			if err := errors.Join(s.Close(), s.Close()); err != nil || told != 4 {
				t.Errorf("%v, after %d times", err, told)
			}
		})
	})
}
