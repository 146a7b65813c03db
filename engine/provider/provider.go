package provider

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Provider reads and changes the things of one type. An object of it lives for one
// transaction; its methods are never called at the same time, and none of them
// blocks longer than the context lives.
type Provider interface {
	// Get yields the existing things: all that the filter asks for, and perhaps more.
	// A wanted thing that Get does not yield is absent. A yielded error without a
	// record ends it, and makes the type unavailable; one with a record that has the
	// namevars fails the resources of that name alone.
	Get(ctx context.Context, rt *Runtime, f Filter) iter.Seq2[Record, error]
	// Set brings the things about, in the order that it likes, and says by rt.Log
	// the outcome of each. The error is about the things without an outcome so far.
	Set(ctx context.Context, rt *Runtime, changes []Change) error
}

// Filter says which things Get is asked for. Without SimpleGetFilter it is always All.
type Filter struct {
	All   bool
	Names []Name

	set map[Name]struct{} // of Names, where there are many; nil otherwise
}

const fewNames = 8 // so many are searched one by one

// Only returns a filter that asks for the names.
func Only(names ...Name) Filter {
	f := Filter{Names: names}
	if len(names) > fewNames {
		f.set = make(map[Name]struct{}, len(names))
		for _, n := range names {
			f.set[n] = struct{}{}
		}
	}
	return f
}

// Has reports whether the filter asks for the name.
func (f Filter) Has(n Name) bool {
	if f.set != nil {
		_, ok := f.set[n]
		return ok
	}
	return f.All || slices.Contains(f.Names, n)
}

// Record is what is known of a thing, or wanted of it: values by attribute, as
// package puppettype has them. A missing key is an attribute that is not known, or
// not managed; nil is undef.
type Record map[string]any

// Clone returns a copy that shares nothing with r.
func (r Record) Clone() Record {
	c := maps.Clone(r)
	for k, v := range c {
		c[k] = clone(v)
	}
	return c
}

// Name is the identity of a thing: the values of its namevars in the order of the
// definition. It is comparable.
type Name struct{ parts string }

const nameSep = "\x00"

// NameOf returns the name with these values.
func NameOf(values ...string) Name { return Name{strings.Join(values, nameSep)} }

// Values returns the values of the namevars.
func (n Name) Values() []string { return strings.Split(n.parts, nameSep) }

// String returns the value of the only namevar, or the values with slashes between.
func (n Name) String() string { return strings.ReplaceAll(n.parts, nameSep, "/") }

// Presence says what is known of a thing.
type Presence uint8

// The presences.
const (
	Unknown Presence = iota // it was not read since it was changed
	Absent
	Known
)

// State is what a thing is.
type State struct {
	Presence Presence
	Record   Record // where Known
}

// Change asks for one thing. Its content belongs to the provider.
type Change struct {
	Title  string // of the resource, for rt.Log
	Name   Name
	Is     State
	Should Record // what is managed, with parameters and namevars
	Noop   bool   // alter nothing, say what would be done

	// Secret are the attributes of Should that were received from a secret or are marked
	// as one, though they are not sensitive.
	Secret []string
}

// Canonicalizer brings values into the one form in which Get returns them; feature
// canonicalize. It returns as many records as it gets, in their order; it may alter
// its input.
type Canonicalizer interface {
	Canonicalize(ctx context.Context, rt *Runtime, records []Record) ([]Record, error)
}

// Finder reads one thing where they can't all be listed; feature find. Get is then
// never called.
type Finder interface {
	Find(ctx context.Context, rt *Runtime, name Name) (Record, bool, error)
}

// Answer is what an InSyncer says.
type Answer uint8

// The answers.
const (
	Default   Answer = iota // compare them as usual
	InSync                  // they mean the same
	OutOfSync               // they don't
)

// InSyncer compares values of an attribute of a thing that exists; feature
// custom_insync. The text says what differs, for OutOfSync; it may be empty. Of a type
// without properties it compares the whole thing; the attribute is empty then.
type InSyncer interface {
	InSync(ctx context.Context, rt *Runtime, name Name, attribute string, is, should Record) (Answer, string, error)
}

// Refresher acts on notifications; feature refresh.
type Refresher interface {
	Refresh(ctx context.Context, rt *Runtime, changes []Change) error
}

// Watcher tells of changes as they happen. It runs on an object of its own, at the same time as all
// other calls, until the context ends. armed is called once, when no change goes
// unseen any more. changed is called with the names that may have changed, without any for
// all; it never blocks.
type Watcher interface {
	Watch(ctx context.Context, rt *Runtime, armed func(), changed func(...Name)) error
}

// Locator says in which files a thing is, from its wanted values. A change of one of
// them is seen at once, in addition to the changes that Watch or the poll see. It only
// computes, since it is asked when a graph is loaded, too. It is called at the same time as all other calls, on an object of its own.
// Paths are absolute.
type Locator interface {
	Files(wanted Record) []string
}

// FileSearcher says in which files a thing is where that needs a look at the machine, such as for the home of a user. It is
// asked in addition to Locator, and only while the graph runs.
type FileSearcher interface {
	SearchFiles(wanted Record) []string
}

// filesOf returns what says in which files a thing is while the graph runs; nil for a provider of things in no files.
func filesOf(p Provider) func(wanted Record) []string {
	l, locates := p.(Locator)
	s, searches := p.(FileSearcher)
	if !locates && !searches {
		return nil
	}
	return func(wanted Record) (paths []string) {
		if locates {
			paths = l.Files(wanted.Clone())
		}
		if searches {
			paths = append(slices.Clip(paths), s.SearchFiles(wanted.Clone())...)
		}
		return paths
	}
}

// Stamper gives a text that is another one after each change, and is cheap: where a
// poll finds the same one again it does not Get.
type Stamper interface {
	Stamp(ctx context.Context, rt *Runtime) (string, error)
}

// Closer is closed at the end of its transaction.
type Closer interface{ Close() error }

// Interval is a time between two polls.
type Interval = time.Duration

// DefaultPoll is how often things are read where neither the definition nor the
// provider says better.
const DefaultPoll Interval = time.Minute
