package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// Reader reads the exports of other hosts, as long as the graph wants some. Want, Declare and Close are for one goroutine at a
// time; News and Signal are callable from any goroutine.
type Reader struct {
	o    ReaderOptions
	news chan struct{} // capacity 1; see News

	wants []gapi.CollectDecl
	stop  func() // ends the reading

	mu      sync.Mutex        // guards the rest
	pace    *rate.Limiter     // of the changes that the caller is told of
	later   func() bool       // stops the timer that tells of changes; nil for none
	records map[string][]byte // of the wanted exports, by key
	exports map[string]hosts.Export
	lost    map[string]error // why topics cannot be read, by topic
}

// ReaderOptions say from where a Reader reads, and for whom.
type ReaderOptions struct {
	Host   string // this host, whose own exports are not read from the store
	World  world.World
	Clock  clock.Clock
	Topics []string    // the topics of this host; see hosts.Topics
	Accept *lend.Rules // as in Options
	Log    *slog.Logger

	// File keeps the exports that this host has collected last. A start without the store goes on with them. It stands in the
	// state folder, which belongs to mgmt alone; empty for none.
	File string
	// Offline says that the store is not asked, and the file is not written: a plan goes by the file.
	Offline bool
}

// Changes that come all the time are told of once in a pause, after so many that are told at once: to compute them costs what all exports cost, and one
// host could have the others do nothing else.
const (
	pause = time.Second
	burst = 20
)

// NewReader returns a Reader that wants nothing yet, and so reads nothing.
func NewReader(o ReaderOptions) *Reader {
	return &Reader{o: o, news: make(chan struct{}, 1), stop: func() {}, pace: rate.NewLimiter(rate.Every(pause), burst)}
}

// Wants returns the wishes of the last call of Want.
func (c *Reader) Wants() []gapi.CollectDecl { return c.wants }

// News receives a token when the exports have changed, or after Signal: then the caller declares them again. Several changes may be one token.
func (c *Reader) News() <-chan struct{} { return c.news }

// Declare returns the declarations for the exports of this moment, as the function Declare does. kinds are those of the graph.
func (c *Reader) Declare(kinds *engine.Registry, taken func(id string) bool) ([]Collected, schema.Diagnostics) {
	return Declare(Options{Host: c.o.Host, Registry: kinds, Accept: c.o.Accept}, c.wants, c.known(), taken)
}

// Want reads the exports that a graph collects from now on, and waits until they are known, the store is found to be out of reach,
// or ctx ends. The reading goes on until life ends, or Close.
func (c *Reader) Want(ctx, life context.Context, list []gapi.CollectDecl) {
	same := slices.EqualFunc(c.wants, list, func(a, b gapi.CollectDecl) bool {
		return a.Kind == b.Kind && a.From == b.From
	})
	c.wants = list
	if same {
		return
	}
	c.stop()
	c.stop = func() {}
	c.mu.Lock()
	c.records, c.exports, c.lost = map[string][]byte{}, map[string]hosts.Export{}, map[string]error{}
	c.mu.Unlock()
	if len(list) == 0 {
		return
	}
	c.remember(list)
	if !c.o.Offline {
		c.follow(ctx, life, list)
	}
}

// follow begins to read the topics.
func (c *Reader) follow(ctx, life context.Context, list []gapi.CollectDecl) {
	life, cancel := context.WithCancel(life)
	var running sync.WaitGroup
	c.stop = func() { cancel(); running.Wait() }
	ready := make(chan struct{}, len(c.o.Topics))
	for _, topic := range c.o.Topics {
		running.Go(func() {
			first := sync.OnceFunc(func() { ready <- struct{}{} })
			defer first()
			store := hosts.Store{World: c.o.World, Clock: c.o.Clock, Tell: func(err error) { c.tell(topic, err); first() }, Over: c.over}
			for ch := range store.Follow(life, hosts.ExportPrefix(topic)) {
				c.take(topic, ch, list)
				first()
			}
		})
	}
	for range c.o.Topics {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
	}
}

