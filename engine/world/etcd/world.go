//go:build !small

package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// maxRedial is the longest pause between two tries to connect. The library's own is two minutes, by which a host would
// come back after an outage that ended long ago. Half of it is jitter, since all hosts of a fleet lose a store at once.
const maxRedial = 10 * time.Second

// World is an world.World in a cluster of etcd.
type World struct {
	o      Options
	log    *slog.Logger
	config clientv3.Config
	ctx    context.Context // ends with Close
	end    context.CancelFunc
	owned  sync.WaitGroup // the goroutines of leases and of the refresh

	connecting chan struct{} // holds one token; its holder may set client
	client     *clientv3.Client
	session    session

	mu     sync.Mutex
	leases map[*lease]struct{} // that have not ended
	closed bool
}

var _ world.World = (*World)(nil)

// Open makes a World of a cluster. It reads the files of the options and connects to no server, so it works while the
// cluster is away. An error is of the class world.ErrRefused: the options or the files are wrong.
func Open(_ context.Context, o Options) (*World, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", world.ErrRefused, err)
	}
	o = o.withDefaults()
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	w := &World{o: o, log: o.Log, connecting: make(chan struct{}, 1), leases: map[*lease]struct{}{}}
	w.session.signing = make(chan struct{}, 1)
	w.ctx, w.end = context.WithCancel(context.Background())
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	w.config = clientv3.Config{
		TLS: secure, Logger: zap.NewNop(), Context: w.ctx, MaxUnaryRetries: 3, MaxCallRecvMsgSize: maxMessage,
		DialTimeout: o.Timeout, DialKeepAliveTime: 2 * o.Timeout, DialKeepAliveTimeout: o.Timeout,
	}
	w.config.DialOptions = []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.5, MaxDelay: maxRedial},
		MinConnectTimeout: o.Timeout,
	})}
	if o.User != "" {
		w.config.DialOptions = append(w.config.DialOptions, grpc.WithPerRPCCredentials(&w.session))
	}
	for _, e := range o.Endpoints {
		w.config.Endpoints = append(w.config.Endpoints, scheme+e)
	}
	return w, nil
}

// Limits implements world.World.
func (w *World) Limits() world.Limits { return world.DefaultLimits() }

// Close implements world.World. It waits for the store as long as one call does. A lease that it cannot revoke ends by
// itself, within its time.
func (w *World) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	var leases []*lease
	for l := range w.leases {
		leases = append(leases, l)
	}
	w.mu.Unlock()
	w.end()
	w.owned.Wait()
	failed := w.revokeAll(leases)
	w.connecting <- struct{}{}
	if w.client != nil {
		if err := w.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// revokeAll revokes leases for as long as one attempt may last.
func (w *World) revokeAll(leases []*lease) (failed []error) {
	ctx, cancel := clock.WithTimeout(context.Background(), w.o.Clock, w.o.Timeout, nil)
	defer cancel()
	for _, l := range leases {
		failed = append(failed, l.revoke(ctx))
	}
	return failed
}

// Get implements world.World.
func (w *World) Get(ctx context.Context, key string) (kv world.KV, err error) {
	err = w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		resp, err := c.Get(ctx, w.o.Prefix+key)
		if err != nil {
			return err
		}
		if len(resp.Kvs) == 0 {
			return fmt.Errorf("key %q: %w", key, world.ErrNotFound)
		}
		kv = w.kv(resp.Kvs[0])
		return nil
	})
	return kv, err
}

// chunk is how many keys one request lists. More would take a server long, and hold back others.
const chunk = 1000

// pageBytes is how many bytes of keys and values a page with a limit has, but for the part that goes beyond: a host may write keys of more than a MiB each.
const pageBytes = 8 << 20

// maxMessage is the greatest answer in bytes. The next part of a list is smaller where one is longer.
const maxMessage = 16 << 20

// List implements world.World. A page without a limit is read in parts, at one revision. One with a limit ends early where its keys are large.
func (w *World) List(ctx context.Context, prefix string, o world.ListOptions) (p world.Page, err error) {
	for {
		p, err = w.list(ctx, prefix, o)
		if o.At != 0 || !errors.Is(err, world.ErrCompacted) {
			return p, err
		}
		// A list of now that took too long begins again.
	}
}

// list reads one page in parts.
func (w *World) list(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	p := world.Page{Revision: o.At}
	size := 0
	for most := chunk; ; {
		n := most
		if o.Limit > 0 {
			n = min(most, o.Limit-len(p.KVs))
		}
		resp, err := w.part(ctx, prefix, o.After, p.Revision, n)
		if err != nil {
			return world.Page{}, err
		}
		if resp == nil {
			most = max(1, n/8)
			continue
		}
		part := 0
		for _, kv := range resp.Kvs {
			p.KVs = append(p.KVs, w.kv(kv))
			part += len(kv.Key) + len(kv.Value)
		}
		most, size = min(chunk, max(1, pageBytes*len(resp.Kvs)/max(1, part))), size+part
		if p.Revision == 0 {
			p.Revision = resp.Header.Revision
		}
		if p.More = resp.More; !p.More || len(p.KVs) == o.Limit || o.Limit > 0 && size >= pageBytes {
			return p, nil
		}
		o.After = p.KVs[len(p.KVs)-1].Key
	}
}

