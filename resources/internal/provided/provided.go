package provided

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// Register registers a kind that is made of a definition when it is first
// asked for: most programs use few of them.
func Register(name string, make func() (*provider.Kind, error)) {
	kind := sync.OnceValue(func() *provider.Kind {
		k, err := make()
		if err != nil {
			panic(err) // a mistake in the definition, found by any test
		}
		return k
	})
	engine.RegisterResource(name, func() engine.Res { return kind().New() })
}

// The words that many definitions have.
const (
	Present    = "present"
	Absent     = "absent"
	EnsureType = "Enum[present, absent]"
)

// Str returns the text that a record holds; nothing where there is none.
func Str(r provider.Record, key string) string {
	s, _ := r[key].(string)
	return s
}

// Strs returns the texts that a record holds.
func Strs(r provider.Record, key string) []string {
	switch v := r[key].(type) {
	case []string:
		return slices.Clone(v)
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return nil
}

// Array is texts as a record has them.
func Array(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// Manages reports whether a record has a value for an attribute.
func Manages(r provider.Record, key string) bool { return r[key] != nil }

// Reveal returns the text of a value that may be wrapped because it is a secret.
func Reveal(v any) string {
	switch v := puppettype.Plain(v).(type) {
	case schema.Secret:
		return v.Reveal()
	case string:
		return v
	}
	return ""
}

// Common is what all records of one thing agree in: an attribute in which two of them
// differ has no value. So a thing that stands twice in a file, in two ways, is not as
// a caller wants it.
func Common(records []provider.Record) provider.Record {
	first := records[0]
	for _, r := range records[1:] {
		for key, v := range r {
			if !schema.Equal(first[key], v) {
				first[key] = nil
			}
		}
	}
	return first
}

// Groups sorts changes by a key, in the order in which the keys come first.
func Groups[K comparable](changes []provider.Change, by func(provider.Change) K) iter.Seq2[K, []provider.Change] {
	var order []K
	sorted := map[K][]provider.Change{}
	for _, c := range changes {
		key := by(c)
		if sorted[key] == nil {
			order = append(order, key)
		}
		sorted[key] = append(sorted[key], c)
	}
	return func(yield func(K, []provider.Change) bool) {
		for _, key := range order {
			if !yield(key, sorted[key]) {
				return
			}
		}
	}
}

// Refusals are the changes that could not be made, by title. Those of the others are
// made all the same.
type Refusals map[string]error

// Try makes one change.
func (r Refusals) Try(c provider.Change, make func() error) {
	if err := make(); err != nil {
		r[c.Title] = err
	}
}

// Tell says what has become of each change: err is what has kept all of them from
// being made.
func (r Refusals) Tell(log *provider.Logger, changes []provider.Change, err error) {
	for _, c := range changes {
		why := r[c.Title]
		if why == nil {
			why = err
		}
		switch {
		case why != nil:
			log.FailedBy(c.Title, why)
		case c.Should["ensure"] == Absent:
			log.Deleted(c.Title)
		case c.Is.Presence == provider.Absent:
			log.Created(c.Title)
		default:
			log.Updated(c.Title)
		}
	}
}

// EditAll makes changes in one text. parse gives the value that make changes, and the function that
// writes it.
func EditAll[F fmt.Stringer](log *provider.Logger, t textfile.File, err error, changes []provider.Change, parse func(string) F, make func(F, provider.Change) error) {
	refused := Refusals{}
	if err == nil {
		err = t.Edit(func(old string) (string, error) {
			clear(refused)
			f := parse(old)
			for _, c := range changes {
				refused.Try(c, func() error { return make(f, c) })
			}
			return f.String(), nil
		})
	}
	refused.Tell(log, changes, err)
}

// Elsewhere is a path, if there is one.
func Elsewhere(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path}
}

// WatchPaths is the Watch of a provider whose things are mostly in these places: things elsewhere
// are looked at each time that every is over.
func WatchPaths(ctx context.Context, rt *provider.Runtime, paths []string, o events.Options, every time.Duration, armed func(), changed func(...provider.Name)) error {
	sub, err := rt.Host.Watch(ctx, paths, o)
	if err != nil {
		return err
	}
	defer sub.Close()
	armed()
	tick := clock.NewTicker(engine.ClockOf(rt.Host), every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sub.C():
		case <-tick.C:
		}
		changed()
	}
}
