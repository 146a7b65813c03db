package past

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/journal/images"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// heldFile has the resources that were undone, sealed.
const heldFile = "undone"

// Held is a resource that was undone: it stays so until another graph comes, or Release.
type Held struct {
	control.Undone
	Head  []byte   `json:"head"` // as package reversal writes it
	Body  []byte   `json:"body"`
	After []string `json:"after,omitempty"` // resources that are undone before it
}

// HeldOf makes the undoing of a resource out of the states before each of its changes, the oldest first: it goes back to the first one. The
// content of an image is asked of the function. The error says why it can't be undone.
func HeldOf(kinds *engine.Registry, list []images.Image, content func(images.Image) ([]byte, error)) (*Held, error) {
	first := list[0]
	if first.Why != "" {
		return nil, errors.New(first.Why)
	}
	rev, err := reversal.Decode(records.Record{Key: first.Resource, Value: first.Head})
	if err != nil {
		return nil, err
	}
	img, err := imageOf(first, content)
	if err != nil {
		return nil, err
	}
	later := &reversal.Wanted{}
	for _, i := range list[1:] {
		if i.Why != "" {
			continue
		}
		next, err := imageOf(i, content)
		if err != nil {
			return nil, err
		}
		if err := sameThing(kinds, rev.Kind, img, next); err != nil {
			return nil, err
		}
		later.Fields = append(later.Fields, slices.Collect(maps.Keys(next.Declared))...)
		if gone(next.Was) { // what has come in its place has nothing of the first one, managed or not
			later.Fields = append(later.Fields, slices.Collect(maps.Keys(img.Was))...)
		}
		later.Declared, later.Secret = next.Declared, append(later.Secret, next.Secret...)
	}
	img.Later(later)
	h := &Held{Undone: control.Undone{Resource: first.Resource, Before: first.At}}
	if _, err := h.undo(kinds, rev, img, false); err != nil {
		return nil, err
	}
	writes, err := rev.Writes(img)
	if err != nil {
		return nil, err
	}
	h.Head, h.Body = writes[0].Value, writes[1].Value
	return h, nil
}

func imageOf(i images.Image, content func(images.Image) ([]byte, error)) (*reversal.Image, error) {
	body, err := content(i)
	if err != nil {
		return nil, err
	}
	return reversal.DecodeImage(records.Record{Key: i.Resource, Value: body})
}

// gone reports whether there was nothing: Read may say so in a parameter.
func gone(was map[string]any) bool {
	return was == nil || was["state"] == "absent" || was["ensure"] == "absent"
}

// sameThing refuses images of two things that had one name, one after the other.
func sameThing(kinds *engine.Registry, kind string, a, b *reversal.Image) error {
	k, err := kinds.Kind(kind)
	if err != nil {
		return err
	}
	for _, f := range k.Type.Fields {
		if f.Role == schema.RoleIdentity && !schema.Equal(a.Declared[f.Key], b.Declared[f.Key]) {
			return errors.New("its name has stood for two things since then: undo the later changes first")
		}
	}
	return nil
}

func (h *Held) undo(kinds *engine.Registry, rev *reversal.Reversal, img *reversal.Image, noop bool) (engine.Res, error) {
	res, err := lifecycle.Undo(img, rev, kinds.New, noop)
	if err != nil {
		return nil, err
	}
	m := res.MetaParams()
	// The first state that reverse has kept counts when the resource leaves the graph, also after this.
	m.Reverse, _ = img.Meta["reverse"].(bool)
	leaving, _ := img.Meta["leaving"].(string)
	m.Leaving = engine.Leaving(leaving)
	for _, key := range img.Secret {
		if !slices.Contains(m.Secret, key) {
			m.Secret = append(m.Secret, key)
		}
	}
	return res, nil
}

// resource makes the resource that brings the earlier state back.
func (h *Held) resource(kinds *engine.Registry, noop bool) (engine.Res, error) {
	rev, err := reversal.Decode(records.Record{Key: h.Resource, Value: h.Head})
	if err != nil {
		return nil, err
	}
	img, err := reversal.DecodeImage(records.Record{Key: h.Resource, Value: h.Body})
	if err != nil {
		return nil, err
	}
	return h.undo(kinds, rev, img, noop)
}

