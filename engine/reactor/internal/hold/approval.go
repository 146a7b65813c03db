package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/plain"
)

// Approval says which changes wait for the word of a person. The zero value is for none.
type Approval struct {
	Changes  bool     // all of them
	Removals bool     // those that take something away
	Kinds    []string // those of resources of these kinds, sorted
}

// The words of ParseApproval that are no kinds.
const (
	approveChanges  = "changes"
	approveRemovals = "removals"
)

// ParseApproval reads changes, removals and kinds, separated by commas; off or nothing for none.
func ParseApproval(s string) (a Approval, err error) {
	if s == "" || s == "off" {
		return a, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		switch word = strings.TrimSpace(word); {
		case word == approveChanges:
			a.Changes = true
		case word == approveRemovals:
			a.Removals = true
		case word == "" || word == "off" || strings.ContainsAny(word, " []*"):
			return Approval{}, fmt.Errorf("%q does not say which changes to ask about: write changes, removals or kinds, separated by commas, as in removals,svc, or off", s)
		default:
			a.Kinds = append(a.Kinds, word)
		}
	}
	slices.Sort(a.Kinds)
	a.Kinds = slices.Compact(a.Kinds)
	return a, nil
}

// String writes what ParseApproval reads.
func (a Approval) String() string {
	var words []string
	if a.Changes {
		words = append(words, approveChanges)
	}
	if a.Removals {
		words = append(words, approveRemovals)
	}
	if words = append(words, a.Kinds...); len(words) == 0 {
		return "off"
	}
	return strings.Join(words, ",")
}

// On reports whether it asks about any change.
func (a Approval) On() bool { return a.Changes || a.Removals || len(a.Kinds) > 0 }

// Asks reports whether changes of a resource of the kind wait for the word of a person.
func (a Approval) Asks(kind string, cs []engine.Change) bool {
	return a.Changes || slices.Contains(a.Kinds, kind) || a.Removals && slices.ContainsFunc(cs, removes)
}

func removes(c engine.Change) bool { return c.Verb == engine.Deleted }

// AskError is the error of a run that wants to change something which a person has not approved. Nothing was changed.
type AskError struct {
	Digest  string
	Persons int      // how many have to approve it
	Why     []string // in words, by rules of a policy; nil for none
	Expired bool     // it was approved, too long ago
}

func (e *AskError) Error() string { return "the change " + e.Digest + " waits for an approval" }

// Digest names changes of a resource, secrets among them, and what is declared, for whoever approves them: the change
// of a command says only that it runs. The salt is a secret: so the digest does not give a
// secret away.
func Digest(salt []byte, resource string, declared any, cs []engine.Change) string {
	h := sha256.New()
	part := func(b []byte) { _, _ = fmt.Fprintf(h, "%d:%s", len(b), b) }
	value := func(x any) {
		text, err := plain.Marshal(x)
		if err != nil {
			text = fmt.Append(nil, x)
		}
		part(text)
	}
	part(salt)
	part([]byte(resource))
	value(declared)
	for _, c := range cs {
		part([]byte(c.Field))
		part([]byte(c.Verb))
		part([]byte(c.Print))
		value(c.From)
		value(c.To)
	}
	return hex.EncodeToString(h.Sum(nil)[:digestLen])
}

// digestLen is long enough that nobody finds another change with the digest of one while that waits.
const digestLen = 8

// Ask has the vertex wait for the word of a person on a change, and reports whether it is another one than before.
func (v *Vertex) Ask(h Held, persons int, now int64) (anew bool) {
	anew = v.own().asked != h.Digest
	v.asked, v.persons = h.Digest, persons
	v.Hold(h, now)
	return anew
}

// Look lets a vertex that waits for an approval be looked at again: the change may be another one by now.
func (v *Vertex) Look() { v.LetGo() }

// Persons returns how many persons have to approve the change that waits.
func (v *Vertex) Persons() int {
	if v.Asked() == "" {
		return 0
	}
	return v.persons
}

// Asked returns the digest of the change that waits, or is looked at again; empty for none.
func (v *Vertex) Asked() string {
	if v.past == nil {
		return ""
	}
	return v.asked
}

// EndAsk ends Ask, and reports whether the vertex had asked.
func (v *Vertex) EndAsk() bool {
	if v.Asked() == "" {
		return false
	}
	v.asked = ""
	return true
}

// Approved is the word of persons on one change.
type Approved struct {
	Digest  string
	Persons int
	Until   time.Time // by the wall clock
}

// Covers reports whether the change with a digest may be made now. Of nil it is false.
func (a *Approved) Covers(digest string, persons int, now time.Time) bool {
	return a != nil && a.Digest == digest && a.Persons >= persons && now.Before(a.Until)
}

// Approve lets the next run of the vertex make a change.
func (v *Vertex) Approve(a *Approved) { v.own().approved = a }

// Approved returns what the next run may change; nil for nothing.
func (v *Vertex) Approved() (a *Approved) {
	if v.past != nil {
		a = v.approved
	}
	return a
}

// TakeApproved returns it once.
func (v *Vertex) TakeApproved() (a *Approved) {
	if a = v.Approved(); a != nil {
		v.approved = nil
	}
	return a
}

// DeclaredBy notes who has had the vertex declared; empty where nobody is known.
func (v *Vertex) DeclaredBy(who string) {
	if who != "" || v.past != nil {
		v.own().author = who
	}
}

// Author returns it.
func (v *Vertex) Author() string {
	if v.past == nil {
		return ""
	}
	return v.author
}
