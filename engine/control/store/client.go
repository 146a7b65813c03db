package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Client is the store of a daemon, as far as its API shows it. It may be used by many goroutines.
type Client struct {
	HTTP http.RoundTripper // carries the requests to the daemon
}

var _ world.World = (*Client)(nil)

// errNoWatch tells that a client of a daemon cannot watch or lease: it asks again.
var errNoWatch = fmt.Errorf("%w: the API of a daemon has neither a watch nor a lease on its store", world.ErrRefused)

// Get implements world.World.
func (c *Client) Get(ctx context.Context, key string) (world.KV, error) {
	p, err := c.List(ctx, key, world.ListOptions{Limit: 1})
	if err != nil {
		return world.KV{}, err
	}
	if len(p.KVs) == 0 || p.KVs[0].Key != key { // keys are sorted, so the shortest is the first
		return world.KV{}, world.ErrNotFound
	}
	return p.KVs[0], nil
}

// List implements world.World.
func (c *Client) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	var p Page
	if err := c.ask(ctx, listPath, ListRequest{Prefix: prefix, At: o.At, Limit: o.Limit, After: o.After}, &p); err != nil {
		return world.Page{}, err
	}
	out := world.Page{Revision: p.Revision, More: p.More, KVs: make([]world.KV, len(p.KVs))}
	for i, kv := range p.KVs {
		out.KVs[i] = world.KV{Key: kv.Key, Value: kv.Value, Revision: kv.Revision, Created: kv.Created}
	}
	return out, nil
}

// Txn implements world.World.
func (c *Client) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (revision int64, ok bool, err error) {
	q := TxnRequest{Compares: make([]Compare, len(compares)), Ops: make([]Op, len(ops))}
	for i, c := range compares {
		q.Compares[i] = Compare(c)
	}
	for i, op := range ops {
		q.Ops[i] = Op{Key: op.Key, Value: op.Value, Delete: op.Delete}
	}
	var a TxnAnswer
	err = c.ask(ctx, txnPath, q, &a)
	return a.Revision, a.Done, err
}

// Watch implements world.World. It yields an error of the class world.ErrRefused.
func (c *Client) Watch(context.Context, string, int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) { yield(world.Batch{}, errNoWatch) }
}

// Lease implements world.World. It returns an error of the class world.ErrRefused.
func (c *Client) Lease(context.Context, time.Duration) (world.Lease, error) { return nil, errNoWatch }

// Held implements world.World: a client of a daemon has no lease.
func (c *Client) Held(string) world.Lease { return nil }

// Limits implements world.World.
func (c *Client) Limits() world.Limits { return world.DefaultLimits() }

// Close implements world.World. There is nothing to close.
func (c *Client) Close() error { return nil }

// ask sends a request and reads the answer. An error of the daemon is a *httpd.Problem.
func (c *Client) ask(ctx context.Context, path string, q, out any) error {
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mgmt"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(httpd.NewBound(resp.Body, httpd.MaxAnswer)).Decode(out); err != nil {
			return fmt.Errorf("the answer of the daemon to %s cannot be read: %w", path, err)
		}
		return nil
	}
	p := &httpd.Problem{}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil || p.Detail == "" {
		p = httpd.NewProblem(resp.StatusCode, "the answer is %s", resp.Status)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return errors.New("the daemon has no API for deploys: it is older than this program")
	case http.StatusServiceUnavailable:
		return errors.Join(p, world.ErrUnavailable)
	}
	return p
}