// tell says that the store is lost or back, once for all topics. It tells anew where the loss of all becomes another one.
func (c *Reader) tell(topic string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := hosts.LossOf(c.worst())
	if c.lost[topic] = err; err == nil {
		delete(c.lost, topic)
	}
	worst := c.worst()
	switch hosts.LossOf(worst) {
	case was:
	case hosts.NoLoss:
		c.o.Log.Info("the store is back: what other hosts export is known again")
	default:
		hosts.WarnLost(c.o.Log, worst, "what other hosts exported last goes on to count")
	}
}

// worst returns why a topic cannot be read: that the store refuses it, where it refuses one. It is nil where all can be read.
func (c *Reader) worst() (worst error) {
	for _, err := range c.lost {
		if hosts.LossOf(err) > hosts.LossOf(worst) {
			worst = err
		}
	}
	return worst
}

// take notes a change of a topic.
func (c *Reader) take(topic string, ch hosts.Change, list []gapi.CollectDecl) {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := false
	if ch.Whole {
		gone := map[string]bool{}
		for key := range c.records {
			gone[key] = strings.HasPrefix(key, hosts.ExportPrefix(topic))
		}
		for _, u := range ch.Updates {
			gone[u.Key] = false
		}
		for key, is := range gone {
			moved = is && c.drop(key) || moved
		}
	}
	for _, u := range ch.Updates {
		if u.Deleted {
			moved = c.drop(u.Key) || moved
		} else {
			moved = c.put(u.Key, u.Value, list) || moved
		}
	}
	if moved {
		c.changed()
	}
}

// drop forgets one export, and reports whether it was there.
func (c *Reader) drop(key string) bool {
	_, was := c.records[key]
	delete(c.records, key)
	delete(c.exports, key)
	return was
}

// put notes one export, if it is wanted, and reports whether it is another one than before.
func (c *Reader) put(key string, value []byte, list []gapi.CollectDecl) bool {
	x, err := hosts.ReadExport(key, value)
	if x.Kind == "" || !slices.Contains(c.o.Topics, x.Topic) || !Wanted(list, x) || !hosts.Counts(c.o.World, x.From) {
		return c.drop(key)
	}
	if err != nil {
		c.o.Log.Warn("an export can't be read, and is left out", slog.Any("error", err))
		return c.drop(key)
	}
	was, known := c.records[key]
	c.records[key], c.exports[key] = value, x
	return !known || !bytes.Equal(was, value)
}

// over says that a host exports too much.
func (c *Reader) over(err error) {
	c.o.Log.Warn("exports of a host are left out", slog.Any("error", err))
}

// changed keeps the exports, and has the caller look at them: at once, or after a pause where they change all the time.
func (c *Reader) changed() {
	if c.later != nil {
		return
	}
	now := c.o.Clock.Now()
	wait := c.pace.ReserveN(now, 1).DelayFrom(now)
	if wait == 0 {
		c.keep()
		c.Signal()
		return
	}
	c.later = c.o.Clock.AfterFunc(wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.later != nil { // it was not closed
			c.later = nil
			c.keep()
			c.Signal()
		}
	})
}

// Signal has the caller look at the exports again; see News.
func (c *Reader) Signal() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// keep writes the exports for a start without the store. A failure does not stop the engine.
func (c *Reader) keep() {
	if c.o.File == "" || c.o.Offline {
		return
	}
	text, err := json.Marshal(c.records)
	if err == nil {
		err = hosts.ReplaceFile(c.o.File, text)
	}
	if err != nil {
		c.o.Log.Debug("the collected exports were not kept for the next start", slog.Any("error", err))
	}
}

// remember reads the exports of the last run, for as long as the store is not known.
func (c *Reader) remember(list []gapi.CollectDecl) {
	if c.o.File == "" {
		return
	}
	text, err := os.ReadFile(c.o.File)
	if err != nil {
		return // there is none
	}
	var records map[string][]byte
	if err := json.Unmarshal(text, &records); err != nil {
		c.o.Log.Warn("the exports of the last run can't be read", slog.String("path", c.o.File), slog.Any("error", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range records {
		c.put(key, value, list)
	}
}

// known returns the exports of this moment.
func (c *Reader) known() []hosts.Export {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.exports))
}

// Close ends the reading, and returns when it has ended. The error is always nil.
func (c *Reader) Close() error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.later != nil {
		c.later()
		c.later = nil
		c.keep()
	}
	return nil
}
