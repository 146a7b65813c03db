package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Change is a message of GET /v1/api:watch.
// The revision is that of the store. A reader compares revisions for order and equality only: numbers may be left out.
type Change struct {
	Action   string          `json:"action"` // object, create, set, delete, bookmark, relist or synced
	Revision int64           `json:"revision"`
	Table    string          `json:"table,omitempty"`
	ID       string          `json:"id,omitempty"`
	Topic    string          `json:"topic,omitempty"`
	Origin   string          `json:"origin,omitempty"` // the writer of the object: host:NAME, or client:NAME of a certificate
	Object   json.RawMessage `json:"object,omitempty"` // absent after a deletion
	Error    string          `json:"error,omitempty"`  // why the object cannot be read
}

// The actions that are no changes of an object.
const (
	present  = "object"   // an object that there is, before synced
	synced   = "synced"   // all objects were told; an object that a reader knows and that was not told is gone
	relist   = "relist"   // changes were lost: all objects follow, and then synced
	bookmark = "bookmark" // nothing to tell up to this revision
)

// watchRoute is the endpoint for changes as they come.
// Each reader has a watch of its own on the store, which ends with the request.
func (a *API) watchRoute() httpd.Route {
	return httpd.Route{
		Method: "GET", Pattern: "/v1/api:watch", Summary: "The objects, and their changes as they come.",
		Doc: "Without a revision the stream begins with the objects that there are (object), and a synced. Then it tells each change: create, set, delete. " +
			"The last message of a revision has that as its id, so a reader that comes back with Last-Event-ID misses nothing and sees no revision twice. " +
			"Where the store no longer knows so old a revision, relist comes, then all objects and synced.",
		Params: []httpd.Param{
			{Name: "table", Doc: "Only these tables. Without it, all that can be written.", List: true},
			{Name: "topic", Doc: "Only objects of these topics.", List: true},
			{Name: "since", Doc: "Begin after this revision, without the objects that there are.", Type: "integer"},
			{Name: "Last-Event-ID", Doc: "The same.", Type: "integer", Head: true},
		},
		Answer: Change{}, Types: []string{httpd.EventsType, httpd.LinesType}, Errors: []int{http.StatusNotFound},
		Lasting: httpd.Always, Serve: a.getWatch,
	}
}

// getWatch lasts until the reader goes, the daemon ends, or the store closes. It leaves no goroutine: the filling one is
// ended and awaited before the answer ends.
func (a *API) getWatch(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := a.feed(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { f.end(f.run(ctx)) })
	return nil, a.frame().Stream(w, r, httpd.Stream{Changed: f.changed, Page: f.page})
}

// feed reads the requests's parameters.
func (a *API) feed(r *http.Request) (*feed, error) {
	f := &feed{nb: a.nb, wake: make(chan struct{}), room: make(chan struct{}, 1)}
	query := r.URL.Query()
	if text := query.Get("table"); text != "" {
		for name := range strings.SplitSeq(text, ",") {
			m, err := a.table(name)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(f.want.Models, m) {
				f.want.Models = append(f.want.Models, m)
			}
		}
	}
	if query.Has("topic") {
		f.want.Topics = strings.Split(query.Get("topic"), ",")
	}
	since := query.Get("since")
	if last := httpd.LastEventID(r); last != "" {
		since = last // a reader that comes back has seen more than it asked for at first
	}
	if since != "" {
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil || n < 0 {
			return nil, httpd.NewProblem(http.StatusBadRequest, "since is %q, it must be a revision", since)
		}
		f.since, f.goesOn = n, true
	}
	return f, nil
}

// The bounds of what waits for a reader: messages, and the bytes of their objects. The last revision may add more.
const (
	maxQueued      = 256
	maxQueuedBytes = 512 << 10
)

// feed carries messages from the store to the stream. One goroutine fills it and waits while it is full, so a reader
// that takes nothing costs no more than that.
// The goroutine of run owns the fields above mu; the stream and run share the others.
type feed struct {
	nb     *model.NB
	want   model.Interest
	since  int64 // the revision after which the watch begins
	goesOn bool  // without the objects that there are
	listed map[*model.Model]int64

	mu    sync.Mutex
	queue []httpd.Message
	bytes int           // of the objects in the queue
	wake  chan struct{} // closed when there is more
	room  chan struct{} // a token when the queue was taken
	err   error         // why there is no more
}

