package httpd

import (
	"net"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// TestMakesRoom: the one that is quiet for longest goes, and only when it has had a while to ask; one
// that asks stays, also when all others do; and the end of the listener waits for no place.
func TestMakesRoom(t *testing.T) {
	l := newLimited(mustListen(t, socketIn(t)), 2, clock.System{})
	next := func() (*limitedConn, net.Conn) {
		there, err := Dial(t.Context(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = there.Close() })
		here, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = here.Close() })
		return here.(*limitedConn), there
	}
	first, _ := next()
	second, _ := next()
	start := time.Now()
	first.ask()
	third, _ := next()
	if second.quiet != nil || !second.gone || first.gone || time.Since(start) < quietGrace/2 {
		t.Errorf("gone: %t %t after %s", first.gone, second.gone, time.Since(start))
	}
	third.ask()
	first.rest()
	first.rest()
	fourth, _ := next()
	if !first.gone || third.gone || l.quiet.Len() != 1 {
		t.Errorf("gone: %t %t, %d are quiet", first.gone, third.gone, l.quiet.Len())
	}
	first.rest()
	fourth.ask()
	if l.quiet.Len() != 0 {
		t.Errorf("%d are quiet, one of them gone", l.quiet.Len())
	}
	if _, err := Dial(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(quietGrace, func() { _ = l.Close() })
	if c, err := l.Accept(); err == nil {
		t.Errorf("%v was accepted beyond the limit", c)
	}
}