// Order says of each resource which others are undone before it: those that came after it in the graph that runs, and of those that it does not
// have, those that have changed later.
func Order(list []Held, g *resgraph.Graph) {
	at := map[int]int{} // by vertex of the graph
	vertex := make([]int, len(list))
	for i := range list {
		n, ok := resgraph.Find(g, list[i].Resource)
		if !ok {
			n = -1
		} else {
			at[n] = i
		}
		vertex[i] = n
	}
	for i := range list {
		if vertex[i] < 0 {
			for j := range list {
				if i != j && list[j].Before.After(list[i].Before) {
					list[i].After = append(list[i].After, list[j].Resource)
				} else if i != j && vertex[j] >= 0 {
					list[j].After = append(list[j].After, list[i].Resource)
				}
			}
			continue
		}
		seen, queue := map[int]bool{vertex[i]: true}, []int{vertex[i]}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, next := range g.Succ(v) {
				n := int(next)
				if seen[n] {
					continue
				}
				seen[n] = true
				if j, ok := at[n]; ok {
					list[i].After = append(list[i].After, list[j].Resource) // and what comes after that comes after both
				} else {
					queue = append(queue, n)
				}
			}
		}
	}
}

// Hold has resources stay undone, by and why somebody has asked for it. One that is undone already goes back further.
func (k *Keeper) Hold(list []Held, by, reason string) error {
	now := k.o.Clock.Now()
	return k.setHeld(func(was []Held) []Held {
		for _, h := range list {
			h.By, h.Reason, h.Since = by, reason, now
			was = slices.DeleteFunc(was, func(o Held) bool { return o.Resource == h.Resource })
			was = append(was, h)
		}
		return was
	})
}

// Release lets undone resources go, and reports whether there was one.
func (k *Keeper) Release(which func(resource string) bool) (some bool, err error) {
	if !slices.ContainsFunc(k.Undone(), func(u control.Undone) bool { return which(u.Resource) }) {
		return false, nil
	}
	return true, k.setHeld(func(was []Held) []Held {
		return slices.DeleteFunc(was, func(h Held) bool { return which(h.Resource) })
	})
}

// Undone returns the resources that stay undone, in the order of their names.
func (k *Keeper) Undone() []control.Undone {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []control.Undone
	for _, h := range k.held {
		list = append(list, h.Undone)
	}
	slices.SortFunc(list, func(a, b control.Undone) int { return strings.Compare(a.Resource, b.Resource) })
	return list
}

// setHeld writes what is undone by then. With an error it is as before.
func (k *Keeper) setHeld(do func([]Held) []Held) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := do(slices.Clone(k.held))
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	sealed, err := k.Seal(string(text))
	if err != nil {
		return err
	}
	if err := safepath.System().WriteFile(k.path(heldFile), []byte(sealed), 0o600, true); err != nil {
		return err
	}
	k.held = list
	return nil
}

