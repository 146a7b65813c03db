package enginetest

import "github.com/reactivegraph/mgmt/engine/simulate"

// FakeHost is a machine whose changes a test makes up; see simulate.Host. The shipped program has it, too, so it is
// a type of package simulate. The fake machine starts no goroutine, and works inside a testing/synctest bubble. It has no files of its own:
// a kind that opens a path opens it on this machine, so give it paths below a temporary folder, or take a simulate.Folder.
type FakeHost = simulate.Host

// Clock stands still until a test moves it; see simulate.Clock. It fits wherever a clock is taken as a value. Code that
// uses package time itself is tested in a testing/synctest bubble instead.
type Clock = simulate.Clock

// NewHost returns a Debian 12 with systemd that is called host; see simulate.NewHost. It has
// no commands and no bus.
func NewHost() *FakeHost { return simulate.NewHost() }

// NewClock returns a clock that stands at the beginning of the year 2000, UTC. It does not move by itself.
// Its owner is one test: tests that share a clock move each other.
func NewClock() *Clock { return simulate.NewClock() }
