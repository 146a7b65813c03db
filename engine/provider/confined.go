package provider

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

var _ declaration.Exposing = (*res)(nil)

// Confiner says of an attribute of a thing, from its wanted values, that only some users of the
// machine may read it. Its values are shown as digests. If the provider does not implement it, or
// says no, it is asked for the files of the thing, if it is a Locator or a FileSearcher. A file that shuts other users
// out says the same of all attributes.
type Confiner interface {
	Confined(wanted Record, attribute string) bool
}

// confined reports whether the values of an attribute are not for all users.
func confined(by safepath.Walker, p Provider, wanted Record, attribute string) bool {
	if c, ok := p.(Confiner); ok && c.Confined(wanted.Clone(), attribute) {
		return true
	}
	files := filesOf(p)
	return files != nil && slices.ContainsFunc(files(wanted), func(path string) bool {
		st, err := by.Behind(path)
		return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o004 == 0
	})
}

// confine returns a change of a thing without the values that are not for all
// users.
func (j *job) confine(p Provider, ch engine.Change) engine.Change {
	if slices.Contains(j.secrets(), ch.Field) {
		ch.From, ch.To = hushed(ch.From), hushed(ch.To)
		return ch
	}
	if (len(textsOf(ch.From)) > 0 || len(textsOf(ch.To)) > 0) && confined(safepath.Of(j.init.Host), p, j.should, ch.Field) {
		ch.From, ch.To = j.closed(ch.From), j.closed(ch.To)
	}
	return ch
}

// textsOf returns the texts of a value that is a text, or a list with texts.
func textsOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			list = []string{v}
		}
	case []any:
		for _, e := range v {
			list = append(list, textsOf(e)...)
		}
	}
	return list
}

// hushed hides a value.
func hushed(v any) any {
	if v == nil {
		return nil
	}
	return schema.NewSecret(schema.Redacted)
}

// closed hides a value with texts, and remembers them.
func (j *job) closed(v any) any {
	list := textsOf(v)
	if len(list) == 0 {
		return v
	}
	j.hidden = append(j.hidden, list...)
	return schema.NewConfined(strings.Join(list, "\n"))
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

// Exposes implements declaration.Exposing: the values of a thing in a file are there.
func (r *res) Exposes(params []string) (string, schema.Mode) {
	if len(params) == 0 {
		return "", ""
	}
	w, err := r.kind.asked(r)
	if err != nil {
		return "", ""
	}
	if l, ok := r.kind.make().(Locator); ok {
		for _, path := range l.Files(w.record.Clone()) {
			return path, ""
		}
	}
	return "", ""
}
