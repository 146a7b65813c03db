package control

import (
	"net"
	"testing"
	"time"
)

// TestSilentFlood: two thousand connections on which nobody asks anything keep nobody out, nor do they
// cut a stream that lasts.
func TestSilentFlood(t *testing.T) {
	r := newRig(t)
	path, end := r.listen(t)
	_, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return len(r.streams) == 1 })
	for range 2000 {
		conn, err := dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	start := time.Now()
	if _, err := NewClient(path).Status(t.Context(), StatusQuery{}); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 5*headTimeout {
		t.Errorf("the answer took %s", d)
	}
	if line, err := in.ReadString('\n'); err != nil || len(r.streams) != 1 {
		t.Errorf("the stream was cut: %q %v", line, err)
	}
	end()
}

// TestMakesRoom: the one that is quiet for longest goes, and only when it has had a while to ask; one
// that asks stays, also when all others do; and the end of the listener waits for no place.
func TestMakesRoom(t *testing.T) {
	l := newLimited(mustListen(t, socketIn(t)), 2)
	next := func() (*limitedConn, net.Conn) {
		there, err := dial(t.Context(), l.Addr().String())
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
	if _, err := dial(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(quietGrace, func() { _ = l.Close() })
	if c, err := l.Accept(); err == nil {
		t.Errorf("%v was accepted beyond the limit", c)
	}
}
