package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Res is a resource. Its methods other than Watch, CheckApply and Readable.Read
// are never called concurrently; Watch runs at the same time as CheckApply.
type Res interface {
	fmt.Stringer // kind[name]

	// Kind and Name identify the resource in a graph. They are set by the engine
	// right after construction; kinds are lower case.
	Kind() string
	SetKind(string)
	Name() string
	SetName(string)

	// MetaParams returns the metaparameters, never nil. They may be altered
	// until Init.
	MetaParams() *MetaParams
	SetMetaParams(*MetaParams)

	// Default returns a new resource of the same kind with the values that
	// absent parameters have. It need not set zero values, nor kind and name.
	Default() Res

	// Validate says what is wrong with the parameters, all of it at once if it
	// can (errors.Join). It has no access to the outside. It is called before
	// Init, and again after received values were assigned.
	Validate() error

	// Init keeps the handle and prepares. It should be quick and alter nothing
	// outside the resource.
	Init(*Init) error

	// Cleanup releases what Init acquired. It is called once for each successful
	// Init, after Watch and CheckApply have ended.
	Cleanup() error

	// Watch tells of possible changes until the context ends, and then returns
	// nil or the context's error. See Init.Running and Init.Event.
	Watch(ctx context.Context) error

	// CheckApply looks, and if apply is true, makes it right. See the laws in
	// the package comment.
	CheckApply(ctx context.Context, apply bool) (checkOK bool, err error)

	// Cmp returns nil if the other resource, of the same kind and name, wants
	// the same, so that this one may go on in its place; else an error that
	// names a difference. CmpFields does it for most kinds. The engine itself
	// compares kind, name, metaparameters and wiring. The other one may not have
	// been validated yet: then it is, if it is not the same.
	Cmp(Res) error
}

// Unknown stands for a value that can't be told yet, in Change.To.
var Unknown unknown

type unknown struct{}

func (unknown) String() string               { return "(unknown)" }
func (unknown) MarshalText() ([]byte, error) { return []byte("(unknown)"), nil }

// Verb says what a Change does to the thing, where the values alone do not.
type Verb string

// The verbs of a Change.
const (
	Updated   Verb = "" // the field goes from From to To
	Created   Verb = "created"
	Deleted   Verb = "deleted"
	Refreshed Verb = "refreshed" // nothing differed; a notification was acted on
	Ran       Verb = "ran"       // a command or another action without a state of its own
)

// Change is one difference between how a thing is and how it is wanted. It is
// given to Init.Change before anything is altered. After a Change that says Created
// there is one of each value that the thing is created with; see MadeWith.
type Change struct {
	Field    string // path of the parameter, as in the graph; empty for the thing as a whole
	From, To any    // values as schema.Encode gives them; Secret where they must not be shown, Confined where not all may; To may be Unknown. With Refreshed, To may say in words how
	Verb     Verb

	// Print tells what was found from other things that From calls by the same word, such as the files of one name
	// that are removed: a resource that always meets the same one flaps. Any text will do; it is
	// never shown nor kept.
	Print string
}

// String returns a short text on one line. Of long values there is a part of it, the
// one in which they differ.
func (c Change) String() string {
	switch {
	case c.Field == "" && c.Verb != Updated:
		if how, ok := c.To.(string); ok && how != "" {
			return fmt.Sprintf("%s: %s", c.Verb, short([]rune(how), 0))
		}
		return string(c.Verb)
	case c.Verb != Updated:
		return fmt.Sprintf("%s %s", c.Field, c.Verb)
	default:
		from, to := []rune(word(c.From)), []rune(word(c.To))
		skip := alike(from, to)
		return fmt.Sprintf("%s: %s -> %s", c.Field, short(from, skip), short(to, skip))
	}
}

// word is a value as a Change shows it.
func word(v any) string {
	switch s, ok := v.(string); {
	case v == nil:
		return "(none)"
	case ok:
		return strconv.Quote(s)
	default:
		return fmt.Sprint(v)
	}
}

const (
	shortLen = 60 // of a value that is shown
	leadLen  = 20 // of what is alike, before the first difference
)

// alike returns how much of the beginning of two values need not be shown: so much
// that their first difference is.
func alike(a, b []rune) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n <= shortLen/2 || len(a) <= shortLen && len(b) <= shortLen {
		return 0
	}
	return n - leadLen
}

// short returns a part of a long value, without its beginning.
func short(r []rune, skip int) string {
	if len(r) <= shortLen {
		return string(r)
	}
	part, size := r[skip:], len(string(r))
	before, after := "", ""
	if skip > 0 {
		before = "..."
	}
	if len(part) > shortLen {
		part, after = part[:shortLen], "..."
	}
	return fmt.Sprintf("%s%s%s (%d bytes)", before, string(part), after, size)
}

// otherType is the type of b, which is that of a where both are of one.
func otherType(a, b Res, t *schema.Type) (*schema.Type, error) {
	if schema.KeyOf(a) == schema.KeyOf(b) {
		return t, nil
	}
	return schema.TypeOf(b)
}

// CmpFields compares the parameters of two resources of one kind by their
// schema, and returns an error that names the first parameter that differs, or nil. It is
// the Cmp of most kinds.
func CmpFields(a, b Res) error {
	if a.Kind() != b.Kind() {
		return fmt.Errorf("not a %s but a %s", a.Kind(), b.Kind())
	}
	t, err := schema.TypeOf(a)
	if err != nil {
		return err
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return fmt.Errorf("a %T is not a %T", b, a)
	}
	if other, err := otherType(a, b, t); err != nil || !t.Equal(other) {
		return fmt.Errorf("the type %s is another one", a.Kind())
	}
	for f := range schema.Differing(t, a, b) {
		switch {
		case f == nil:
			return errors.New("they differ")
		case f.Role != schema.RoleReadOnly:
			return errors.New(f.Key + " differs")
		}
	}
	return nil
}

// MetaLender is a Res that may borrow the metaparameters of other resources. LendMetaParams lends it some before Init,
// which are never altered: MetaParams then returns a copy, which is its own from there on. LentMetaParams returns the
// borrowed ones, nil where it has its own. ShareMetaParams gives it equal ones from Init on, which stay as they are.
// A Res that embeds traits.Base is one.
type MetaLender interface {
	ShareMetaParams(*MetaParams)
	LendMetaParams(*MetaParams)
	LentMetaParams() *MetaParams
}

// MetaOf returns the metaparameters of a resource for reading, at no cost where they are borrowed.
func MetaOf(r Res) *MetaParams {
	if l, ok := r.(MetaLender); ok {
		if m := l.LentMetaParams(); m != nil {
			return m
		}
	}
	return r.MetaParams()
}

// lends returns the default metaparameters of a new resource, if others may be lent to such a one; else nil. A kind with a
// MetaParams of its own may do something else with them.
func lends(r Res) *MetaParams {
	l, ok := r.(MetaLender)
	if !ok {
		return nil
	}
	defaults := *r.MetaParams()
	probe := &MetaParams{Backend: "probe"}
	l.LendMetaParams(probe)
	if own := l.LentMetaParams(); own != probe {
		return nil
	}
	if own := r.MetaParams(); own == nil || own == probe || !own.Equal(probe) || r.MetaParams() != own {
		return nil
	}
	return &defaults
}
