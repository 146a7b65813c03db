// Package apart calls code of other modules on goroutines of their own, which that code may end: by runtime.Goexit, as t.FailNow does.
//
// # Laws
//
//   - The caller gets an error, also where the goroutine was ended: an *callsafe.PanicError that says so, and in which function.
//   - A panic goes through: it is not this package's to judge.
//
// # Ownership
//
// Each call has one goroutine, which ends with the function that it was given.
package apart

import (
	"runtime"

	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// Call calls a function on a goroutine of its own, waits for its end, and returns its error. The argument method names, in the error of a
// goroutine that was ended, what was called.
func Call(method string, f func() error) error { return <-Start(method, f) }

// Start is Call that does not wait. The error comes in the channel, which has room for it.
func Start(method string, f func() error) <-chan error {
	ended := make(chan error, 1)
	Go(method, f, func(err error) { ended <- err })
	return ended
}

// Go is Start with a function that gets the error, on the same goroutine.
func Go(method string, f func() error, then func(error)) {
	go func() {
		grow()
		var err error
		returned := false
		defer func() {
			if !returned {
				err = callsafe.Exited(method)
			}
			then(err)
		}()
		err = f()
		returned = true
	}()
}

// Each calls a function for the numbers from one up to another, all on one goroutine, and waits for their end. Where a call ends the
// goroutine, exited gets its number and the error, and another goroutine goes on with the next number. The first error of f ends Each.
func Each(method string, from, to int, f func(i int) error, exited func(i int, err error)) error {
	at := from
	for at < to {
		returned := false
		err := Call(method, func() error {
			defer func() { at++ }()
			for ; at < to; at++ {
				if err := f(at); err != nil {
					returned = true
					return err
				}
			}
			returned = true
			return nil
		})
		if returned {
			return err
		}
		exited(at-1, err)
	}
	return nil
}

// grow makes room on the stack of a new goroutine in one step, while there is hardly anything on it. The code that is called here needs more
// than the room it begins with, and to double that room again and again copies all frames each time.
//
//go:noinline
func grow() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}
