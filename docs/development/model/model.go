package model

// N is the number of vertices.
const N = 3

// Set is a set of vertices, a bit for each.
type Set uint8

// Has reports whether v is in the set.
func (s Set) Has(v int) bool { return s>>v&1 == 1 }

func only(v int) Set { return 1 << v }

// Value is the state of a thing in the world. No graph wants 0.
type Value uint8

// Graph is what is declared.
type Graph struct {
	Want   [N]Value // 0 where the vertex is not in the graph
	Above  [N]Set   // the vertices one step above each
	Notify [N]Set   // the vertices that a change of each refreshes; they are below it
}

func (g *Graph) has(v int) bool { return g.Want[v] != 0 }

// above returns all ancestors of v, near and far.
func (g *Graph) above(v int) Set {
	all := g.Above[v]
	for range N { // so often that the farthest are found
		for w := range N {
			if all.Has(w) {
				all |= g.Above[w]
			}
		}
	}
	return all
}

// Records are records of the journal, a bit for each.
type Records uint64

// Flights is how many writes may be under way at once.
const Flights = 2

// numbers is how many refreshes of one source may be there for one target, from the one that a run acts on to the latest.
const numbers = 4

// intent is the record that a run of v is about to change something.
func intent(v int) Records { return 1 << v }

// refreshes are the records of all refreshes that v owes to a source, and ofTarget are those that it owes to any.
func refreshes(v, source int) Records { return (1<<numbers - 1) << (N + numbers*(N*v+source)) }

func ofTarget(v int) (all Records) {
	for source := range N {
		all |= refreshes(v, source)
	}
	return all
}

// Writes are records to put and to delete.
type Writes struct{ Put, Del Records }

// then returns the writes followed by later ones, which take the place of those of the same records.
func (w Writes) then(later Writes) Writes {
	return Writes{w.Put&^later.Del | later.Put, w.Del&^later.Put | later.Del}
}

// without returns the writes but those of the records of others.
func (w Writes) without(o Writes) Writes {
	return Writes{w.Put &^ (o.Put | o.Del), w.Del &^ (o.Put | o.Del)}
}

// Phase is how far a run is.
type Phase uint8

// The phases, in their order.
const (
	Idle     Phase = iota
	Started        // the vertex was chosen
	Wanting        // CheckApply(false) wants a change
	Right          // CheckApply(false) wants none
	Intended       // the intent is in the journal
	Applied        // CheckApply(true) has returned
	Finished       // its end is in the journal, or noted
	Broken         // it has failed
	Leaving        // it is over, and its vertex has left: Cleanup runs
)

// Run is a run of a vertex.
type Run struct {
	Phase   Phase
	Old     bool  // by now another vertex has the name, or none
	Want    Value // of its vertex
	Changed bool
	Targets Set     // the vertices that its change refreshes, by the graph in which it began
	Acts    Records // the refreshes that it acts on
	Stale   Records // the refreshes of the targets that those of its change replace
	Owes    Records // those of its change

	Promised Records // the refreshes of targets that a graph has brought meanwhile
	May      bool    // it has failed, and may have changed something
}

// Vertex is what the process knows of a name.
type Vertex struct {
	Heard  bool // its Watch has said Running
	News   bool // its Watch has said Event, and the loop has not taken that yet
	Dirty  bool
	Again  bool // it gets dirty at the end of its run
	Failed bool
	Intent bool // an apply was begun, and none has succeeded since
	Run    Run
}

// State is a state of the process, of the journal and of the world.
type State struct {
	Graph   int8 // which one is in effect; -1 while no process runs
	V       [N]Vertex
	Due     Records         // the refreshes that wait for the success of their targets
	Notes   Writes          // are written a little later
	Flights [Flights]Writes // notes that are being written, alone or together with what a run waits for
	Journal Records
	World   [N]Value

	// Only the laws ask for these. Owed are the sources whose change a vertex has not acted on; Taken are those of
	// them whose change came before its run. Late are the refreshes, promised during a run, of changes of that run. A crash
	// loses those that are not written yet.
	Owed, Taken [N]Set
	Late        Records
}

// commit has the journal written, together with a flight, or without one: -1. Another flight of the same records goes with it, as if it
// had arrived before. So do all notes, where one of them says the opposite of what it replaces.
func (s *State) commit(w Writes, flight int) {
	if s.Notes.Put&w.Del|s.Notes.Del&w.Put != 0 {
		w, s.Notes = s.Notes.then(w), Writes{}
	}
	for i, f := range s.Flights {
		if i == flight || f != f.without(w) {
			s.Flights[i], w = Writes{}, f.then(w)
		}
	}
	s.Journal = s.Journal&^w.Del | w.Put
	s.note(Writes{})
}

// flying returns the records that flights put.
func (s *State) flying() Records { return s.Flights[0].Put | s.Flights[Flights-1].Put }

// note has the journal written a little later. To delete what cannot be there would be another state without a difference.
func (s *State) note(w Writes) {
	s.Notes = s.Notes.then(w)
	s.Notes.Del &= s.Journal | s.flying()
}

// number returns a record of a refresh that is not in use.
func (s *State) number(v, source int) Records {
	used := s.Due | s.Journal | s.Notes.Put | s.Notes.Del | s.flying()
	for i := range s.V {
		used |= s.V[i].Run.Acts | s.V[i].Run.Stale | s.V[i].Run.Owes | s.V[i].Run.Promised
	}
	free := refreshes(v, source) &^ used
	if free == 0 {
		panic("model: numbers is too low")
	}
	return free & -free
}

// ask has a vertex looked at again. It says nothing new before the Watch has said Running, and while a retry will come.
func (x *Vertex) ask() {
	free := x.Heard && !x.Failed
	x.Dirty = x.Dirty || free && x.Run.Phase == Idle
	x.Again = x.Again || free && x.Run.Phase != Idle
}

// over ends a run, with the next state of its vertex if that has not left.
func (x *Vertex) over(dirty, failed bool) {
	if x.Run.Old {
		x.Run = Run{Phase: Leaving, Old: true}
		return
	}
	x.Dirty, x.Failed, x.Again, x.Run = dirty, failed, false, Run{}
}
