package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// expect compares the machine and the runs of the step with an expectation.
func (r *run) expect(ctx context.Context, n *schema.Node) {
	statuses := r.statuses
	r.mu.Lock()
	runs := slices.Clone(r.runs)
	r.mu.Unlock()
	for _, run := range runs {
		r.cover.ran(run.Resource)
	}
	wanted, ds := things(r.kinds, n)
	r.found(ds)
	for _, th := range wanted {
		r.cover.asserted(th.id)
		r.expectThing(ctx, th)
	}
	have := outcomeOf(runs, statuses)
	if n == nil || !has(n, "failed") {
		r.unforeseen(n, statuses)
	}
	if n == nil {
		return
	}
	for _, word := range []string{"changed", "refreshed", "failed", "blocked", "ok"} {
		if list := n.Get(word); list != nil {
			r.expectSet(word, list, have[word])
		}
	}
	if order := n.Get("order"); order != nil {
		r.expectOrder(order, orderOf(runs))
	}
}

// has reports whether a map has a key.
func has(n *schema.Node, key string) bool { return n.Get(key) != nil }

// unforeseen reports resources that have failed where the test expects no failure.
func (r *run) unforeseen(n *schema.Node, statuses []reactor.Status) {
	pos := r.test.node.Pos
	if n != nil {
		pos = n.Pos
	}
	for _, st := range statuses {
		if st.Rest == resgraph.StateFailed {
			hint := ""
			if errors.Is(st.Err, fs.ErrNotExist) {
				hint = "; a file that the graph does not make stands under machine, such as {file: [{name: /etc/app.conf, content: a}]}"
			}
			r.failf(pos, "%s has failed: %v%s", st.Resource, st.Err, hint)
		}
	}
}

// outcomeOf returns the resources by the words for their outcomes, in the order of their runs. A resource that only acted on a
// notification counts as refreshed, and not as changed.
func outcomeOf(runs []reactor.Run, statuses []reactor.Status) map[string][]string {
	have := map[string][]string{}
	add := func(word, id string) {
		if !slices.Contains(have[word], id) {
			have[word] = append(have[word], id)
		}
	}
	for _, run := range runs {
		if !run.Changed {
			continue
		}
		if run.Refreshed {
			add("refreshed", run.Resource)
		}
		if !run.Refreshed || slices.ContainsFunc(run.Changes, func(c engine.Change) bool { return c.Verb != engine.Refreshed && c.Verb != engine.Ran }) {
			add("changed", run.Resource)
		}
	}
	for _, st := range statuses {
		switch {
		case st.State == resgraph.StateBlocked:
			add("blocked", st.Resource)
		case st.Rest == resgraph.StateFailed:
			add("failed", st.Resource)
		case st.State == resgraph.StateOK:
			add("ok", st.Resource)
		}
	}
	return have
}

// expectSet compares a list of resources with the outcome. The order does not matter. The lists under ok and blocked need not be
// complete, but for an empty one. A name that no resource has is the only fault that is told of the others: they may follow from it.
func (r *run) expectSet(word string, n *schema.Node, have []string) {
	want, known := r.named(n)
	for i, item := range n.Items {
		if known[i] && !slices.Contains(have, item.Text) {
			r.failf(item.Pos, "%s is not %s; %s", item.Text, word, listed(word, have))
		}
	}
	if len(want) > 0 && (word == "ok" || word == "blocked") || slices.Contains(known, false) {
		return
	}
	var more []string
	for _, id := range slices.Sorted(slices.Values(have)) { // resources run at the same time
		if !slices.Contains(want, id) {
			more = append(more, id)
		}
	}
	if len(more) > few {
		r.failf(n.Pos, "%d resources are %s, which the test does not expect: %s", len(more), word, some(more))
		return
	}
	for _, id := range more {
		r.failf(n.Pos, "%s is %s, which the test does not expect", id, word)
	}
}