// loadHeld reads what was undone before this start.
func (k *Keeper) loadHeld() error {
	text, err := os.ReadFile(k.path(heldFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	clear := ""
	if err == nil {
		clear, err = k.Unseal(string(text))
	}
	if err == nil {
		err = json.Unmarshal([]byte(clear), &k.held)
	}
	if err != nil {
		return fmt.Errorf("what was undone can't be read, and would be done again; repair %s, or remove it: %w", k.path(heldFile), err)
	}
	return nil
}

// undone returns a graph in which the held resources are as they were before, in the opposite order of their changes.
func (k *Keeper) undone(d *gapi.Declared, list []Held, kinds *engine.Registry) *gapi.Declared {
	c := *d.Complete()
	c.Resources, c.Edges, c.Part = slices.Clone(c.Resources), nil, nil
	at := make(map[string]int, len(c.Resources))
	for i := range c.Resources {
		at[c.Resources[i].ID()] = i
	}
	held := map[string]bool{}
	for i := range list {
		h := &list[i]
		res, err := h.resource(kinds, d.Noop)
		if err != nil {
			k.o.Log.Warn("what was undone can't stay so", "resource", h.Resource, "error", err)
			continue
		}
		n, ok := at[h.Resource]
		if !ok {
			n = len(c.Resources)
			at[h.Resource] = n
			c.Resources = append(c.Resources, gapi.Declaration{})
		}
		r := c.Resources[n]
		c.Resources[n] = gapi.Declaration{
			Kind: res.Kind(), Name: res.Name(), Pos: r.Pos, Res: res, Rests: true, Optional: r.Optional, Module: r.Module,
			Before: r.Before, Depend: r.Depend, Notify: r.Notify, Listen: r.Listen,
		}
		held[h.Resource] = true
	}
	o := order{next: map[string][]string{}, held: held}
	o.rest(&c)
	for i := range list {
		for _, before := range list[i].After {
			if held[before] && held[list[i].Resource] && o.add(before, list[i].Resource) {
				c.Edges = append(c.Edges, edge(before, list[i].Resource))
			}
		}
	}
	o.around(&c, d.Complete().Edges)
	return &c
}

func edge(from, to string) gapi.EdgeDecl {
	a, _ := schema.ParseRef(from)
	b, _ := schema.ParseRef(to)
	return gapi.EdgeDecl{From: gapi.EndOf(a, schema.Pos{}), To: gapi.EndOf(b, schema.Pos{})}
}

// order leaves out the declared edges that contradict the order of an undo.
type order struct {
	next map[string][]string
	held map[string]bool
}

// add takes an edge, unless it would close a cycle.
func (o *order) add(from, to string) bool {
	seen, queue := map[string]bool{to: true}, []string{to}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == from {
			return false
		}
		for _, n := range o.next[at] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	o.next[from] = append(o.next[from], to)
	return true
}

// lists calls do with each list of references of a resource, and says which way its edges go.
func lists(r *gapi.Declaration, do func(list *[]gapi.RefDecl, out bool)) {
	do(&r.Before, true)
	do(&r.Notify, true)
	do(&r.Depend, false)
	do(&r.Listen, false)
}

// rest takes the edges among the resources that are not undone.
func (o *order) rest(c *gapi.Declared) {
	for i := range c.Resources {
		r := &c.Resources[i]
		id := r.ID()
		if o.held[id] {
			continue
		}
		lists(r, func(list *[]gapi.RefDecl, out bool) {
			for _, ref := range *list {
				o.note(id, ref.Ref.ID(), out)
			}
		})
		for _, w := range r.Recv {
			o.note(id, schema.Ref{Kind: w.From.Kind, Name: w.From.Name}.ID(), false)
		}
	}
}

func (o *order) note(id, other string, out bool) {
	if o.held[other] {
		return
	}
	if !out {
		id, other = other, id
	}
	o.next[id] = append(o.next[id], other)
}

// around keeps the declared edges between what is undone and what is not, where they contradict nothing; those among the undone go.
func (o *order) around(c *gapi.Declared, edges []gapi.EdgeDecl) {
	keep := func(from, to string) bool {
		switch {
		case o.held[from] && o.held[to]:
			return false
		case o.held[from] || o.held[to]:
			return o.add(from, to)
		}
		return true
	}
	for _, e := range edges {
		from, to := e.From.Ref().ID(), e.To.Ref().ID()
		if !o.held[from] && !o.held[to] {
			o.next[from] = append(o.next[from], to)
		}
	}
	for _, e := range edges {
		if keep(e.From.Ref().ID(), e.To.Ref().ID()) {
			c.Edges = append(c.Edges, e)
		}
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		id := r.ID()
		lists(r, func(list *[]gapi.RefDecl, out bool) {
			var left []gapi.RefDecl
			for _, ref := range *list {
				from, to := id, ref.Ref.ID()
				if !out {
					from, to = to, from
				}
				if keep(from, to) {
					left = append(left, ref)
				}
			}
			*list = left
		})
	}
}
