package provenance

import (
	"fmt"
	"strconv"
	"strings"
)

// Culprit is the process that made an event. It is nil where nothing is known: without root the
// kernel does not say. Arguments of a program are not kept, since they hold secrets. All texts are
// foreign: see Plain.
type Culprit struct {
	PID     int
	Program string // the file that it ran when it was read; where it was ending, a name without a slash, as it called itself
	User    string // that it ran as: a name, or a number without one
	Login   string // who has logged in, where that is another one
	Unit    string // of the service manager
	Gone    bool   // it has ended before it could be read: only PID is known
}

// String returns the culprit in words, in characters that a terminal shows as they are.
func (c *Culprit) String() string {
	switch {
	case c == nil:
		return ""
	case c.Gone || c.Program == "":
		return fmt.Sprintf("pid %d (gone)", c.PID)
	}
	parts := []string{"pid " + strconv.Itoa(c.PID)}
	for _, p := range []struct{ word, value string }{{"user", c.User}, {"login", c.Login}, {"unit", c.Unit}} {
		if p.value != "" {
			parts = append(parts, p.word+" "+bare(p.value))
		}
	}
	return bare(c.Program) + " (" + strings.Join(parts, ", ") + ")"
}

// Plain returns it with texts that are safe in any output: control characters, marks of direction
// and invalid bytes are written as Go writes them. Of nil it is nil.
func (c *Culprit) Plain() *Culprit { return c.Map(plainText) }

// Map returns it with each text passed through f. Of nil it is nil.
func (c *Culprit) Map(f func(string) string) *Culprit {
	if c == nil {
		return nil
	}
	p := *c
	for _, s := range []*string{&p.Program, &p.User, &p.Login, &p.Unit} {
		*s = f(*s)
	}
	return &p
}

// plainText escapes what a terminal does not show as it is.
func plainText(s string) string {
	q := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

// bare returns a word as it is, and what could be taken for more than one word in quotes.
func bare(s string) string {
	for _, r := range s {
		if !strings.ContainsRune("./_-+@:\\", r) && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return strconv.Quote(s)
		}
	}
	return s
}
