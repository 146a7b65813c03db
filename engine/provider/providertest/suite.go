package providertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/internal/await"
)

// Values are those of a resource, by attribute, as a graph has them: text, numbers,
// lists, maps, schema.Secret. An attribute without a value has its default, or is not
// managed.
type Values map[string]any

// Thing is what a resource asks for. Title is the name of the resource in the graph,
// and has the namevars in it where Values do not.
type Thing struct {
	Title  string
	Values Values
}

// Suite says how to make providers of one type, and their abilities. All but
// the first three fields may be left out.
type Suite struct {
	// Definition is the type of the things. Its features say which laws there are to
	// keep.
	Definition provider.Definition

	// New makes a world below dir, a fresh folder, and returns the constructor of the
	// providers of that world. It is called once for each world. The constructor is
	// called often, and from any goroutine.
	New func(t *testing.T, dir string) func() provider.Provider

	// Thing is a thing that is not there in the world of New, and can be made. The more
	// attributes it has values for, the more is checked. Calls with one dir must return
	// equal things.
	Thing func(dir string) Thing

	// Others are more things that are not there and can be made.
	Others func(dir string) []Thing
	// Updates are values that Thing can be given after it was made, in place of its
	// own.
	Updates map[string]Values
	// Invalid are values, in place of Thing's own, that are refused: by the type, by
	// Canonicalize, or by Set, which then alters nothing. An attribute that the type
	// does not have is invalid, too.
	Invalid map[string]Values
	// Drifts are the ways in which the outside may change Thing after it was made. An
	// error of a law names its drift. Without drifts NoState is set in the suite of the
	// kind.
	Drifts map[string]func(t *testing.T, dir string)

	// Commands answers the commands of a world, which have no other machine. If it is
	// nil there are none. The returned function may be called by several goroutines at
	// a time.
	Commands func(t *testing.T, dir string) func(context.Context, engine.Command) (*engine.Result, error)
	// Host makes a real machine instead, for one law; its Cleanup functions of the
	// given TB run before remains are counted.
	Host func(t testing.TB) engine.Host

	// Engine alters the suite of the kind before it runs, say to set ReadIgnores. It is
	// called after all other fields have been used.
	Engine func(s *enginetest.Suite)

	// Timeout is how long anything may take that has to come soon;
	// What the test binary has left of its time when 0.
	Timeout time.Duration
}

// law is one check of the suite. The error says how the law is broken.
type law struct {
	name  string
	check func(*env) error
}

// laws are first about reading, then about Set, and last about the life of an object. A
// law that fails does not keep the others from running.
var laws = []law{
	{"suite", lawSuite},
	{"empty", lawEmpty},
	{"records", lawRecords},
	{"stops", lawStops},
	{"filter", lawFilter},
	{"find", lawFind},
	{"canonicalize", lawCanonicalize},
	{"create", lawCreate},
	{"update", lawUpdate},
	{"delete", lawDelete},
	{"unknown", lawUnknown},
	{"foreign", lawForeign},
	{"batch", lawBatch},
	{"partial", lawPartial},
	{"invalid", lawInvalid},
	{"input", lawInput},
	{"noop", lawNoop},
	{"second", lawSecond},
	{"cancelled", lawCancelled},
	{"secret", lawSecret},
	{"refresh", lawRefresh},
	{"watch", lawWatch},
	{"stamp", lawStamp},
	{"close", lawClose},
}

// Run checks every law as a subtest of its own name. Then, as the subtest kind, it
// checks the laws of package enginetest on the kind that is made of the provider.
func Run(t *testing.T, s Suite) {
	t.Helper()
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			if err := l.run(t, s); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("kind", func(t *testing.T) { enginetest.Run(t, s.kind(t)) })
}

// run checks one law, in worlds of its own. The Cleanup functions of its worlds run at
// the end of the subtest.
func (l law) run(t *testing.T, s Suite) error {
	if s.Timeout == 0 {
		s.Timeout = await.Left()
	}
	e := &env{Suite: s, t: t}
	return guard(func() error { return l.check(e) })
}

// guard calls f and turns a panic into an error.
func guard(f func() error) error {
	err := callsafe.Do("a call", f)
	if p, ok := err.(*callsafe.PanicError); ok {
		return p.Traced()
	}
	return err
}

// lawSuite: the suite is complete, and the definition can be used.
func lawSuite(e *env) error {
	if e.New == nil || e.Thing == nil {
		return errors.New("the suite needs Definition, New and Thing")
	}
	w, err := e.world()
	if err != nil {
		return err
	}
	_, err = w.wanted(e.Thing(w.dir))
	return err
}