// run fills the queue until the context ends.
func (f *feed) run(ctx context.Context) error {
	for {
		var err error
		if !f.goesOn {
			err = f.list(ctx)
		}
		if err == nil {
			err = f.watch(ctx)
		}
		if !errors.Is(err, world.ErrCompacted) {
			return err
		}
		if err := f.put(ctx, message(Change{Action: relist, Revision: f.since}, false)); err != nil {
			return err
		}
		f.goesOn = false
	}
}

// list tells the objects that there are. The watch begins at the revision of the first table; what later tables have
// told already is left out then.
// Memory stays bounded, as put waits for the reader. The list of a table is of one revision.
func (f *feed) list(ctx context.Context) error {
	models := f.want.Models
	if models == nil {
		models = slices.DeleteFunc(f.nb.Registry().All(), (*model.Model).ReadOnly)
	}
	f.since, f.listed = 0, map[*model.Model]int64{}
	for i, m := range models {
		at, all := f.nb.AllAt(ctx, model.Query{Model: m, Topics: f.want.Topics})
		for o, err := range all {
			if err != nil && !unreadable(err) {
				return err
			}
			c := Change{Action: present, Revision: at(), Table: m.Table()}
			if err != nil {
				c.Error, c.ID = err.Error(), model.Faults(err)[0].ID
			} else if err := c.take(o); err != nil {
				return err
			}
			if err := f.put(ctx, message(c, false)); err != nil {
				return err
			}
		}
		f.listed[m] = at()
		if i == 0 { // also where that is 0: the revision of an empty store
			f.since = at()
		}
	}
	return f.put(ctx, message(Change{Action: synced, Revision: f.since}, true))
}

// take fills in an object.
func (c *Change) take(o *model.Object) (err error) {
	c.ID, c.Topic, c.Origin = o.ID(), o.Topic(), o.Origin()
	c.Object, err = o.MarshalJSON()
	return err
}

// watch tells the changes. The last message of a revision alone has its id.
func (f *feed) watch(ctx context.Context) error {
	for b, err := range f.nb.Watch(ctx, f.want, f.since) {
		if err != nil {
			return err
		}
		f.since = b.Revision
		changes := slices.DeleteFunc(b.Changes, func(c model.Change) bool { return c.Revision <= f.listed[c.Model] })
		if len(changes) == 0 {
			if err := f.put(ctx, message(Change{Action: bookmark, Revision: b.Revision}, true)); err != nil {
				return err
			}
			continue
		}
		batch := make([]httpd.Message, len(changes))
		for i, c := range changes {
			out := Change{Action: c.Action.String(), Revision: b.Revision, Table: c.Model.Table(), ID: c.ID, Topic: c.Topic}
			if c.Err != nil {
				out.Error = c.Err.Error()
			} else if c.Object != nil {
				if err := out.take(c.Object); err != nil {
					return err
				}
			}
			batch[i] = message(out, i == len(changes)-1)
		}
		if err := f.put(ctx, batch...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// message makes a message; last says that a reader may go on after it.
// Messages before the last one of a revision have no id, so a reader that comes back gets the whole revision again.
func message(c Change, last bool) httpd.Message {
	m := httpd.Message{Event: c.Action, Data: c}
	if last {
		m.ID = strconv.FormatInt(c.Revision, 10)
	}
	return m
}

// put adds messages, as soon as there is room.
// The messages of one revision stay together, so a long revision may pass the bound.
func (f *feed) put(ctx context.Context, messages ...httpd.Message) error {
	for {
		f.mu.Lock()
		if len(f.queue) < maxQueued && f.bytes < maxQueuedBytes {
			f.queue = append(f.queue, messages...)
			f.bytes += size(messages)
			f.tell()
			f.mu.Unlock()
			return nil
		}
		f.mu.Unlock()
		select {
		case <-f.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// size returns the bytes of the objects of messages.
func size(messages []httpd.Message) (n int) {
	for _, m := range messages {
		n += len(m.Data.(Change).Object)
	}
	return n
}

// end says why there is no more.
// Messages that are in the queue are told first.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.tell()
}

// tell wakes the reader. The caller holds mu.
func (f *feed) tell() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// changed returns the channel that the stream waits for. It is asked before page, so no message is missed between the two.
func (f *feed) changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wake
}

// page takes the queue.
func (f *feed) page(context.Context) ([]httpd.Message, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := f.queue
	f.queue, f.bytes = nil, 0
	select {
	case f.room <- struct{}{}:
	default:
	}
	if len(page) == 0 && f.err != nil {
		return nil, false, problem(f.err)
	}
	return page, len(page) > 0, nil
}
