package reactor

import (
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// readTime is how long the loop waits for the text of an error that a method has
// returned on the loop.
const readTime = 100 * time.Millisecond

// read takes the text of an error where the loop itself has called a method: code that
// is not ours is asked on a goroutine of its own, and not waited for longer than readTime.
// Methods that other goroutines call are asked for the texts of their errors there.
func (c *core) read(method string, err error) error {
	if err == nil {
		return nil
	}
	if engine.Legible(err) {
		return engine.Freeze(method, err)
	}
	text := make(chan error, 1)
	c.enders.Go(func() { text <- engine.Freeze(method, err) })
	late := engine.NewTimer(c.opt.Clock, readTime)
	defer late.Stop()
	select {
	case err := <-text:
		return err
	case <-late.C:
		return &engine.UnreadableError{Method: method, Type: fmt.Sprintf("%T", err), Reason: "a method of it does not return"}
	}
}
