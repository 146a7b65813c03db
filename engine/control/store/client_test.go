package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// carrier answers each request as a test says, and counts the bodies that are open.
type carrier struct {
	status int
	body   string
	err    error
	open   int
	asked  string
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.asked = fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), body)
	if c.err != nil {
		return nil, c.err
	}
	c.open++
	return &http.Response{StatusCode: c.status, Status: fmt.Sprintf("%d %s", c.status, http.StatusText(c.status)), Body: &carried{strings.NewReader(c.body), c}}, nil
}

type carried struct {
	*strings.Reader
	of *carrier
}

func (b *carried) Close() error {
	b.of.open--
	return nil
}

// TestClientFaults: an answer that is none is an error of the class that the callers of a World know.
func TestClientFaults(t *testing.T) {
	gone := errors.New("the wire is cut")
	for name, c := range map[string]struct {
		carrier carrier
		status  int // of a problem; 0 for another error
		want    string
		is      error
	}{
		"a problem":   {carrier{status: 403, body: `{"status":403,"detail":"it is not for you","hint":"ask root"}`}, 403, "it is not for you, ask root", nil},
		"a page":      {carrier{status: 502, body: "<html>"}, 502, "the answer is 502 Bad Gateway", nil},
		"nothing":     {carrier{status: 500}, 500, "the answer is 500 Internal Server Error", nil},
		"unavailable": {carrier{status: 503, body: `{"status":503,"detail":"the store is lost"}`}, 503, "the store is lost", world.ErrUnavailable},
		"an old one":  {carrier{status: 404, body: `{"status":404,"detail":"x"}`}, 0, "the daemon has no API for deploys: it is older than this program", nil},
		"no JSON":     {carrier{status: 200, body: "hello"}, 0, "invalid character", nil},
		"is cut":      {carrier{status: 200, body: `{"revision":7`}, 0, "unexpected EOF", io.ErrUnexpectedEOF},
		"is gone":     {carrier{err: gone}, 0, "the wire is cut", gone},
	} {
		client := &store.Client{HTTP: &c.carrier}
		_, list := client.List(t.Context(), "deploys/", world.ListOptions{})
		_, get := client.Get(t.Context(), "deploys/a")
		_, done, txn := client.Txn(t.Context(), nil, []world.Op{{Key: "deploys/a"}})
		for call, err := range map[string]error{"List": list, "Get": get, "Txn": txn} {
			if err == nil || !strings.Contains(err.Error(), c.want) || status(err) != c.status || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: %s says %v", name, call, err)
			}
			if c.is != world.ErrUnavailable && errors.Is(err, world.ErrUnavailable) || errors.Is(err, world.ErrNotFound) {
				t.Errorf("%s: %s has another class: %v", name, call, err)
			}
		}
		if done || c.carrier.open != 0 {
			t.Errorf("%s: done is %v, and %d bodies are open", name, done, c.carrier.open)
		}
	}
}

// TestClientSends: what is asked for is sent, bytes in base64, and nothing but what is asked for.
func TestClientSends(t *testing.T) {
	c := &carrier{status: 200, body: `{}`}
	client, ctx := &store.Client{HTTP: c}, t.Context()
	for want, call := range map[string]func() error{
		`"prefix":"deploys/"`: func() error { _, err := client.List(ctx, "deploys/", world.ListOptions{}); return err },
		`"prefix":"a","at":7,"limit":5,"after":"ab"`: func() error {
			_, err := client.List(ctx, "a", world.ListOptions{At: 7, Limit: 5, After: "ab"})
			return err
		},
		`{"key":"a","value":"AP94","delete":false}`: func() error {
			_, _, err := client.Txn(ctx, nil, []world.Op{{Key: "a", Value: []byte{0, 0xff, 'x'}}})
			return err
		},
		`{"key":"b","value":null,"delete":true}`: func() error { _, _, err := client.Txn(ctx, nil, []world.Op{{Key: "b", Delete: true}}); return err },
		`{"key":"c","revision":9}`:               func() error { _, _, err := client.Txn(ctx, []world.Compare{{Key: "c", Revision: 9}}, nil); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if !strings.HasPrefix(c.asked, "POST /v1/") || !strings.Contains(c.asked, "application/json") || !strings.Contains(c.asked, want) {
			t.Errorf("%s is sent, want %s", c.asked, want)
		}
	}
}

// TestGetIsExact: a key is found by its whole name, not by the begin of another one.
func TestGetIsExact(t *testing.T) {
	w := memory.New()
	defer w.Close()
	c, ctx := serve(t, w, true), t.Context()
	if _, _, err := c.Txn(ctx, nil, []world.Op{{Key: "deploys/ab", Value: []byte("1")}, {Key: "deploys/b", Value: []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"deploys/ab": "1", "deploys/b": "2", "deploys/a": "", "deploys/abc": "", "deploys/": ""} {
		kv, err := c.Get(ctx, key)
		if want == "" && !errors.Is(err, world.ErrNotFound) || want != "" && (err != nil || string(kv.Value) != want || kv.Key != key) {
			t.Errorf("%s: %+v %v", key, kv, err)
		}
	}
	if c.Limits() != world.DefaultLimits() || c.Close() != nil {
		t.Error("a client has limits of its own, or can't be closed")
	}
}

// TestTwoWriters: of two clients that write one key over the same revision, one wins.
func TestTwoWriters(t *testing.T) {
	w := memory.New()
	defer w.Close()
	a, b := serve(t, w, true), serve(t, w, true)
	if _, ok, err := a.Txn(t.Context(), nil, []world.Op{{Key: "deploys/n", Value: []byte("0")}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	kv, err := b.Get(t.Context(), "deploys/n")
	if err != nil {
		t.Fatal(err)
	}
	won := 0
	for i, c := range []*store.Client{a, b, a} {
		_, ok, err := c.Txn(t.Context(), []world.Compare{{Key: kv.Key, Revision: kv.Revision}}, []world.Op{{Key: kv.Key, Value: []byte{byte(i)}}})
		if err != nil {
			t.Error(err)
		}
		if ok {
			won++
		}
	}
	if now, err := b.Get(t.Context(), kv.Key); won != 1 || err != nil || string(now.Value) != "\x00" {
		t.Errorf("%d have won, and it is %q: %v", won, now.Value, err)
	}
}

// TestGoneReader: a request whose context has ended is an error, and changes nothing.
func TestGoneReader(t *testing.T) {
	w := memory.New()
	defer w.Close()
	c := serve(t, w, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := c.Txn(ctx, nil, []world.Op{{Key: "deploys/n"}}); ok || !errors.Is(err, context.Canceled) {
		t.Error(ok, err)
	}
	if _, err := c.Get(t.Context(), "deploys/n"); !errors.Is(err, world.ErrNotFound) {
		t.Error("it was written:", err)
	}
}
