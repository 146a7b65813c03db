package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/openapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a World on a socket, and returns a client of it.
func serve(t *testing.T, w world.World, may bool) *store.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	frame := &httpd.Server{Table: httpd.MustTable(httpd.Info{Title: "Store"}, store.Routes(store.Options{
		World: w, MayWrite: func(httpd.Peer) bool { return may }, Read: []string{"hosts/"}, Write: []string{"deploys/", "contents/"}, Large: []string{"contents/"},
	}))}
	l, err := httpd.Listen(t.Context(), path, httpd.SocketOptions{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- frame.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &store.Client{HTTP: openapitest.New(t, frame.Table.Document()).Transport(&http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return httpd.Dial(ctx, path)
	}})}
}

// status returns that of an answer of the daemon.
func status(err error) int {
	if p, ok := errors.AsType[*httpd.Problem](err); ok {
		return p.Status
	}
	return 0
}

// TestClient: a client is the World of the daemon, in its prefixes.
func TestClient(t *testing.T) {
	w := memory.New()
	defer w.Close()
	c, ctx := serve(t, w, true), t.Context()
	value := []byte{0, 0xff, 'x'}
	rev, ok, err := c.Txn(ctx, []world.Compare{{Key: "deploys/a"}}, []world.Op{{Key: "deploys/a", Value: value}, {Key: "deploys/ab"}})
	if err != nil || !ok {
		t.Fatalf("the transaction: %t, %v", ok, err)
	}
	if kv, err := c.Get(ctx, "deploys/a"); err != nil || string(kv.Value) != string(value) || kv.Revision != rev {
		t.Errorf("the key is %+v: %v", kv, err)
	}
	if _, ok, err := c.Txn(ctx, []world.Compare{{Key: "deploys/a"}}, []world.Op{{Key: "deploys/a", Delete: true}}); ok || err != nil {
		t.Errorf("a comparison that does not hold: %t, %v", ok, err)
	}
	if _, err := c.Get(ctx, "deploys/"); !errors.Is(err, world.ErrNotFound) {
		t.Errorf("an absent key: %v", err)
	}
	p, err := c.List(ctx, "deploys/", world.ListOptions{Limit: 1})
	if err != nil || len(p.KVs) != 1 || !p.More {
		t.Errorf("the page is %+v: %v", p, err)
	}
	p, err = c.List(ctx, "deploys/", world.ListOptions{At: p.Revision, After: "deploys/a"})
	if err != nil || len(p.KVs) != 1 || p.KVs[0].Key != "deploys/ab" {
		t.Errorf("the next page is %+v: %v", p, err)
	}
}

// TestRefused: keys outside the prefixes, transactions that are too large, and callers without the right are 4xx.
func TestRefused(t *testing.T) {
	w := memory.New()
	defer w.Close()
	c, ctx := serve(t, w, true), t.Context()
	put := func(key string) error { _, _, err := c.Txn(ctx, nil, []world.Op{{Key: key}}); return err }
	_, err := c.List(ctx, "m/", world.ListOptions{})
	_, all := c.List(ctx, "", world.ListOptions{})
	_, _, compare := c.Txn(ctx, []world.Compare{{Key: "m/x"}}, nil)
	for what, err := range map[string]error{"a read": err, "a read of all": all, "a write": put("m/x"), "a write of a host": put("hosts/x"), "a comparison": compare} {
		if status(err) != http.StatusForbidden {
			t.Errorf("%s outside is %v", what, err)
		}
	}
	if _, err := c.List(ctx, "hosts/", world.ListOptions{}); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Txn(ctx, nil, []world.Op{{Key: "deploys/x", Value: make([]byte, 2<<20)}}); status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("2 MiB are %v", err)
	}
	if _, err := serve(t, w, false).List(ctx, "deploys/", world.ListOptions{}); status(err) != http.StatusForbidden {
		t.Errorf("a caller without the right gets %v", err)
	}
	if _, err := c.Lease(ctx, 1); !errors.Is(err, world.ErrRefused) {
		t.Errorf("a lease is %v", err)
	}
	for _, err := range c.Watch(ctx, "deploys/", 0) {
		if !errors.Is(err, world.ErrRefused) {
			t.Errorf("a watch is %v", err)
		}
	}
	_ = w.Close()
	if _, err := c.Get(ctx, "deploys/a"); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("a closed store is %v", err)
	}
}

// TestPages: no answer has more keys than a page, and a limit out of range is the caller's fault.
func TestPages(t *testing.T) {
	w := memory.New()
	defer w.Close()
	c, ctx := serve(t, w, true), t.Context()
	for _, prefix := range []string{"deploys/", "contents/"} {
		for at := 0; at < 1010; at += 101 {
			var ops []world.Op
			for i := range 101 {
				ops = append(ops, world.Op{Key: fmt.Sprintf("%s%04d", prefix, at+i)})
			}
			if _, _, err := c.Txn(ctx, nil, ops); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		prefix      string
		limit, want int
	}{{"deploys/", 0, 1000}, {"deploys/", 1000, 1000}, {"deploys/", 3, 3}, {"contents/", 0, 8}, {"contents/", 500, 8}} {
		if p, err := c.List(ctx, test.prefix, world.ListOptions{Limit: test.limit}); err != nil || len(p.KVs) != test.want || !p.More {
			t.Errorf("%s with the limit %d: %d keys, more %t: %v", test.prefix, test.limit, len(p.KVs), p.More, err)
		}
	}
	for _, limit := range []int{-1, 1001} {
		if _, err := c.List(ctx, "deploys/", world.ListOptions{Limit: limit}); status(err) != http.StatusUnprocessableEntity {
			t.Errorf("the limit %d is %v", limit, err)
		}
	}
}
