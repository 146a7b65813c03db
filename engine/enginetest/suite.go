package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/await"
)

// Suite says how to make resources of one kind, and the possible changes of their
// things. Run checks that the kind keeps the laws of package engine.
//
// Everything outside the resource lies below dir, a fresh folder for each
// resource; its VarDir is dir/../var. The functions are given the test that
// runs, and may fail it.
type Suite struct {
	// Kind is the kind, as registered.
	Kind string
	// Registry knows the kind; engine.DefaultRegistry() when nil.
	Registry *engine.Registry

	// New makes a resource that wants something below dir that is not true yet.
	// It has to make equal ones of equal dirs. Kind, and name if it is empty,
	// are set by the suite.
	New func(t *testing.T, dir string) engine.Res
	// Prepare makes the world before New. Optional.
	Prepare func(t *testing.T, dir string)
	// Setup prepares the fake that each resource gets: commands of its FakeHost,
	// received values, the World. Optional. The Shared of an engine.SharedRes is opened
	// with that host as the engine does it, unless Setup has given one to the fake.
	Setup func(t *testing.T, dir string, f *Fake)
	// Drifts are the ways in which the outside may break the applied state:
	// CheckApply must repair each, and Watch must see each. At least one, unless
	// NoState.
	Drifts map[string]func(t *testing.T, dir string)
	// Variants change the resource of New so that it wants something else: Cmp
	// must tell each of them from the others. Optional; that it tells each
	// parameter apart is checked anyway.
	Variants map[string]func(r engine.Res)

	// CmpIgnores are the keys of the parameters that Cmp need not compare.
	CmpIgnores []string
	// ReadIgnores are the keys of the parameters that Read need not show,
	// in addition to the ones that their role excludes.
	ReadIgnores []string
	// Received are the keys of plain parameters into which a secret may be
	// received: their values must not be logged then. Parameters of type
	// Secret are found by the suite.
	Received []string

	// NoState is set for a kind that has nothing to be wrong or right, such as noop or
	// print. It may always or never find something to do.
	NoState bool
	// Undocumented allows parameters without a doc text, as of a kind in a
	// test.
	Undocumented bool

	// Host makes the Host for one law; its Cleanup functions of the given TB run
	// before remains are counted. A new FakeHost when nil: then the suite touches
	// the paths that a drift altered.
	Host func(t testing.TB) engine.Host
	// Snapshot describes what is below dir, in full. Snapshot of this package
	// when nil.
	Snapshot func(t testing.TB, dir string) Tree

	// Timeout is how long anything may take that has to come soon: Running, an
	// event, the end of a Watch. What the test binary has left of its time when 0.
	Timeout time.Duration
}

// law is one check of the suite. The error says how the law is broken. A test of the
// suite runs one law and looks at its error.
type law struct {
	name  string
	check func(*env) error
}

// laws are in the order of the life of a resource. They do not depend on each other.
var laws = []law{
	{"suite", lawSuite},
	{"metadata", lawMetadata},
	{"default", lawDefault},
	{"decode", lawDecode},
	{"validate", lawValidate},
	{"cmp", lawCmp},
	{"uids", lawUIDs},
	{"init", lawInit},
	{"parameters", lawParameters},
	{"noop", lawNoop},
	{"apply", lawApply},
	{"announce", lawAnnounce},
	{"read", lawRead},
	{"reverse", lawReverse},
	{"repair", lawRepair},
	{"refresh", lawRefresh},
	{"send", lawSend},
	{"batch", lawBatch},
	{"cancelled", lawCancelled},
	{"unwatched", lawUnwatched},
	{"watch", lawWatch},
	{"armed", lawArmed},
	{"flood", lawFlood},
	{"restart", lawRestart},
	{"cancel", lawCancel},
	{"overlap", lawOverlap},
	{"secret", lawSecret},
}

// Run checks every law as a subtest of its own name. A law that fails does not keep the
// others from running.
func Run(t *testing.T, s Suite) {
	t.Helper()
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			if err := l.run(t, s); err != nil {
				t.Error(err)
			}
		})
	}
}

// run checks one law, ends everything that the check began, and looks for remains. The
// count of remains comes last, after the cleanups have run.
func (l law) run(t *testing.T, s Suite) error {
	if s.Registry == nil {
		s.Registry = engine.DefaultRegistry()
	}
	if s.Snapshot == nil {
		s.Snapshot = Snapshot
	}
	if s.Timeout == 0 {
		s.Timeout = await.Left()
	}
	before := countRemains()
	e := &env{Suite: s, t: t, scope: &scope{TB: t}}
	err := guard("the law", func() error { return l.check(e) })
	e.scope.close()
	return errors.Join(err, e.scope.err(), before.check(s.Timeout))
}

// lawSuite: the suite itself is complete.
func lawSuite(e *env) error {
	switch {
	case e.Kind == "" || e.New == nil:
		return errors.New("the suite needs Kind and New")
	case !e.NoState && len(e.Drifts) == 0:
		return errors.New("the suite has no drifts: name what can go wrong outside, or set NoState")
	}
	return nil
}
