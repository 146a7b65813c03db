package host

import (
	"errors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// openBest opens the best source that there is.
func openBest(clock engine.Clock) (eventSource, error) {
	s, err := openInotify(clock)
	if errors.Is(err, unix.ErrNeedsLinux) {
		return openNotify(clock)
	}
	return s, err
}
