//go:build !small

package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Watch implements world.World. Where it has met no server for Options.Timeout, it yields world.ErrUnavailable and
// ends. Its caller then watches again from the last revision that it has seen.
func (w *World) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		if err := w.follow(ctx, prefix, from, yield); err != nil && ctx.Err() == nil {
			yield(world.Batch{}, err)
		}
	}
}

// The pauses between two streams of a Watch.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// errStopped says that the user of a Watch wants no more.
var errStopped = errors.New("the loop has ended")

// follow yields batches from one stream after another.
func (w *World) follow(ctx context.Context, prefix string, from int64, yield func(world.Batch, error) bool) error {
	met, pause := w.o.Clock.Now(), firstPause
	f := &follower{w: w, prefix: w.o.Prefix + prefix, told: from}
	f.yield = func(b world.Batch) bool {
		return ctx.Err() == nil && yield(b, nil)
	}
	for {
		if err := w.ready(ctx); err != nil {
			return err
		}
		err := f.stream(ctx)
		switch {
		case errors.Is(err, errStopped):
			return nil
		case w.ctx.Err() != nil:
			return world.ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		}
		now := w.o.Clock.Now()
		if f.met {
			met, pause, f.met, f.again = now, firstPause, false, false
		}
		if f.signAgain(ctx, err) {
			continue
		}
		if err = classify(err); !errors.Is(err, world.ErrUnavailable) || now.Sub(met) > w.o.Timeout {
			return err
		}
		if err := w.pause(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// follower is the state of a Watch between its streams.
type follower struct {
	w      *World
	prefix string
	told   int64 // the revision up to which the user has all
	met    bool  // the last stream has begun
	again  bool  // a new token was got for the next stream
	token  string
	part   world.Batch // the begin of a revision whose rest comes in the next answer
	yield  func(world.Batch) bool
}

// signAgain gets a new token where a server has refused the stream of a user, and reports whether another stream is worth it. A
// server that has restarted knows no tokens from before, though the others of its cluster do, and an old version then speaks
// of a missing right. A refusal with a new token is meant.
func (f *follower) signAgain(ctx context.Context, err error) bool {
	if f.w.o.User == "" || f.again || !errors.Is(classify(err), world.ErrRefused) {
		return false
	}
	f.again = true
	err = f.w.attempt(ctx, func(ctx context.Context, c *clientv3.Client) error { return f.w.signIn(ctx, c, f.token) })
	return err == nil
}

// stream yields the answers of one stream, until it ends.
func (f *follower) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	defer context.AfterFunc(f.w.ctx, cancel)()
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.token, _ = f.w.session.state()
	begun := f.w.o.Clock.AfterFunc(f.w.o.Timeout, cancel)
	defer begun()
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	f.part = world.Batch{}
	for {
		resp, err := s.Recv()
		if err != nil {
			return err
		}
		switch {
		case resp.CompactRevision != 0:
			return fmt.Errorf("watch from revision %d, kept since %d: %w", f.told, resp.CompactRevision, world.ErrCompacted)
		case resp.Canceled:
			return cancelled(resp.CancelReason)
		case resp.Created:
			begun()
			f.met = true
			continue
		}
		if err := f.take(resp); err != nil {
			return err
		}
	}
}

// open begins a stream behind the last revision that the user has.
func (f *follower) open(ctx context.Context) (pb.Watch_WatchClient, error) {
	c, err := f.w.connected(ctx)
	if err != nil {
		return nil, err
	}
	s, err := pb.NewWatchClient(c.ActiveConnection()).Watch(ctx, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return nil, err
	}
	return s, s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte(f.prefix), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(f.prefix)),
		StartRevision: f.told + 1, ProgressNotify: true, Fragment: true, // else up to 1,000 revisions come in one answer, whatever their size
	}}})
}

// begin asks whether the store still has, and ever had, the revision to begin after. A server before 3.4.36 keeps no
// deletion at the very revision of a compaction, so it is not enough to have the one after it. The call also replaces an
// old token, which a server of that version would take for a missing right of the stream.
func (f *follower) begin(ctx context.Context) error {
	err := f.w.attempt(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Get(ctx, f.prefix, clientv3.WithRev(f.told), clientv3.WithCountOnly())
		return err
	})
	if err = classify(err); errors.Is(err, world.ErrCompacted) {
		return fmt.Errorf("watch from revision %d: %w", f.told, err)
	}
	return err
}

// cancelled is the error of a server that has ended a watch.
func cancelled(reason string) error {
	if _, text, ok := strings.Cut(reason, "desc = "); ok {
		reason = text
	}
	return status.Error(codes.FailedPrecondition, reason)
}

// take yields the revisions of one answer, but for one that goes on in the next answer. One without changes is a bookmark.
func (f *follower) take(resp *pb.WatchResponse) error {
	if len(resp.Events) == 0 {
		return f.tell(world.Batch{Revision: resp.Header.Revision})
	}
	b := f.part
	f.part = world.Batch{}
	for _, e := range resp.Events {
		if e.Kv.ModRevision != b.Revision && len(b.Updates) > 0 {
			if err := f.tell(b); err != nil {
				return err
			}
			b.Updates = nil
		}
		b.Revision = e.Kv.ModRevision
		b.Updates = append(b.Updates, f.update(e))
	}
	if resp.Fragment {
		f.part = b
		return nil
	}
	return f.tell(b)
}

// tell yields a batch that is new to the user.
func (f *follower) tell(b world.Batch) error {
	if b.Revision <= f.told {
		return nil
	}
	f.told = b.Revision
	if !f.yield(b) {
		return errStopped
	}
	return nil
}

func (f *follower) update(e *mvccpb.Event) world.Update {
	if e.Type == mvccpb.DELETE {
		kv := world.KV{Key: strings.TrimPrefix(string(e.Kv.Key), f.w.o.Prefix), Revision: e.Kv.ModRevision}
		return world.Update{KV: kv, Deleted: true}
	}
	return world.Update{KV: f.w.kv(e.Kv)}
}