// part reads at most n keys behind one of them. It returns nil where so many are more than one answer may have.
func (w *World) part(ctx context.Context, prefix, after string, at int64, n int) (resp *clientv3.GetResponse, err error) {
	from, to := w.o.Prefix+prefix, clientv3.GetPrefixRangeEnd(w.o.Prefix+prefix)
	opts := []clientv3.OpOption{clientv3.WithRange(to), clientv3.WithRev(at), clientv3.WithLimit(int64(n))}
	if behind := w.o.Prefix + after + "\x00"; after != "" && behind > from {
		from = behind
	}
	if from >= to { // nothing can be there, and the server would take the range for one key
		from, opts = w.o.Prefix+prefix, append(opts, clientv3.WithRange(""), clientv3.WithCountOnly())
	}
	err = w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) (err error) {
		if resp, err = c.Get(ctx, from, opts...); n > 1 && tooLong(err) {
			resp, err = nil, nil
		}
		return err
	})
	return resp, err
}

// tooLong reports whether an answer was not taken, as it has more than maxMessage. A server tells of other exhausted resources by the same code.
func tooLong(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "received message larger than max")
}

// Txn implements world.World.
func (w *World) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (rev int64, ok bool, err error) {
	if err := w.ready(ctx); err != nil {
		return 0, false, err
	}
	if err := w.Limits().Check(compares, ops); err != nil {
		return 0, false, err
	}
	puts, err := w.ops(ops)
	if err != nil {
		return 0, false, err
	}
	var holds []clientv3.Cmp
	for _, c := range compares {
		holds = append(holds, clientv3.Compare(clientv3.ModRevision(w.o.Prefix+c.Key), "=", c.Revision))
	}
	err = w.call(ctx, once, func(ctx context.Context, c *clientv3.Client) error {
		resp, err := c.Txn(ctx).If(holds...).Then(puts...).Commit()
		if err != nil {
			return err
		}
		rev, ok = resp.Header.Revision, resp.Succeeded
		return nil
	})
	return rev, ok, err
}

// ops are operations as etcd takes them.
func (w *World) ops(ops []world.Op) ([]clientv3.Op, error) {
	var out []clientv3.Op
	for _, op := range ops {
		key := w.o.Prefix + op.Key
		if op.Delete {
			out = append(out, clientv3.OpDelete(key))
			continue
		}
		var opts []clientv3.OpOption
		if op.Lease != nil {
			id, err := w.attached(op.Lease)
			if err != nil {
				return nil, fmt.Errorf("key %q: %w", op.Key, err)
			}
			opts = append(opts, clientv3.WithLease(id))
		}
		out = append(out, clientv3.OpPut(key, string(op.Value), opts...))
	}
	return out, nil
}

// kv is a key as the World shows it.
func (w *World) kv(kv *storedKV) world.KV {
	out := world.KV{
		Key: strings.TrimPrefix(string(kv.Key), w.o.Prefix), Value: kv.Value, Revision: kv.ModRevision, Created: kv.CreateRevision,
	}
	if kv.Lease != 0 {
		out.Lease = leaseID(kv.Lease)
	}
	return out
}

// refresh asks the cluster for its servers from time to time, until the World is closed.
func (w *World) refresh() {
	for w.pause(w.ctx, w.o.Refresh) == nil {
		var found []string
		err := w.call(w.ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
			resp, err := c.MemberList(ctx)
			if err != nil {
				return err
			}
			for _, m := range resp.Members {
				if m.Name != "" && !m.IsLearner { // which has started, and answers reads
					found = append(found, m.ClientURLs...)
				}
			}
			return nil
		})
		if err == nil {
			w.use(found)
		}
	}
}

// use adds servers to those of the options, and lets go of others. An address that leads nowhere from here is left
// out: by default a server advertises its loopback.
func (w *World) use(found []string) {
	eps := slices.Clone(w.config.Endpoints)
	scheme, _, _ := strings.Cut(eps[0], "://")
	local := slices.ContainsFunc(w.o.Endpoints, loopback)
	for _, url := range found {
		s, host, ok := strings.Cut(url, "://")
		if ok && s == scheme && !slices.Contains(eps, url) && (local || !loopback(host)) {
			eps = append(eps, url)
		}
	}
	slices.Sort(eps)
	if was := slices.Sorted(slices.Values(w.client.Endpoints())); !slices.Equal(was, eps) {
		w.log.Info("the servers of the store have changed", "servers", eps)
		w.client.SetEndpoints(eps...)
	}
}

// pause waits, and returns why it could not.
func (w *World) pause(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	stop := w.o.Clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return world.ErrClosed
	}
}
