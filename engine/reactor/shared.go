package reactor

import (
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine/lifecycle"
)

// maxReaders is how many Forgetters are told apart. More share the last place.
const maxReaders = 64

// findReaders notes of each vertex which Forgetters have a vertex below it. It takes a step
// for each vertex and edge, where there is a Forgetter at all.
func (s *swap) findReaders() {
	at := map[*lifecycle.Share]int{}
	s.r.loop.readers = nil
	for _, v := range s.all {
		if v.forgetReaders(); !v.Share().Forgets() {
			continue
		}
		if _, ok := at[v.Share()]; !ok {
			at[v.Share()] = min(len(s.r.loop.readers), maxReaders-1)
			s.r.loop.readers = append(s.r.loop.readers, v.Share())
		}
	}
	if len(at) == 0 {
		return
	}
	for _, i := range slices.Backward(s.order) {
		v := s.all[i]
		for _, j := range s.g.Succ(i) {
			below := s.all[j]
			v.addReaders(below.readers)
			if n, ok := at[below.Share()]; ok && below.Share().Forgets() {
				v.addReaders(1 << n)
			}
		}
	}
}

// findReadersOfPart does it for the vertices of a part and those above them. A vertex may keep a Forgetter that is below it
// no longer until the next whole graph; that one then reads again without need.
func (s *swap) findReadersOfPart() {
	l := &s.r.loop
	var todo []*vertex
	for v := range s.redrawn.ties {
		todo = append(todo, v)
	}
	for _, x := range s.redrawn.edges {
		todo = append(todo, x.around)
	}
	if len(l.readers) >= 2*maxReaders { // many have gone, that are told apart without need
		l.readers, todo = nil, slices.Clone(l.byIndex)
		for _, v := range todo {
			v.forgetReaders()
		}
	}
	for _, v := range todo {
		if v.Share().Forgets() && !slices.Contains(l.readers, v.Share()) {
			l.readers = append(l.readers, v.Share())
		}
	}
	for len(l.readers) > 0 && len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		was := v.readers
		for _, slot := range l.m.Below(v.slot) {
			below := l.bySlot[slot]
			v.addReaders(below.readers)
			if below.Share().Forgets() {
				v.addReaders(1 << min(slices.Index(l.readers, below.Share()), maxReaders-1))
			}
		}
		if v.readers != was {
			for _, slot := range l.m.Above(v.slot) {
				todo = append(todo, l.bySlot[slot])
			}
		}
	}
}

// altered tells the Forgetters below v that v has, or may have, altered the machine. The one of v itself
// may have read all since.
func (l *loop) altered(v *vertex) {
	if v.readers == 0 || !v.run.job.apply || v.run.job.out.ok && v.run.job.out.err == nil {
		return
	}
	for i, s := range l.readers {
		if v.readers&(1<<min(i, maxReaders-1)) != 0 && !(s == v.Share() && s.Reread()) {
			s.Alter()
		}
	}
}

// setDue counts v among those of its key that have something to do, as long as it
// runs in any case. The last one to be done has End called.
func (l *loop) setDue(v *vertex, due bool) {
	s := v.Share()
	if s == nil || v.due == due || v.run.inRun && !due {
		return
	}
	v.due = due
	if due {
		s.AddDue(1)
	} else if s.AddDue(-1) == 0 {
		l.endShared(s, func() bool { return s.Due() == 0 })
	}
}

// endShared calls End on a goroutine of its own, since it may take long.
func (c *core) endShared(s *lifecycle.Share, may func() bool) {
	c.sharesEnding.Add(1)
	c.enders.Go(func() {
		if err := s.End(may); err != nil {
			c.log.Warn("ending what is shared failed", slog.String("key", s.Key()), slog.Any("error", err))
		}
		c.sharesEnding.Add(-1)
		c.wake()
	})
}

// endAllShared calls End for the begun values, because the graph is at rest: due vertices wait for
// failed ones. A run that begins before End is called makes it void. It reports whether there was
// something.
func (c *core) endAllShared() bool {
	any := false
	for _, s := range c.env.Shares() {
		if s.Due() > 0 && s.Begun() {
			any = true
			seen := s.Runs()
			c.endShared(s, func() bool { return s.Runs() == seen })
		}
	}
	return any
}
