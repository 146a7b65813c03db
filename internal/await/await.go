// Package await has the waits of tests. None of them judges how long something takes: a wait ends when its
// condition holds, or shortly before the deadline of the test binary (go test -timeout), and after five minutes at the
// latest, so that one fault does not take the time of all other tests. So a slow machine fails no test, and a wait in
// vain fails in its own words instead of in a dump of all goroutines.
package await

import (
	"flag"
	"testing"
	"time"
)

// margin is what a test keeps of its time to say what it has waited for, and to clean up.
const margin = 15 * time.Second

// began is about when the testing package has set its alarm.
var began = time.Now()

// most is how long a wait may take at all.
const most = 5 * time.Minute

// Left returns how long a wait may take: what the test binary has left of its time, less a margin, and at most five minutes.
func Left() time.Duration {
	limit, ok := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if !ok || limit <= 0 {
		return most
	}
	return min(most, time.Until(began.Add(limit-margin)))
}

// Until waits until yes reports true, and asks it about every 2 ms. It fails the test with the name of what has not
// come. It is called on the goroutine of the test.
func Until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	if !Eventually(yes) {
		t.Fatalf("waited in vain: %s", what)
	}
}

// Eventually is Until for a caller that has no test at hand, as a command of a script. It reports whether yes has
// become true.
func Eventually(yes func() bool) bool {
	for end := time.Now().Add(Left()); !yes(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Of waits for a value of a channel, or its end, and fails the test with the name of what has not come. It is called
// on the goroutine of the test.
func Of[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(Left()):
		t.Fatalf("waited in vain: %s", what)
	}
	return v
}
