package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// inEffectFile is the file in StateDir that names the resources of the last graph.
const inEffectFile = "in-effect"

// The least time between two writes of that file, and after one that failed.
const (
	inEffectEvery = time.Second
	inEffectRetry = time.Minute
)

// inEffect is that file. It has names only, and is replaced in one step. It is not synced: a loss
// of power may bring back the names of the graph before.
type inEffect struct {
	Input     string   `json:"input"` // Options.Input of who wrote it
	Resources []string `json:"resources"`
}

// readInEffect returns the resources that an earlier Run has had in effect with the same
// Options.Input, nil if there is none.
func (o *Options) readInEffect() []string {
	if !o.comparesStart() {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(o.StateDir, inEffectFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var was inEffect
	if err == nil {
		err = json.Unmarshal(b, &was)
	}
	if err != nil {
		o.Logger.Warn("which resources were in effect before this start is not known, so none counts as removed", slog.Any("error", err))
		return nil
	}
	if was.Input != o.Input {
		return nil
	}
	return was.Resources
}

// comparesStart reports whether the first graph is compared with the last one of an earlier Run.
// A run that ends by itself has no user who could tell it to go on.
func (o *Options) comparesStart() bool {
	return o.StateDir != "" && o.Input != "" && !o.readOnly && !o.ConvergedExit && o.Noop != NoopAll
}

// effectKeeper writes the file whenever the names have changed.
type effectKeeper struct {
	path, input string
	log         *slog.Logger

	mu     sync.Mutex
	next   *engine.Graph // to be written; nil for none
	active bool          // the goroutine is there
	wg     sync.WaitGroup
	failed bool            // the last write, and that was said; of the goroutine
	ctx    context.Context // ends with the session
	end    context.CancelFunc
}

// newEffectKeeper returns a keeper that has to be closed; nil, which keeps nothing, if there
// is no place for the file, or nothing takes effect.
func (o *Options) newEffectKeeper() *effectKeeper {
	if o.StateDir == "" || o.readOnly || o.Noop == NoopAll {
		return nil
	}
	k := &effectKeeper{path: filepath.Join(o.StateDir, inEffectFile), input: o.Input, log: o.Logger}
	k.ctx, k.end = context.WithCancel(context.Background())
	return k
}

// keep has the names of a graph written soon. It does not block. The graph must not be altered.
func (k *effectKeeper) keep(g *engine.Graph) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = g
	if !k.active {
		k.active = true
		k.wg.Go(k.run)
	}
}

// run is the goroutine. It ends when nothing new has come for a while.
func (k *effectKeeper) run() {
	for {
		k.mu.Lock()
		g := k.next
		k.next = nil
		k.active = g != nil
		k.mu.Unlock()
		if g == nil {
			return
		}
		wait := inEffectEvery
		if err := k.write(g); err != nil {
			wait = inEffectRetry
			k.again(g, err)
		} else {
			k.failed = false
		}
		select {
		case <-time.After(wait):
		case <-k.ctx.Done():
		}
	}
}

// again has a failed write tried again, unless there is something newer or the session
// ends. It logs the first failure of several.
func (k *effectKeeper) again(g *engine.Graph, err error) {
	if !k.failed {
		level := slog.LevelWarn
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) { // the journal, in the same folder, has warned of that
			level = slog.LevelInfo
		}
		k.log.Log(k.ctx, level, "the names of the resources in effect were not written: until they are, the next start compares its graph with an older one", slog.Any("error", err))
	}
	k.failed = true
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil && k.ctx.Err() == nil {
		k.next = g
	}
}

func (k *effectKeeper) write(g *engine.Graph) error {
	b, err := json.Marshal(inEffect{k.input, lastingOf(g)})
	if err != nil {
		return err
	}
	temp := k.path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, k.path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("%s: %w", k.path, err)
	}
	return nil
}

// lastingOf names the resources of a graph, but for vertices that only undo
// something.
func lastingOf(g *engine.Graph) []string {
	names := make([]string, 0, g.Len())
	for i, v := range g.All() {
		if !v.Once {
			names = append(names, g.ID(i))
		}
	}
	return names
}

// close writes what is left, and waits for it.
func (k *effectKeeper) close() error {
	if k != nil {
		k.end()
		k.wg.Wait()
	}
	return nil
}
