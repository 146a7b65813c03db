package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// collectedFile is the file in StateDir with the exports that this host has collected last. A start without
// the store goes on with them.
const collectedFile = "collected.json"

// importer reads the exports of other hosts, as long as the graph wants some.
type importer struct {
	opt    collect.Options
	store  hosts.Store
	topics []string
	path   string // of collectedFile; empty for none
	alone  bool   // the store is not asked: for a plan
	log    *slog.Logger
	news   chan struct{} // capacity 1: there may be something to do

	// These fields stand under the session's using.
	wants    []gapi.CollectDecl
	inEffect map[string]string // the collected resources of the graph in effect: their prints
	told     map[string]string // the warning about a resource that is left out
	held     *heldGraph        // that exports have gone; nil where that is not held
	stop     func()            // ends the reading; nil where nothing is read

	mu      sync.Mutex
	records map[string][]byte // of the wanted exports, by key
	exports map[string]hosts.Export
	lost    int // topics that cannot be read
}

func (s *session) newImporter(world engine.World) *importer {
	o := &s.opt
	c := &importer{
		opt:    collect.Options{Host: s.hostname(), Accept: o.Accept},
		store:  hosts.Store{World: world, Clock: engine.ClockOf(s.host)},
		topics: hosts.Topics(s.hostname(), o.Roles),
		alone:  o.readOnly, log: o.Logger, news: make(chan struct{}, 1),
		inEffect: map[string]string{}, told: map[string]string{}, stop: func() {},
	}
	if o.StateDir != "" && !s.forgetful {
		c.path = filepath.Join(o.StateDir, collectedFile)
	}
	return c
}

// want reads the exports that a graph collects from now on, and waits until they are known, or the store is found
// to be out of reach. The caller holds using.
func (c *importer) want(ctx, life context.Context, list []gapi.CollectDecl) {
	same := slices.EqualFunc(c.wants, list, func(a, b gapi.CollectDecl) bool {
		return a.Kind == b.Kind && a.Name == b.Name && a.From == b.From
	})
	c.wants = list
	if same {
		return
	}
	c.stop()
	c.stop = func() {}
	c.mu.Lock()
	c.records, c.exports, c.lost = map[string][]byte{}, map[string]hosts.Export{}, 0
	c.mu.Unlock()
	if len(list) == 0 {
		return
	}
	c.remember(list)
	if !c.alone {
		c.follow(ctx, life, list)
	}
}

// follow begins to read the topics.
func (c *importer) follow(ctx, life context.Context, list []gapi.CollectDecl) {
	life, cancel := context.WithCancel(life)
	var running sync.WaitGroup
	c.stop = func() { cancel(); running.Wait() }
	ready := make(chan struct{}, len(c.topics))
	for _, topic := range c.topics {
		running.Go(func() {
			first := sync.OnceFunc(func() { ready <- struct{}{} })
			defer first()
			store := c.store
			store.Tell = func(err error) { c.tell(err); first() }
			for ch := range store.Follow(life, hosts.ExportPrefix(topic)) {
				c.take(topic, ch, list)
				first()
			}
		})
	}
	for range c.topics {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
	}
}

// tell says that the store is lost or back, once for all topics.
func (c *importer) tell(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		if c.lost--; c.lost == 0 {
			c.log.Info("the store is back: what other hosts export is known again")
		}
		return
	}
	if c.lost++; c.lost == 1 {
		c.log.Warn("the store is out of reach: what other hosts exported last goes on to count", slog.Any("error", err))
	}
}

// take notes a change of a topic.
func (c *importer) take(topic string, ch hosts.Change, list []gapi.CollectDecl) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := maps.Clone(c.records)
	if ch.Whole {
		maps.DeleteFunc(c.records, func(key string, _ []byte) bool { return strings.HasPrefix(key, hosts.ExportPrefix(topic)) })
	}
	for _, u := range ch.Updates {
		if u.Deleted {
			delete(c.records, u.Key)
		} else {
			c.put(u.Key, u.Value, list)
		}
	}
	if maps.EqualFunc(before, c.records, slices.Equal) {
		return
	}
	maps.DeleteFunc(c.exports, func(key string, _ hosts.Export) bool { return c.records[key] == nil })
	c.keep()
	c.signal()
}

// put notes one export, if it is wanted.
func (c *importer) put(key string, value []byte, list []gapi.CollectDecl) {
	x, err := hosts.ReadExport(key, value)
	if x.Kind == "" || !slices.Contains(c.topics, x.Topic) || collect.Wanted(list, x) == nil {
		return
	}
	if err != nil {
		c.log.Warn("an export can't be read, and is left out", slog.Any("error", err))
		delete(c.records, key)
		return
	}
	c.records[key], c.exports[key] = value, x
}

// signal has the session look at the exports again.
func (c *importer) signal() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// keep writes the exports for a start without the store. A failure does not stop the engine.
func (c *importer) keep() {
	if c.path == "" || c.alone {
		return
	}
	text, err := json.Marshal(c.records)
	if err == nil {
		err = replaceFile(c.path, text)
	}
	if err != nil {
		c.log.Debug("the collected exports were not kept for the next start", slog.Any("error", err))
	}
}

// replaceFile writes a file anew. After a power loss the file is the old one or the new one, and never an empty one.
func replaceFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// remember reads the exports of the last run, for as long as the store is not known.
func (c *importer) remember(list []gapi.CollectDecl) {
	if c.path == "" {
		return
	}
	text, err := os.ReadFile(c.path)
	if err != nil {
		return // there is none
	}
	var records map[string][]byte
	if err := json.Unmarshal(text, &records); err != nil {
		c.log.Warn("the exports of the last run can't be read", slog.String("path", c.path), slog.Any("error", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range records {
		c.put(key, value, list)
	}
}

// known returns the exports of this moment.
func (c *importer) known() []hosts.Export {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.exports))
}

// close ends the reading.
func (c *importer) close() error {
	c.stop()
	return nil
}
