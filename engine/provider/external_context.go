package provider

import "slices"

// dialogue is a context that a set command has opened.
type dialogue struct {
	word   string
	titles []string // those that have no status yet
}

// all returns the titles of a line.
func (s said) all() []string { return append([]string{s.title}, s.titles...) }

// putTitles takes the titles of a line about several resources.
func (s *said) putTitles(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return "titles is no list of text"
	}
	for i, e := range list {
		title, ok := e.(string)
		switch {
		case !ok:
			return "titles is no list of text"
		case i == 0:
			s.title = title
		default:
			s.titles = append(s.titles, title)
		}
	}
	return ""
}

// within gives a line without titles those of the context that was opened last.
func (c *exchange) within(s said) said {
	if n := len(c.open); s.title == "" && n > 0 {
		s.title, s.titles = c.open[n-1].titles[0], c.open[n-1].titles[1:]
	}
	return s
}

// enter opens a context.
func (c *exchange) enter(s said, opts []LogOption) string {
	log := c.rt.Log
	var err error
	switch s.context {
	case "creating":
		err = log.Creating(s.title, nil, opts...)
	case "updating":
		err = log.Updating(s.title, nil, opts...)
	case "deleting":
		err = log.Deleting(s.title, nil, opts...)
	case "processing":
		err = log.Processing(s.title, c.changes[s.title].Is.Record, c.changes[s.title].Should, nil, opts...)
	case "failing":
		err = log.Failing(s.title, nil, opts...)
	default:
		return "context must be creating, updating, deleting, processing or failing"
	}
	if err == nil { // else the Logger has said so
		c.open = append(c.open, dialogue{s.context, s.all()})
	}
	return ""
}

// done takes titles out of their contexts.
func (c *exchange) done(titles []string) {
	for i := range c.open {
		c.open[i].titles = slices.DeleteFunc(c.open[i].titles, func(t string) bool { return slices.Contains(titles, t) })
	}
	c.open = slices.DeleteFunc(c.open, func(d dialogue) bool { return len(d.titles) == 0 })
}

// statusOf is what becomes of the titles of a context.
var statusOf = map[string]string{"creating": "created", "updating": "updated", "deleting": "deleted", "processing": "processed", "failing": "failed"}

// leave ends the open blocks when the command has ended.
func (c *exchange) leave(err error) {
	for _, d := range c.open {
		for _, t := range d.titles {
			s := said{title: t, status: statusOf[d.word]}
			switch {
			case err != nil:
				s.status, s.message = "failed", err.Error()
			case d.word == "failing":
				s.message = "the set command has called it failing"
			}
			c.mark(s, nil)
		}
	}
	c.open = nil
}

// hearing takes the lines of a set command as they come, up to the first that may come in pieces.
type hearing struct {
	c     *exchange
	lines int
	errs  []error
	over  bool
}

func (h *hearing) line(text []byte) {
	if h.over = h.over || len(text) >= pieceOfLine; h.over {
		return
	}
	h.lines++
	for line := range h.c.lines(append(slices.Clip(text), '\n')) {
		line.number = h.lines
		h.errs = append(h.errs, h.c.report(line))
	}
}
