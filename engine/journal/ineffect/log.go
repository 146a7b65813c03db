package ineffect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// appended is how much may be appended to a file, besides its half, until it is written anew.
const appended = 64 << 10

// Log writes a file of entries by key: all of them once, and then each that has changed at its end. What Flush has written outlives
// the process, though it is killed; a second later it is on the disk. A nil Log keeps nothing.
type Log struct {
	path string
	what string // is kept, in words
	all  func() any
	disk disk
	log  *slog.Logger

	clock clock.Clock
	ctx   context.Context // ends with Close
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	news   map[string]any // entries that are not written; nil for those that are gone
	active bool           // the goroutine is there

	writing sync.Mutex // guards what follows; taken before mu
	file    diskFile   // nil where the file is to be written as a whole
	size    int        // of the whole as it was written, and
	more    int        // of what was appended since
	unsure  bool       // what was appended is not yet on the disk
	failed  bool       // the last write, and that was said
}

// NewLog returns a Log of the file at a path, whose beginning is all that there is, as JSON. It has to be closed. It writes nothing yet.
func NewLog(what, path string, all func() any, log *slog.Logger, clock clock.Clock) *Log {
	l := &Log{path: path, what: what, all: all, disk: localDisk{}, log: log, clock: clock}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// Put has an entry written soon, nil for one that is gone. It does not block.
func (l *Log) Put(key string, entry any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news == nil {
		l.news = map[string]any{}
	}
	l.news[key] = entry
	if !l.active {
		l.active = true
		l.wg.Go(l.run)
	}
}

// Renew writes the whole to the disk, where somebody has removed the file.
func (l *Log) Renew() error {
	if l == nil {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.news = nil // it is a part of the whole
	l.mu.Unlock()
	err := l.whole()
	l.failed = err != nil
	return err
}

// Flush writes what was put, without a wait for the disk. After a failure it leaves that to the next try.
func (l *Log) Flush() {
	if l == nil {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if !l.failed {
		l.write(false)
	}
}

// run is the goroutine. It ends when all is on the disk.
func (l *Log) run() {
	for more := true; more; {
		l.Flush()
		l.writing.Lock()
		wait := every
		if l.failed {
			wait = retry
		}
		l.writing.Unlock()
		_ = clock.Sleep(l.ctx, l.clock, wait) // the end of ctx is the other reason to go on
		more = l.settle()
	}
}

// settle writes what is left, to the disk. It reports whether there is more to write.
func (l *Log) settle() (more bool) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.write(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = len(l.news) > 0 || (l.failed && l.ctx.Err() == nil)
	return l.active
}

// write appends what was put, or writes the whole. It says the first failure of several.
func (l *Log) write(durably bool) {
	l.mu.Lock()
	news := l.news
	l.news = nil
	l.mu.Unlock()
	err := l.append(news, durably)
	if err != nil && !l.failed {
		l.log.Log(l.ctx, levelOf(err), l.what+" were not written: until they are, the next start compares its graph with an older one", slog.Any("error", err))
	}
	if l.failed = err != nil; l.failed && l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

func (l *Log) append(news map[string]any, durably bool) error {
	if l.file == nil && (len(news) > 0 || l.failed) || l.file != nil && durably && l.more > l.size/2+appended {
		return l.whole()
	}
	if len(news) > 0 {
		b, err := json.Marshal(Declarations[any]{Prints: news})
		if err != nil {
			return err
		}
		n, err := l.file.Write(append(b, '\n'))
		if l.more += n; err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
		l.unsure = true
	}
	if !durably || !l.unsure {
		return nil
	}
	l.unsure = false
	return l.file.Sync()
}

// whole writes the file as a whole, and opens it for more.
func (l *Log) whole() error {
	if l.file != nil {
		_ = l.file.Close() // it is replaced
		l.file = nil
	}
	b, err := json.Marshal(l.all())
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if err := replaceDurably(l.disk, l.path, b); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	l.file, err = l.disk.Append(l.path)
	l.size, l.more, l.unsure = len(b), 0, false
	return err
}

// Close writes the rest, and waits for it.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.end()
	l.wg.Wait()
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// read reads the file of a Log, which has one value a line. What follows the last whole line was cut by the end of the process.
func read[E any](b []byte, was *Declarations[E]) error {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(first, was); err != nil {
		return err
	}
	for line := range bytes.Lines(rest) {
		var news Declarations[*E]
		if err := json.Unmarshal(line, &news); err != nil {
			return nil
		}
		for key, e := range news.Prints {
			if e == nil {
				delete(was.Prints, key)
			} else {
				was.Prints[key] = *e
			}
		}
	}
	return nil
}
