package simulate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/params"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// effect is what one resource would do to a path.
type effect struct {
	id     string
	nth    int // in the order of the resources
	path   string
	deep   bool // it alters what is in a folder
	make   func(h engine.Host) error
	again  bool // see Again
	begun  bool
	placed bool  // the path is in the layer
	covers bool  // and all that is below it
	untold error // why the effect can't be told
}

// within reports whether a change is of something in a folder.
func within(c engine.Change) bool { return strings.HasPrefix(c.Field, "entries") }

// workOf returns the resource that makes the effect of r on the paths that r writes, and whether these changes are done by that.
func workOf(r engine.Res, changes []engine.Change) (work engine.Res, writes []string, whole bool, err error) {
	if able, ok := engine.As[engine.RootedRes](r); ok {
		writes, apart := able.Rooted()
		work, err := without(r, apart)
		return work, writes, true, err
	}
	able, ok := engine.As[planning.PartlyRooted](r)
	if !ok {
		return nil, nil, false, nil
	}
	work, writes, fields := able.RootedPart()
	if work == nil {
		err = errDone
	}
	return work, writes, !slices.ContainsFunc(changes, func(c engine.Change) bool { return !slices.Contains(fields, c.Field) }), err
}

// errDone is why an effect can't be told that no part of a resource makes.
var errDone = errors.New("what it writes is known when it is done")

// without copies a resource, without the parameters in apart.
func without(r engine.Res, apart []string) (engine.Res, error) {
	params, err := params.Of(r)
	if err != nil {
		return nil, err
	}
	for _, key := range apart {
		delete(params, key)
	}
	return lifecycle.Make(nil, lifecycle.Wanted{Kind: r.Kind(), Name: r.Name(), Ready: r.Default()}, func(made engine.Res) error {
		t, err := schema.TypeOf(made)
		if err != nil {
			return err
		}
		for _, f := range t.Fields {
			if v, ok := params[f.Key]; ok && f.Role <= schema.RoleInit {
				if err := schema.Set(made, f.Key, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// LayeredShared is an engine.Shared of which a Layer asks for the one that its copies of resources get.
type LayeredShared interface {
	engine.Shared
	// Layered returns one for the paths of another host.
	Layered(engine.Host) engine.Shared
}

// apply runs the code of a resource on a host.
func (l *Layer) apply(h engine.Host, work engine.Res, shared engine.Shared) error {
	env := lifecycle.NewEnv(lifecycle.Options{Host: h, NoShared: true, TempState: true})
	var life lifecycle.Life
	env.Join(&life, work.String(), work)
	err := life.Init(l.ctx, func(i *engine.Init) {
		if s, ok := shared.(LayeredShared); ok {
			i.Shared = s.Layered(h)
		}
	})
	if err == nil {
		err = lifecycle.Call("CheckApply", func() error {
			_, err := work.CheckApply(l.ctx, true)
			return err
		})
	}
	return errors.Join(err, life.Cleanup(), env.Close())
}

// realize makes the effects on a path and above it that come before another one; with whole also those below it.
func (l *Layer) realize(p string, before int, whole bool) error {
	var todo []*effect
	add := func(list []*effect) {
		for _, e := range list {
			if !e.begun && e.nth < before {
				todo = append(todo, e)
			}
		}
	}
	for at := p; ; at = path.Dir(at) {
		add(l.laid[at])
		if at == "/" {
			break
		}
	}
	if whole && l.below[p] > 0 {
		for at, list := range l.laid {
			if below(at, p) {
				add(list)
			}
		}
	}
	slices.SortFunc(todo, func(a, b *effect) int { return a.nth - b.nth })
	for _, e := range todo {
		if !e.begun {
			if err := l.begin(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin makes one effect. Its failure is the answer of each later look at it; the error returned is one of the layer itself.
func (l *Layer) begin(e *effect) error {
	e.begun = true
	if e.untold != nil {
		return nil
	}
	if err := l.open(); err != nil {
		return err
	}
	if err := l.realize(e.path, e.nth, true); err != nil {
		return err
	}
	var b bounds
	e.untold = l.copyUp(e.path, e.deep, &b)
	e.placed, e.covers = true, e.deep || !l.isDir(e.path)
	if e.untold != nil {
		return nil
	}
	if e.untold = e.make(&layerHost{Host: NewHost(), paths: l.own().Under(&placing{l: l, nth: e.nth})}); e.untold == nil {
		e.covers = e.covers || !l.isDir(e.path)
		if st, err := l.own().RawLstat(e.path); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			l.links[e.path] = true
		}
	}
	return nil
}

// covered reports whether the layer has a path, and whether it has all that is below it. Of a folder of which the mode alone would change,
// what is in it is the machine's until it is copied.
func (l *Layer) covered(p string) (over, all bool, err error) {
	copied := false
	for at := p; ; at = path.Dir(at) {
		for _, e := range slices.Backward(l.laid[at]) {
			switch {
			case e.untold != nil && over:
				return true, copied, nil
			case e.untold != nil:
				return false, false, &untoldError{e.id, e.untold}
			case !e.placed:
			case e.covers:
				return true, true, nil
			case at == p:
				over = true
			}
		}
		copied = copied || l.whole[at]
		if at == "/" {
			return over || copied, copied, nil
		}
	}
}

// untoldBelow returns the error of a look at a path below a folder that can't be told, the first one by name.
func (l *Layer) untoldBelow(p string) (first error) {
	name := ""
	for at := range l.laid {
		if below(at, p) && (first == nil || at < name) {
			if _, _, err := l.covered(at); err != nil {
				name, first = at, err
			}
		}
	}
	return first
}

// untoldError is the error of a look at a thing that only a run of a resource can tell.
type untoldError struct {
	id  string
	why error
}

func (e *untoldError) Error() string {
	return fmt.Sprintf("it can't be told before %s has run: %v", e.id, e.why)
}

// awaited returns the resource behind the error of a look: the first one that can't be told.
func awaited(err error) (id string) {
	for {
		e, ok := errors.AsType[*untoldError](err)
		if !ok {
			return id
		}
		id, err = e.id, e.why
	}
}

// layerHost is the machine of a resource that makes its effect: the folder of the layer, and neither programs nor buses.
type layerHost struct {
	*Host
	paths safepath.Walker
}

// Paths implements safepath.Host.
func (h *layerHost) Paths() safepath.Walker { return h.paths }

// placing copies what an effect looks at from the machine to the folder.
type placing struct {
	l   *Layer
	nth int
	mu  sync.Mutex // the code of a kind may look from several goroutines
}

// Root implements safepath.Overlay. All paths are in the folder, so that nothing else can be altered.
func (p *placing) Root(at string, r safepath.Reach) (int, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := r == safepath.Content // what an effect alters in a folder was copied with it
	err := p.l.realize(at, p.nth, whole)
	if err == nil {
		var b bounds
		err = p.l.copyUp(at, whole, &b)
	}
	return p.l.fd(), true, err
}
