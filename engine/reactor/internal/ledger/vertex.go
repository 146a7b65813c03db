package ledger

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/records"
)

// Vertex is the ledger of one vertex. The zero value is nothing.
type Vertex struct {
	pending pendings // refreshes that wait for its success
	retries int32    // since it was well
	intent  bool     // an apply was begun and did not succeed since: it counts as a change
}

// Run is what one run acts on, and whom its change refreshes.
type Run struct {
	acts     []Pending
	owes     []Refresh
	promised map[string]Refresh // to targets that came while it went on; of the loop
}

// Refresh is a refresh that a run has written down for a target. It replaces those of the same source
// that wait.
type Refresh struct {
	Target  string
	pending Pending
	stale   []Pending
}

// Pending returns the refreshes that wait for the success of the vertex, sorted.
func (v *Vertex) Pending() []Pending { return v.pending.all() }

// IsRefreshed reports whether a refresh waits for the success of the vertex.
func (v *Vertex) IsRefreshed() bool { return len(v.pending) > 0 }

// Begin begins a run of the vertex with an id, which acts on all that is pending. Its change
// refreshes n targets.
func (v *Vertex) Begin(id string, n int, target func(i int) (id string, of *Vertex)) Run {
	r := Run{acts: v.pending.all()}
	if n == 0 {
		return r
	}
	r.owes = make([]Refresh, n)
	for i := range r.owes {
		to, of := target(i)
		r.owes[i] = Refresh{Target: to, stale: of.pending.from(id)}
	}
	return r
}

// Notifies reports whether a change of the run refreshes a target.
func (r *Run) Notifies() bool { return len(r.owes) > 0 }

// Intend adds the intent of a run that is about to change something, if that is not durable yet.
func (v *Vertex) Intend(id string, r *Run, writes []records.Write) []records.Write {
	if !r.Notifies() || v.intent {
		return writes
	}
	return append(writes, records.Write{Table: TableIntent, Key: id, Value: []byte{1}})
}

// Intended says that the writes of Intend are durable.
func (v *Vertex) Intended(r *Run) { v.intent = v.intent || r.Notifies() }

// Clear adds the ends of the refreshes that a run which did not fail has acted on.
func (r *Run) Clear(id string, writes []records.Write) []records.Write {
	for _, p := range r.acts {
		writes = append(writes, p.over(id))
	}
	return writes
}

// Owe turns the intent into a pending refresh for each target, when a run did not fail. It takes the
// place of the earlier ones of that source.
func (v *Vertex) Owe(id string, r *Run, b *Book, writes []records.Write) []records.Write {
	if !v.intent {
		return writes
	}
	writes = append(writes, records.Write{Table: TableIntent, Key: id})
	for i := range r.owes {
		f := &r.owes[i]
		f.pending = b.number(id)
		writes = append(writes, f.pending.due(f.Target))
		for _, p := range f.stale {
			writes = append(writes, p.over(f.Target))
		}
	}
	return writes
}

// Succeed takes the end of a run without an error, on the loop: the refreshes that it acted on are
// over. It reports whether the run refreshes others: it has changed something, or an earlier run
// may have.
func (v *Vertex) Succeed(r *Run, changed bool) (refresh bool) {
	v.pending.remove(r.acts)
	refresh = changed || v.intent
	v.intent = false
	return refresh
}

// Due returns the refreshes that the run has made durable.
func (r *Run) Due() iter.Seq[Refresh] {
	return func(yield func(Refresh) bool) {
		for _, f := range r.owes {
			if f.pending.num != 0 && !yield(f) {
				return
			}
		}
	}
}

// Over is the record that the refresh is not due any more: its target has left.
func (f *Refresh) Over() records.Write { return f.pending.over(f.Target) }

// Promise adds the refresh of a target that has come while the run of a source goes on, unless the run knows that one. It is called
// on the loop, before the end of the run.
func (r *Run) Promise(source, target string, b *Book, writes []records.Write) []records.Write {
	_, known := r.promised[target]
	for i := range r.owes { // Owe may be writing the other fields
		known = known || r.owes[i].Target == target
	}
	if known {
		return writes
	}
	if r.promised == nil {
		r.promised = map[string]Refresh{}
	}
	f := Refresh{Target: target, pending: b.number(source)}
	r.promised[target] = f
	return append(writes, f.pending.due(target))
}

// Promised returns the refreshes of Promise at the end of the run, on the loop and before Succeed, and whether they are due: the run
// may have changed something, even if it has failed, or an earlier run may have.
func (v *Vertex) Promised(r *Run, changed bool) (refreshes []Refresh, due bool) {
	if len(r.promised) == 0 {
		return nil, false
	}
	for _, target := range slices.Sorted(maps.Keys(r.promised)) {
		refreshes = append(refreshes, r.promised[target])
	}
	return refreshes, changed || v.intent
}

// Refresh has the target of a refresh wait for it.
func (v *Vertex) Refresh(f Refresh) {
	v.pending.remove(f.stale)
	v.pending.add(f.pending)
}

// Inherit adds the ledger of the vertex of the same name that has ended now.
func (v *Vertex) Inherit(old *Vertex) {
	for _, p := range old.pending.all() {
		v.pending.add(p)
	}
	v.intent = v.intent || old.intent
}

// Forget empties the ledger of the vertex with an id, whose name has left. It returns the ends of
// the records.
func (v *Vertex) Forget(id string) (writes []records.Write) {
	for _, p := range v.pending.all() {
		writes = append(writes, p.over(id))
	}
	if v.intent {
		writes = append(writes, records.Write{Table: TableIntent, Key: id})
	}
	if v.retries > 0 {
		writes = append(writes, retried(id, 0))
	}
	v.pending, v.intent = nil, false
	return writes
}

// Retries returns how often the vertex was tried again since it was well.
func (v *Vertex) Retries() int32 { return v.retries }

// InheritRetries goes on where an earlier vertex of the name stands.
func (v *Vertex) InheritRetries(old *Vertex) { v.retries = old.retries }

// SetRetries counts the retries. With changed it returns the record, for the next process.
func (v *Vertex) SetRetries(id string, n int32) (write records.Write, changed bool) {
	if n == v.retries {
		return write, false
	}
	v.retries = n
	return retried(id, n), true
}

// NoRetries is the record of a vertex that was not tried again.
func NoRetries(id string) records.Write { return retried(id, 0) }

func retried(id string, n int32) records.Write {
	w := records.Write{Table: TableRetry, Key: id}
	if n > 0 {
		w.Value = strconv.AppendInt(nil, int64(n), 10)
	}
	return w
}
