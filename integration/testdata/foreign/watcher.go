package foreign

import (
	"os"
	"sync"
	"time"
)

// fooWatcher stands for whatever an author has at hand to learn of changes.
type fooWatcher struct {
	Events chan struct{}
	Errors chan error

	file string
	quit chan struct{}
	wg   sync.WaitGroup
}

func openFoo(file string) (*fooWatcher, error) {
	w := &fooWatcher{file: file, Events: make(chan struct{}), Errors: make(chan error), quit: make(chan struct{})}
	before := w.look()
	w.wg.Add(1)
	go w.run(before)
	return w, nil
}

func (w *fooWatcher) Close() {
	close(w.quit)
	w.wg.Wait()
}

type look struct {
	err  bool
	time time.Time
	size int64
}

func (w *fooWatcher) look() look {
	info, err := os.Stat(w.file)
	if err != nil {
		return look{err: true}
	}
	return look{time: info.ModTime(), size: info.Size()}
}

func (w *fooWatcher) run(last look) {
	defer w.wg.Done()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.quit:
			return
		}
		now := w.look()
		if now == last {
			continue
		}
		last = now
		select {
		case w.Events <- struct{}{}:
		case <-w.quit:
			return
		}
	}
}
