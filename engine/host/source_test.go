package host

import (
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// sourceEnv chooses the source that the tests of this process watch with; empty for the best one.
const sourceEnv = "MGMT_TEST_SOURCE"

// sources are all of them.
var sources = map[string]func(engine.Clock) (eventSource, error){
	"":         openSource,
	"inotify":  openInotify,
	"fsnotify": openNotify,
}

// openChosen opens the source that was chosen.
func openChosen(clock engine.Clock) (eventSource, error) { return sources[os.Getenv(sourceEnv)](clock) }

// chosen names it.
func chosen() string {
	if s := os.Getenv(sourceEnv); s != "" {
		return s
	}
	return "inotify"
}

// holdsOf returns how many folders a source watches.
func holdsOf(s eventSource) (n int, ok bool) {
	switch s := s.(type) {
	case *notifySource:
		return len(s.w.WatchList()), true
	case *inotify:
		s.main.mu.Lock()
		defer s.main.mu.Unlock()
		return len(s.main.dirs), true
	}
	return 0, false
}

var _ testing.TB
