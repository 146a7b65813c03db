package ineffect

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

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// The least time between two writes of the file, and after a failed write.
const (
	every = time.Second
	retry = time.Minute

	sizeASecond = 4 << 20 // bytes: a larger file is written less often
)

// Names are the resources of a graph.
type Names struct {
	All    []string `json:"resources"`
	Asking []string `json:"asking,omitempty"` // those that leave only when somebody agrees
}

// content is the file, as JSON.
type content struct {
	Input string `json:"input"` // where the graph comes from
	Names
}

// Read returns the resources of the graph that a Keeper has kept last in a file, none if that graph came from another input, or if
// there is none. The error says why the file can't be read.
func Read(path, input string) (Names, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Names{}, nil
	}
	var was content
	if err == nil {
		err = json.Unmarshal(b, &was)
	}
	if err != nil || was.Input != input {
		return Names{}, err
	}
	return was.Names, nil
}

// Declarations are digests of the declarations of the resources that are right, by resource, and their salt.
type Declarations[E any] struct {
	Salt   []byte       `json:"salt,omitempty"`
	Prints map[string]E `json:"prints"`
}

// ReadDeclarations returns the declarations that a Log has kept last in a file, with a new salt and nothing else if there are none.
// The error says why the file can't be read; then the salt is a new one, too.
func ReadDeclarations[E any](path string) (was Declarations[E], err error) {
	b, err := os.ReadFile(path)
	was.Prints = map[string]E{}
	if err == nil {
		err = read(b, &was)
	}
	if err != nil || len(was.Salt) < saltLen {
		was = Declarations[E]{Salt: make([]byte, saltLen)}
		unix.RandomRead(was.Salt)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return was, err
}

const saltLen = 16

// Keeper writes the file whenever its content has changed. A nil Keeper keeps nothing.
type Keeper struct {
	path  string
	disk  disk
	log   *slog.Logger
	clock clock.Clock

	writing sync.Mutex // held while the file is written
	last    func() any // what was written last, or failed to be

	mu     sync.Mutex
	next   func() any // what is to be written, as JSON; nil for nothing
	active bool       // the goroutine is there
	wg     sync.WaitGroup
	failed bool            // the last write, and that was said; of the goroutine
	ctx    context.Context // ends with Close
	end    context.CancelFunc
}

// New returns a Keeper of the file at a path. It has to be closed. It writes nothing yet.
func New(path string, log *slog.Logger, clock clock.Clock) *Keeper {
	k := &Keeper{path: path, disk: localDisk{}, log: log, clock: clock}
	k.ctx, k.end = context.WithCancel(context.Background())
	return k
}

// disk is the file system of that file.
type disk interface {
	Create(path string) (diskFile, error) // empties a file that is there; a link is an error
	Append(path string) (diskFile, error) // of a file that is there
	Rename(from, to string) error
	Remove(path string) error
	SyncFolder(path string) error // makes the names in a folder durable
}

// diskFile is an open file.
type diskFile interface {
	io.WriteCloser
	Sync() error
}

// localDisk is the file system of this machine.
type localDisk struct{}

func (localDisk) Create(path string) (diskFile, error) { return open(path, os.O_CREATE|os.O_TRUNC) }
func (localDisk) Append(path string) (diskFile, error) { return open(path, os.O_APPEND) }

func open(path string, flags int) (diskFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW|flags, 0o600)
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

// Keep has the names of a graph written soon: those that the function returns then. It does not block. input is
// where the graph comes from.
func (k *Keeper) Keep(names func() Names, input string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = func() any { return content{input, names()} }
	if !k.active {
		k.active = true
		k.wg.Go(k.run)
	}
}

// Renew writes the last names again, where somebody has removed the file.
func (k *Keeper) Renew() error {
	if k == nil {
		return nil
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	if k.last == nil {
		return nil
	}
	_, err := k.write(k.last)
	return err
}

// run is the goroutine. It ends when nothing new has come for a while.
func (k *Keeper) run() {
	for {
		k.mu.Lock()
		g := k.next
		k.next = nil
		k.active = g != nil
		k.mu.Unlock()
		if g == nil {
			return
		}
		wait := every
		k.writing.Lock()
		k.last = g
		size, err := k.write(g)
		k.writing.Unlock()
		if err != nil {
			wait = retry
			k.again(g, err)
		} else {
			wait += every * time.Duration(size/sizeASecond)
			k.failed = false
		}
		_ = clock.Sleep(k.ctx, k.clock, wait) // the end of ctx is the other reason to go on
	}
}

// again has a failed write tried again, unless there is something newer or the session
// ends. It logs the first failure of several.
func (k *Keeper) again(g func() any, err error) {
	if !k.failed {
		k.log.Log(k.ctx, levelOf(err), "the names of the resources in effect were not written: until they are, the next start compares its graph with an older one", slog.Any("error", err))
	}
	k.failed = true
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil && k.ctx.Err() == nil {
		k.next = g
	}
}

// levelOf returns the level on which a failed write is logged.
func levelOf(err error) slog.Level {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) { // the journal, in the same folder, has warned of that
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// write returns how many bytes it has written.
func (k *Keeper) write(what func() any) (int, error) {
	b, err := json.Marshal(what())
	if err != nil {
		return 0, err
	}
	if err := replaceDurably(k.disk, k.path, b); err != nil {
		return 0, fmt.Errorf("%s: %w", k.path, err)
	}
	return len(b), nil
}

// replaceDurably puts a new file in the place of another one. With an error the old one is there, or the new one
// whole.
func replaceDurably(disk disk, path string, text []byte) error {
	temp := path + ".new"
	f, err := disk.Create(temp)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
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

// Close writes the rest, and waits for it.
func (k *Keeper) Close() error {
	if k != nil {
		k.end()
		k.wg.Wait()
	}
	return nil
}
