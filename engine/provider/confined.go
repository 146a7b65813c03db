package provider

import (
	"os"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

var _ engine.ExposingRes = (*res)(nil)

// Confiner says of a thing, from what is wanted of it, that only some users of the machine
// may read it: its values are shown as digests. A provider that is none is asked for the
// files of the thing, if it is a Locator: one that shuts other users out says the same.
type Confiner interface {
	Confined(wanted Record) bool
}

// confined reports whether the values of a thing are not for all users.
func confined(p Provider, wanted Record) bool {
	if c, ok := As[Confiner](p); ok && c.Confined(wanted.Clone()) {
		return true
	}
	l, ok := As[Locator](p)
	return ok && slices.ContainsFunc(l.Files(wanted.Clone()), func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 == 0
	})
}

// confine returns a change of a thing without what is not for all users.
func (j *job) confine(p Provider, ch engine.Change) engine.Change {
	if slices.Contains(j.secrets(), ch.Field) {
		ch.From, ch.To = hushed(ch.From), hushed(ch.To)
		return ch
	}
	from, isText := ch.From.(string)
	to, willBe := ch.To.(string)
	if (isText || willBe) && confined(p, j.should) {
		ch.From, ch.To = j.closed(ch.From, from), j.closed(ch.To, to)
	}
	return ch
}

// hushed hides a value.
func hushed(v any) any {
	if v == nil {
		return nil
	}
	return schema.NewSecret(schema.Redacted)
}

// closed hides a text, and remembers it.
func (j *job) closed(v any, text string) any {
	if text == "" {
		return v
	}
	j.hidden = append(j.hidden, text)
	return schema.NewConfined(text)
}

// secrets are the attributes that were received from a secret, or are marked as one.
func (j *job) secrets() []string {
	if j.res == nil || j.init == nil || j.init.Recv == nil {
		return nil
	}
	var list []string
	for key, s := range j.init.Recv() {
		if s.Secret {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// IsSecret reports, in InSync, whether the value of an attribute was received from a secret
// or is marked as one, though the attribute is not sensitive.
func (rt *Runtime) IsSecret(attribute string) bool { return slices.Contains(rt.secret, attribute) }

// Exposes implements engine.ExposingRes: what is set of a thing that is in a file is there.
func (r *res) Exposes(params []string) (string, schema.Mode) {
	if len(params) == 0 {
		return "", ""
	}
	w, err := r.kind.asked(r)
	if err != nil {
		return "", ""
	}
	if l, ok := As[Locator](r.kind.make()); ok {
		for _, path := range l.Files(w.record.Clone()) {
			return path, ""
		}
	}
	return "", ""
}
