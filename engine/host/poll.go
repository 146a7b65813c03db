package host

import "os"

// poll has d looked at from time to time.
func (h *hub) poll(d *dir) {
	if d.sigs != nil {
		return
	}
	d.sigs = make(map[string]sig)
	if len(h.polled) == 0 {
		h.timer.Reset(h.every)
	}
	h.polled[d] = struct{}{}
	h.stats.polled.Add(1)
	for _, n := range d.nodes {
		h.baseline(n, "")
	}
}

func (h *hub) unpoll(d *dir) {
	if d.sigs == nil {
		return
	}
	d.sigs = nil
	delete(h.polled, d)
	h.stats.polled.Add(-1)
	if len(h.polled) == 0 {
		h.timer.Stop()
	}
}

// baseline remembers the state of a name in n when it is first asked for, or of all names that are
// asked for in n if the name is empty.
func (h *hub) baseline(n *node, name string) {
	d := n.dir
	if d == nil || d.sigs == nil {
		return
	}
	names := map[string]struct{}{name: {}}
	if name == "" {
		names, _ = h.interest(d)
	}
	for name := range names {
		if _, known := d.sigs[name]; !known {
			d.sigs[name] = sigOf(d.below(name))
		}
	}
}

// below returns the path of a name in d; the empty name is d itself.
func (d *dir) below(name string) string {
	if name == "" {
		return d.path
	}
	return join(d.path, name)
}

// round begins a round of polling.
func (h *hub) round() {
	if len(h.polled) == 0 {
		return
	}
	h.timer.Reset(h.every)
	h.scans = h.scans[:0]
	for d := range h.polled {
		h.scans = append(h.scans, d)
	}
}

// scan looks at a polled directory, and tries to have it watched instead.
func (h *hub) scan(d *dir) {
	if d.sigs == nil {
		return
	}
	watched := !h.limits.waiting(h.clock.Now()) && h.add(d) == nil
	names, all := h.interest(d)
	for name := range d.sigs {
		if _, ok := names[name]; ok {
			continue
		}
		if all { // it was there
			names[name] = struct{}{}
		} else {
			delete(d.sigs, name)
		}
	}
	for name := range names {
		h.compare(d, name)
	}
	if watched {
		h.unpoll(d)
		h.recovered()
	}
}

// compare looks at a name in a polled directory.
func (h *hub) compare(d *dir, name string) {
	was, is := d.sigs[name], sigOf(d.below(name))
	if was == is {
		return
	}
	d.sigs[name] = is
	o := opModified | opAttributes
	if was.id != is.id || was.mode != is.mode {
		o |= opAltered
	}
	h.inside(d, event{dir: d.path, name: name, op: o}, change{source: sourcePoll, path: d.below(name)})
}

// interest returns the names in d that subscriptions ask for, and whether the directory has no
// others.
func (h *hub) interest(d *dir) (names map[string]struct{}, all bool) {
	names = make(map[string]struct{})
	for _, n := range d.nodes {
		for name := range n.names {
			names[name] = struct{}{}
		}
		for name := range n.kids {
			names[name] = struct{}{}
		}
		all = all || n.any != nil || n.recursive()
	}
	if !all {
		return names, false
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		h.log.Debug("cannot list a polled directory", "path", d.path, "error", err)
	}
	for _, e := range entries {
		names[e.Name()] = struct{}{}
	}
	return names, true
}
