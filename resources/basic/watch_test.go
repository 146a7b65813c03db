package basic

import (
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestBug28_CancelledWatchesEnd: each Watch returns as soon as its context ends.
//
// Seen failing with: timer.go, Watch: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	for kind, r := range map[string]engine.Res{
		"noop": &NoopRes{}, "print": &PrintRes{}, "msg": &MsgRes{Body: "x", Priority: "info"}, "value": &ValueRes{},
		"test": &TestRes{WatchEvery: time.Hour}, "timer": &TimerRes{Interval: time.Hour},
	} {
		t.Run(kind, func(t *testing.T) { kindtest.WatchEnds(t, kind, r, nil) })
	}
}
