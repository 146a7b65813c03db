package httpd

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// TestFindingA11RefusedPeers: however often a peer is refused, the log has one line a minute, and
// no refusal is lost in it.
func TestFindingA11RefusedPeers(t *testing.T) {
	var r refusals
	var log bytes.Buffer
	now, told, counted := time.Unix(1, 0), 0, 0
	for range 1000 {
		now = now.Add(100 * time.Millisecond) // 100 s together
		if others, tell := r.add(now); tell {
			told, counted = told+1, counted+1+others
		}
	}
	r.end(slog.New(slog.NewTextHandler(&log, nil)))
	if told != 2 || counted != 601 || !strings.Contains(log.String(), "others=399") {
		t.Errorf("%d lines for %d refusals, and at the end %s", told, counted, &log)
	}
	log.Reset()
	r.end(slog.New(slog.NewTextHandler(&log, nil)))
	if log.Len() > 0 {
		t.Errorf("nothing was refused since, and it says %s", &log)
	}
}

// TestFindingA11HalfOpenConnections: where a process may open few files, connections on which
// nobody asks take a small part of them, and who asks gets an answer.
func TestFindingA11HalfOpenConnections(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = 256
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	most, between := Connections(1000), Connections(100)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if most != 32 || between != 32 || Connections(4) != 4 {
		t.Fatalf("of 256 files %d and %d are for connections", most, between)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer markBusy(r.Context())()
		http.NotFound(w, r)
	}), ReadHeaderTimeout: time.Minute, ConnContext: withConn}
	done := make(chan error, 1)
	before := openFiles(t)
	go func() { done <- srv.Serve(newLimited(l, most, clock.System{})) }()
	for range 300 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if held := openFiles(t) - before - 300; held > most+8 {
		t.Errorf("the server holds %d files", held)
	}
	_ = srv.Close()
	<-done
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
