package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Layer has the effects of resources that would change, above a machine that is not touched. What looks through a Walker of it finds
// the machine as these resources would leave it.
//
// A resource whose kind states it (engine.RootedRes, PartlyRootedRes) makes its effect by its own code, in a folder of the layer, at the
// first look at one of its paths; before that, what it finds there on the machine is copied to the folder. The effect of any
// other resource is that its thing is there, see Plans.
type Layer struct {
	ctx  context.Context
	base safepath.Walker // of the machine

	mu     sync.Mutex // held by a look, with all effects that it makes
	shadow *os.File   // the folder; nil until it is needed
	dir    string     // its path
	laid   map[string][]*effect
	byID   map[string][]*effect // by the resource that was laid
	below  map[string]int       // by folder, how many paths of laid are below it
	whole  map[string]bool      // the folders that were copied with all that is in them
	things map[string]bool      // by kind and name, or another key of that kind: will be there
	news   []*effect            // whose paths may lead elsewhere by links; see follow
	links  map[string]bool      // the paths at which effects have made links
	late   map[string][]Looker  // by resource, who has looked where links lead from its paths before that was known
	count  int

	looked map[string]map[Looker]bool // by path, who has looked at it; true with all that is in the folder
	under  map[string]int             // by folder, how many paths of looked are below it
}

// Looker is one who looks at paths through a Layer. It is comparable.
type Looker = interface {
	// Awaits is called for a look at something that only a run of this resource can tell; it is empty where no single one can.
	Awaits(resource string)
	// Moved is called when something that was looked at on the machine is copied to the layer: it has another inode there.
	Moved()
}

// NewLayer returns a layer above the paths of a machine. It makes no folder before it needs one. The context bounds all its work.
func NewLayer(ctx context.Context, base safepath.Walker) *Layer {
	return &Layer{ctx: ctx, base: base, laid: map[string][]*effect{}, byID: map[string][]*effect{}, below: map[string]int{}, whole: map[string]bool{}, things: map[string]bool{}, links: map[string]bool{}, late: map[string][]Looker{}, looked: map[string]map[Looker]bool{}, under: map[string]int{}}
}

// Close removes the folder of the layer.
func (l *Layer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shadow == nil {
		return nil
	}
	err := errors.Join(l.shadow.Close(), os.RemoveAll(l.dir))
	l.shadow = nil
	return err
}

// Paths returns the Walker of the machine with the layer, for one who looks.
func (l *Layer) Paths(by Looker) safepath.Walker { return l.base.Under(&looking{l, by}) }

// looking is the overlay of one who looks.
type looking struct {
	l  *Layer
	by Looker
}

// Root implements safepath.Overlay.
func (o *looking) Root(p string, r safepath.Reach) (int, bool, error) {
	fd, over, err := o.l.root(p, r, o.by)
	if err != nil {
		o.by.Awaits(awaited(err))
	}
	return fd, over, err
}

// note notes a look.
func (l *Layer) note(p string, whole bool, by Looker) {
	m := l.looked[p]
	if m == nil {
		m = map[Looker]bool{}
		l.looked[p] = m
		for up := p; up != "/"; {
			up = path.Dir(up)
			l.under[up]++
		}
	}
	m[by] = m[by] || whole
}

// outdated adds those who have looked at what an effect on a path alters.
func (l *Layer) outdated(p string, list []Looker) []Looker {
	for at := p; ; at = path.Dir(at) {
		for by, whole := range l.looked[at] {
			if at == p || whole {
				list = append(list, by)
			}
		}
		if at == "/" {
			break
		}
	}
	if l.under[p] > 0 {
		for at, m := range l.looked {
			if below(at, p) {
				list = slices.AppendSeq(list, maps.Keys(m))
			}
		}
	}
	return list
}

// Looked returns who has looked at a path, at what is below it, or at all of a folder above.
func (l *Layer) Looked(p string) []Looker {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outdated(path.Clean("/"+p), nil)
}

// Late returns, by the resource that was laid, who has looked before at where links lead from its paths. Each is told once.
func (l *Layer) Late() map[string][]Looker {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	late := l.late
	l.late = map[string][]Looker{}
	return late
}

// Plans reports whether a resource that was laid makes a thing, such as a user, by its name or by its number.
func (l *Layer) Plans(kind, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.things[schema.Ref{Kind: kind, Name: name}.ID()]
}

// Lay adds the effect of a resource that would change, and has told of these changes. shared is what it has in common with others,
// nil for nothing. It reads the parameters and does no I/O. It reports whether those who look at paths see all of the effect, and who
// has looked at its paths before.
func (l *Layer) Lay(r engine.Res, shared engine.Shared, changes []engine.Change) (seen bool, before []Looker) {
	leaving := false
	if able, ok := engine.As[engine.LeavingRes](r); ok {
		leaving = able.Leaving()
	}
	id := r.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.things[id] = !leaving
	if able, ok := engine.As[engine.EdgeableRes](r); ok {
		for _, uid := range able.UIDs() {
			if u, ok := uid.(*autoedge.KeyUID); ok && u.Space == r.Kind() { // a group by its number
				l.things[schema.Ref{Kind: u.Space, Name: u.Key}.ID()] = !leaving
			}
		}
	}
	work, writes, whole, err := workOf(r, changes)
	l.add(writes, effect{id: id, deep: slices.ContainsFunc(changes, within), untold: err, make: func(h engine.Host) error { return l.apply(h, work, shared) }})
	for _, p := range writes {
		before = l.outdated(path.Clean("/"+p), before)
	}
	_, reads := engine.As[engine.Readable](r) // a command may do more than that
	return whole && reads && len(writes) > 0 && err == nil, before
}