// named returns the resources of a list, and for each whether the graph has it. One that it lacks is a failure.
func (r *run) named(n *schema.Node) (want []string, known []bool) {
	if n.Kind != schema.NodeList {
		r.failf(n.Pos, "write a list of resources, such as [\"svc[nginx]\"]")
		return nil, []bool{false}
	}
	for _, item := range n.Items {
		want = append(want, item.Text)
		known = append(known, r.inGraph(item.Pos, item.Text))
		r.cover.asserted(item.Text)
	}
	return want, known
}

// inGraph reports whether the graph has a resource. If not, that is a failure.
func (r *run) inGraph(pos schema.Pos, id string) bool {
	ids := make([]string, len(r.statuses))
	near := ""
	for i, st := range r.statuses {
		if ids[i] = st.Resource; st.Resource == id {
			return true
		}
		if ref, err := schema.ParseRef(st.Resource); err == nil && ref.Name == id { // without its kind
			near = st.Resource
		}
	}
	if near = cmp.Or(near, schema.Nearest(id, ids)); near != "" {
		near = fmt.Sprintf(" (did you mean %q?)", near)
	}
	r.failf(pos, "%s is not in the graph%s", id, near)
	return false
}

// few bounds the resources that one failure names.
const few = 5

// some names the first resources of a list, and counts the others.
func some(ids []string) string {
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:few], ", "), len(ids)-few)
}

// listed says which resources there are.
func listed(word string, have []string) string {
	if len(have) == 0 {
		return "nothing is " + word
	}
	return word + ": " + some(have)
}

// orderOf returns the resources that have changed or acted on a notification, in the order of their first runs.
func orderOf(runs []reactor.Run) (ids []string) {
	for _, run := range runs {
		if run.Changed && !slices.Contains(ids, run.Resource) {
			ids = append(ids, run.Resource)
		}
	}
	return ids
}

// expectOrder compares the order in which resources have changed. Others may have changed in between.
func (r *run) expectOrder(n *schema.Node, have []string) {
	at := -1
	_, known := r.named(n)
	for k, item := range n.Items {
		i := slices.Index(have, item.Text)
		switch {
		case !known[k]:
		case i < 0:
			r.failf(item.Pos, "%s has not changed; %s", item.Text, listed("changed", have))
		case i < at:
			r.failf(item.Pos, "%s has changed before %s", item.Text, have[at])
		default:
			at = i
		}
	}
}

// expectThing compares the parameters of a thing that the test names. A thing that is to be gone need not be there.
func (r *run) expectThing(ctx context.Context, want thing) {
	is, ok := r.state(ctx, want)
	if !ok {
		if state, named := want.set["state"]; named && isGone(state) {
			return
		}
		r.failf(want.pos, "%s is not there", want.id)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want.set)) {
		if reflect.DeepEqual(revealed(is[key]), revealed(want.set[key])) {
			continue
		}
		pos := want.pos
		if n := want.keys[key]; n != nil {
			pos = n.Pos
		}
		r.failf(pos, "%s: %s differs\n%s", want.id, key, difference(want.set[key], is[key]))
	}
}

// isGone reports whether a state says that the thing is not there.
func isGone(state any) bool {
	return slices.Contains([]string{"absent", "uninstalled", "stopped", "unmounted"}, fmt.Sprint(state))
}

// revealed returns a value whose secrets can be compared.
func revealed(v any) any {
	if s, ok := v.(schema.Secret); ok {
		return s.Reveal()
	}
	return v
}

// difference shows two values, texts line by line. Secrets are not shown.
func difference(want, have any) string {
	if have == nil {
		have = "(not set)"
	}
	a, b := strings.Split(fmt.Sprint(want), "\n"), strings.Split(fmt.Sprint(have), "\n")
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		switch {
		case i < len(a) && i < len(b) && a[i] == b[i] && (a[i] != "" || i < max(len(a), len(b))-1):
			fmt.Fprintf(&out, "      %s\n", a[i])
			continue
		case i < len(a) && i < len(b) && a[i] == b[i]:
			continue
		case i < len(a) && (i < len(a)-1 || a[i] != ""):
			fmt.Fprintf(&out, "    - %s\n", a[i])
		}
		if i < len(b) && (i < len(b)-1 || b[i] != "") {
			fmt.Fprintf(&out, "    + %s\n", b[i])
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
