package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// inEffectFile is the file in StateDir that names the resources of the last graph.
const inEffectFile = "in-effect"

// The least time between two writes of that file, and after a failed write.
const (
	inEffectEvery = time.Second
	inEffectRetry = time.Minute
)

// inEffect is that file. It has names only, and is replaced in one step: the new one is on the disk before
// it gets the name, and the name before the write has ended. After a loss of power the file has the names of
// the last write that ended, or of a later graph.
type inEffect struct {
	Input     string   `json:"input"` // Options.Input of the writer
	Resources []string `json:"resources"`
}

// readInEffect returns the resources that an earlier Run has had in effect with the same
// Options.Input, nil if there is none.
func (o *options) readInEffect() []string {
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
func (o *options) comparesStart() bool {
	return o.StateDir != "" && o.Input != "" && !o.readOnly && !o.ConvergedExit && o.Noop != NoopAll
}

// effectKeeper writes the file whenever the names have changed.
type effectKeeper struct {
	path string
	disk effectDisk
	log  *slog.Logger

	mu     sync.Mutex
	next   *named // to be written; nil for none
	active bool   // the goroutine is there
	wg     sync.WaitGroup
	failed bool            // the last write, and that was said; of the goroutine
	ctx    context.Context // ends with the session
	end    context.CancelFunc
}

// named is the names of a graph, and where it comes from; see Options.Input.
type named struct {
	names func() []string
	input string
}

// effectDisk is the file system of that file.
type effectDisk interface {
	Create(path string) (effectFile, error) // empties a file that is there; a link is an error
	Rename(from, to string) error
	Remove(path string) error
	SyncFolder(path string) error // makes the names in a folder durable
}

// effectFile is an open file.
type effectFile interface {
	io.WriteCloser
	Sync() error
}

// localDisk is the file system of this machine.
type localDisk struct{}

func (localDisk) Create(path string) (effectFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (localDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (localDisk) Remove(path string) error     { return os.Remove(path) }

func (localDisk) SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system without such a sync
	}
	return errors.Join(err, d.Close())
}

// newEffectKeeper returns a keeper that has to be closed; nil, which keeps nothing, if there
// is no place for the file, or nothing takes effect.
func (o *options) newEffectKeeper() *effectKeeper {
	if o.StateDir == "" || o.readOnly || o.Noop == NoopAll {
		return nil
	}
	k := &effectKeeper{path: filepath.Join(o.StateDir, inEffectFile), disk: localDisk{}, log: o.Logger}
	k.ctx, k.end = context.WithCancel(context.Background())
	return k
}

// keep has the names of a graph written soon: those that the function returns then. It does not block. input is
// where the graph comes from.
func (k *effectKeeper) keep(names func() []string, input string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = &named{names, input}
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
func (k *effectKeeper) again(g *named, err error) {
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

func (k *effectKeeper) write(n *named) error {
	b, err := json.Marshal(inEffect{n.input, n.names()})
	if err != nil {
		return err
	}
	if err := replaceDurably(k.disk, k.path, b); err != nil {
		return fmt.Errorf("%s: %w", k.path, err)
	}
	return nil
}

// replaceDurably puts a new file in the place of another one. With an error the old one is there, or the new one
// whole.
func replaceDurably(disk effectDisk, path string, content []byte) error {
	temp := path + ".new"
	f, err := disk.Create(temp)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil {
		_ = disk.Remove(temp)
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}

// close writes the rest, and waits for it.
func (k *effectKeeper) close() error {
	if k != nil {
		k.end()
		k.wg.Wait()
	}
	return nil
}
