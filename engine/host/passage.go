package host

import (
	"slices"
	"time"
)

// How long a name may be on its way.
const (
	// quietTime stands for the end of a process that is not known.
	quietTime = 3 * time.Millisecond
	// createdTime does so where it has created the name: it may set rights by it, or give the file another name, and on a busy
	// machine it waits for a processor in between.
	createdTime = 30 * time.Millisecond
	// processTime is how long the end of a process is awaited after its last step, or after it was seen to wait for a processor or a disk.
	processTime = 100 * time.Millisecond
	// longestPassage is the bound for all of it, so that a writer who never closes gains nothing.
	longestPassage = 2 * time.Second
)

// A step is one event of a name, as a passage sees it.
type step struct {
	op  op
	pid int // who did it; 0 where that is not known

	// ended reports whether that process has ended; nil for no.
	ended func() bool

	// written says that what has the name now was modified and is open, though it was made by this step: modifications have a queue of
	// their own, and may be served before what they followed.
	written bool

	// holds reports whether a process has the file open for writing; nil for no. A file that is
	// inherited is modified by many processes, and closed by the last one alone.
	holds func(pid int) bool
}

// A passage is a name between two things that it stands for. It is a value: events and the time go
// in, and whether subscribers are to be told comes out.
//
// A name is complete, and they are told at once, when its writer has closed it, when another file
// was moved over it, when a folder was made, or when only its attributes were altered. It is on its
// way after it was made, linked, removed or moved away, and from the first modification until it is
// closed. Programs that replace a file in these steps (install, cp --remove-destination, git) set
// rights by its name after they have closed it. So a name that was made or removed rests until the
// process that did so has ended.
type passage struct {
	began time.Time // the first step; the zero value before it
	until time.Time // when it counts as complete if nothing more comes
	made  bool      // made or removed since it began
	fresh bool      // made since it began
	pid   int       // whose end completes it; 0 for nobody's
	open  []int     // who has modified it and has not closed it yet; 0 is a process that is not known
}

// take takes a step into account, and reports whether the name is complete with it.
func (p *passage) take(s step, now time.Time) (complete bool) {
	if p.began.IsZero() {
		p.began = now
	}
	switch made := s.op&(opAltered&^opMovedIn) != 0; {
	case made && s.op&opFolder != 0 && s.op&(opAltered) == opCreated:
		return true
	case made:
		p.made = true
		p.fresh = p.fresh || s.op&opCreated != 0
		if s.written {
			break
		}
		p.open = nil
		return p.rest(s, now)
	case s.op&opModified != 0 && s.op&opUnsure != 0:
		return p.rest(s, now)
	case s.op&opMovedIn != 0 && s.pid == 0 && len(p.open) > 0: // written before it was moved, or after
		p.made, p.open = true, nil
		return p.rest(s, now)
	case s.op&opMovedIn != 0:
		return true
	case s.op&opClosed != 0:
		p.open = slices.DeleteFunc(p.open, func(by int) bool { return by == s.pid || by == 0 || s.holds == nil || !s.holds(by) })
	case s.op&opModified != 0:
		if !slices.Contains(p.open, s.pid) {
			p.open = append(p.open, s.pid)
		}
	}
	switch {
	case len(p.open) > 0:
		p.until = p.began.Add(longestPassage)
		return false
	case p.made:
		return p.rest(s, now)
	}
	return true
}

// rest waits for the end of the process of a step, or for a quiet time.
func (p *passage) rest(s step, now time.Time) (complete bool) {
	switch {
	case s.ended != nil && s.ended():
		return len(p.open) == 0
	case s.pid == 0 && p.fresh:
		p.pid, p.until = 0, now.Add(createdTime)
	case s.pid == 0:
		p.pid, p.until = 0, now.Add(quietTime)
	default:
		p.pid, p.until = s.pid, now.Add(processTime)
	}
	return false
}

// ended notes the end of a process, which closes its files, and reports whether the name is complete
// with it.
func (p *passage) ended(pid int) (complete bool) {
	p.open = slices.DeleteFunc(p.open, func(by int) bool { return by == pid })
	return p.pid == pid && len(p.open) == 0
}

// due returns when the name counts as complete if nothing more comes.
func (p *passage) due() time.Time {
	if last := p.began.Add(longestPassage); p.until.After(last) {
		return last
	}
	return p.until
}
