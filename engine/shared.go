package engine

// Shared is what all vertices of one SharedRes key have in common. The reactor
// opens it for the first and closes it after the last.
type Shared interface {
	Begin() // the first vertex of the key is due
	End()   // none of them is dirty or running any more
	Close() error
}

// Forgetter is a Shared that keeps its readings of the machine.
type Forgetter interface {
	Shared
	// Forget says that something above a vertex of the key has altered the machine:
	// readings from before the call, and errors of reading too, must not be used for
	// later readers. It comes before Begin, or between Begin and End, from the run that
	// needs it, and must not wait for another run.
	Forget()
}

// Rereader is a Forgetter that reads again what its own vertices have altered.
type Rereader interface {
	Forgetter
	// Reread reports whether everything was read since the last change by a vertex of the key. Such a
	// change then leads to no Forget. It comes when a run of the key has ended, and must not block.
	Reread() bool
}