// Again has the effect of a resource that was laid made once more, above what was laid since: a run wakes it by what others alter. It
// does so once. It returns who has looked at the paths of the resource.
func (l *Layer) Again(resource string) (before []Looker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.byID[resource]
	for _, e := range old {
		if e.again || e.untold != nil && !e.placed {
			return nil
		}
	}
	for _, e := range old {
		l.add([]string{e.path}, effect{id: e.id, deep: e.deep, make: e.make, again: true})
		before = l.outdated(e.path, before)
	}
	return before
}

// Doubt adds a resource of which it can't be told what it would do: nobody can see what is at its paths then. It returns who has looked at
// them before.
func (l *Layer) Doubt(r engine.Res) (before []Looker) {
	_, writes, _, _ := workOf(r, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(writes, effect{id: r.String(), untold: errors.New("what it does is unknown")})
	for _, p := range writes {
		before = l.outdated(path.Clean("/"+p), before)
	}
	return before
}

// add adds an effect on paths.
func (l *Layer) add(paths []string, proto effect) {
	l.count++
	for _, p := range paths {
		e := proto
		e.nth, e.path = l.count, path.Clean("/"+p)
		l.news, l.byID[e.id] = append(l.news, &e), append(l.byID[e.id], &e)
		l.put(e.path, &e)
	}
}

func (l *Layer) put(p string, e *effect) {
	if len(l.laid[p]) == 0 {
		for up := p; up != "/"; {
			up = path.Dir(up)
			l.below[up]++
		}
	}
	l.laid[p] = append(l.laid[p], e)
}

// follow adds effects also where links lead from their paths: those of the machine, and those that effects have made. Who writes behind
// such a link has looked there before it was laid, so that the link is made.
func (l *Layer) follow() {
	for _, e := range l.news {
		w := l.base
		if l.behindLink(e.path) {
			w = l.own().Under(&placing{l: l, nth: e.nth})
		}
		at, err := w.Real(e.path)
		if err != nil {
			continue // it is looked for by its own path alone
		}
		if at != e.path {
			l.put(at, e)
			if list := l.outdated(at, l.late[e.id]); len(list) > 0 {
				l.late[e.id] = list
			}
		}
	}
	l.news = nil
}

// behindLink reports whether an effect has made a link on the way to a path.
func (l *Layer) behindLink(p string) bool {
	for ; p != "/" && len(l.links) > 0; p = path.Dir(p) {
		if l.links[path.Dir(p)] {
			return true
		}
	}
	return false
}

// root returns where a path is looked for.
func (l *Layer) root(p string, r safepath.Reach, by Looker) (int, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bare := l.isBare(p)
	l.note(p, r != safepath.Itself || bare, by)
	if l.count == 0 {
		return 0, false, nil
	}
	l.follow()
	made := bare && l.below[p] > 0 && len(l.laid[p]) == 0 // if at all, on the way to something below it
	whole := made || r == safepath.Content || r == safepath.Mostly && l.below[p] <= maxEntries
	if err := l.realize(p, l.count+1, whole); err != nil {
		return 0, false, err
	}
	if made && !l.has(p) {
		if err := l.untoldBelow(p); err != nil {
			return 0, false, err
		}
	}
	over, all, err := l.covered(p)
	if all && err == nil && r == safepath.Content {
		err = l.untoldBelow(p)
	}
	if all || over && !whole || err != nil {
		return l.fd(), over, err
	}
	if !over && (!whole || l.below[p] == 0) {
		return 0, false, nil
	}
	if err := l.open(); err != nil {
		return 0, false, err
	}
	if r == safepath.Content {
		if err := l.untoldBelow(p); err != nil {
			return 0, false, err
		}
	}
	b := bounds{untold: r == safepath.Mostly}
	switch err := l.copyUp(p, true, &b); {
	case err == nil:
		return l.fd(), true, nil
	case r == safepath.Mostly && errors.Is(err, errTooMuch):
		return l.fd(), over, nil
	default:
		return 0, false, fmt.Errorf("a part of it would change, and the rest can't be copied: %w", err)
	}
}

// isBare reports whether the machine has nothing at a path. Who makes something below it may make the folder on the way.
func (l *Layer) isBare(p string) bool {
	_, err := l.base.RawLstat(p)
	return missing(err)
}

// has reports whether the folder of the layer has something at a path.
func (l *Layer) has(p string) bool {
	if l.shadow == nil {
		return false
	}
	_, err := l.own().RawLstat(p)
	return err == nil
}

func (l *Layer) fd() int {
	if l.shadow == nil {
		return -1
	}
	return int(l.shadow.Fd())
}

// open makes the folder of the layer, in memory where there is a place for that.
func (l *Layer) open() error {
	if l.shadow != nil {
		return nil
	}
	dir, err := os.MkdirTemp("/dev/shm", "mgmt-plan-")
	if err != nil {
		dir, err = os.MkdirTemp("", "mgmt-plan-")
	}
	if err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	l.shadow, l.dir = f, dir
	return nil
}

// own returns the Walker of the folder.
func (l *Layer) own() safepath.Walker { return safepath.In(l.fd(), "", l.base.Self()) }

// isDir reports whether the folder of the layer has a folder at a path, and not a link to one.
func (l *Layer) isDir(p string) bool {
	st, err := l.own().RawLstat(p)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
