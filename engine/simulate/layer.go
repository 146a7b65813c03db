package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Layer has the effects of resources that would change, above a machine that is not touched. What looks through a Walker of it finds
// the machine as these resources would leave it.
//
// A resource whose kind states it (engine.RootedRes) makes its effect by its own code, in a folder of the layer, at the first look
// at one of its paths; before that, what it finds there on the machine is copied to the folder. The effect of any other
// resource is that its thing is there, see Plans.
type Layer struct {
	ctx  context.Context
	base safepath.Walker // of the machine

	mu     sync.Mutex // held by a look, with all effects that it makes
	shadow *os.File   // the folder; nil until it is needed
	dir    string     // its path
	laid   map[string][]*effect
	below  map[string]int  // by folder, how many paths of laid are below it
	whole  map[string]bool // the folders that were copied with all that is in them
	things map[string]bool // by kind and name: will be there
	news   []*effect       // whose paths may lead elsewhere by links; see follow
	count  int

	looked map[string]map[Looker]bool // by path, who has looked at it; true with all that is in the folder
	under  map[string]int             // by folder, how many paths of looked are below it
}

// Looker is one who looks at paths through a Layer. It is comparable.
type Looker = interface {
	// Awaits is called for a look at something that only a run of this resource can tell; it is empty where no single one can.
	Awaits(resource string)
}

// effect is what one resource would do to a path.
type effect struct {
	id     string
	nth    int // in the order of the resources
	path   string
	deep   bool // it alters what is in a folder
	make   func(h engine.Host) error
	begun  bool
	placed bool  // the path is in the layer
	covers bool  // and all that is below it
	untold error // why the effect can't be told
}

// The most that is copied from the machine for one effect.
const (
	maxCopied  = 64 << 20
	maxEntries = 5_000
)

// NewLayer returns a layer above the paths of a machine. It makes no folder before it needs one. The context bounds all its work.
func NewLayer(ctx context.Context, base safepath.Walker) *Layer {
	return &Layer{ctx: ctx, base: base, laid: map[string][]*effect{}, below: map[string]int{}, whole: map[string]bool{}, things: map[string]bool{}, looked: map[string]map[Looker]bool{}, under: map[string]int{}}
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

// Plans reports whether a resource that was laid makes a thing, such as a user.
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
	able, ok := engine.As[engine.RootedRes](r)
	if !ok {
		return false, nil
	}
	writes, apart := able.Rooted()
	work, err := workOf(r, apart)
	l.add(writes, effect{id: id, deep: slices.ContainsFunc(changes, within), untold: err, make: func(h engine.Host) error { return l.apply(h, work, shared) }})
	for _, p := range writes {
		before = l.outdated(path.Clean("/"+p), before)
	}
	_, seen = engine.As[engine.Readable](r) // a command may do more than that
	return seen && err == nil, before
}

// Doubt adds a resource of which it can't be told what it would do: nobody can see what is at its paths then. It returns who has looked at
// them before.
func (l *Layer) Doubt(r engine.Res) (before []Looker) {
	able, ok := engine.As[engine.RootedRes](r)
	if !ok {
		return nil
	}
	writes, _ := able.Rooted()
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
		l.news = append(l.news, &e)
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

// follow adds effects also where links of the machine lead from their paths.
func (l *Layer) follow() {
	for _, e := range l.news {
		p, err := l.base.Place(e.path)
		if err != nil {
			continue // it is looked for by its own path alone
		}
		if at := path.Clean(p.Path(p.Name)); at != e.path {
			l.put(at, e)
		}
		p.Close()
	}
	l.news = nil
}

// within reports whether a change is of something in a folder.
func within(c engine.Change) bool { return strings.HasPrefix(c.Field, "entries") }

// workOf copies a resource, without the parameters in apart.
func workOf(r engine.Res, apart []string) (engine.Res, error) {
	params, err := engine.ParamsOf(r)
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

// root returns where a path is looked for.
func (l *Layer) root(p string, r safepath.Reach, by Looker) (int, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(p, r != safepath.Itself, by)
	if l.count == 0 {
		return 0, false, nil
	}
	l.follow()
	whole := r == safepath.Content || r == safepath.Mostly && l.below[p] <= maxEntries
	if err := l.realize(p, l.count+1, whole); err != nil {
		return 0, false, err
	}
	over, all, err := l.covered(p)
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

func (l *Layer) fd() int {
	if l.shadow == nil {
		return -1
	}
	return int(l.shadow.Fd())
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

func (l *Layer) isDir(p string) bool {
	st, err := l.own().Stat(p)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
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

// errTooMuch is in the error of a copy that is not made.
var errTooMuch = errors.New("too much is concerned")

// bounds count what is copied.
type bounds struct {
	bytes   int64
	entries int
	untold  bool // what can't be told is copied as it is
}

// copyUp copies what the machine has at a path to the folder, unless the layer has the path already; with whole, also what is in a
// folder. Links are followed, and copied with their targets.
func (l *Layer) copyUp(p string, whole bool, b *bounds) error {
	over, all, err := l.covered(p)
	if b.untold && awaited(err) != "" {
		err = nil
	}
	if all || over && !whole || err != nil || p == "/" && !whole {
		return err
	}
	if p != "/" {
		if err := l.copyUp(path.Dir(p), false, b); err != nil {
			return err
		}
	}
	f, name, err := l.base.Parent(p)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if b.entries++; b.entries > maxEntries {
		return fmt.Errorf("%w: more than %d files", errTooMuch, maxEntries)
	}
	to, toName, err := l.own().Parent(p)
	if err != nil {
		return err
	}
	defer to.Close()
	var above unix.Stat_t
	if err := unix.Fstat(to.FD(), &above); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = l.copyDir(p, f, name, to, toName, &st, whole, b)
	case unix.S_IFLNK:
		err = l.copyLink(p, f, name, to, toName, b)
	case unix.S_IFREG:
		err = l.copyFile(p, f, name, to, toName, &st, b)
	default:
		err = fmt.Errorf("%s is neither a file, a folder nor a link", p)
	}
	return errors.Join(err, l.takeOver(to.FD(), &above)) // to copy something into a folder is not to alter it
}

// takeOver gives a copy the time of a thing, and its owner, which only root can: an archive has both.
func (l *Layer) takeOver(fd int, st *unix.Stat_t) error {
	at := fmt.Sprintf("/proc/self/fd/%d", fd)
	if l.base.Self().UID == 0 {
		if err := os.Chown(at, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chtimes(at, time.Time{}, time.Unix(0, st.Mtim.Nano()))
}

func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// unlessThere drops the error of copying a thing that was copied before.
func unlessThere(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

func (l *Layer) copyDir(p string, f safepath.Folder, name string, to safepath.Folder, toName string, st *unix.Stat_t, whole bool, b *bounds) error {
	if p != "/" {
		err := unix.Mkdirat(to.FD(), toName, 0o700)
		if err == nil {
			err = l.takeOverDir(p, st)
		}
		if err = unlessThere(err); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	fd, err := f.Openat(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), p)
	defer d.Close()
	names, err := d.Readdirnames(maxEntries + 1)
	if err != nil && err != io.EOF {
		return err
	}
	for _, n := range names {
		if err := l.copyUp(path.Join(p, n), true, b); err != nil {
			return err
		}
	}
	if !b.untold {
		l.whole[p] = true
	}
	return nil
}

func (l *Layer) takeOverDir(p string, st *unix.Stat_t) error {
	d, err := l.own().Folder(p)
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(l.takeOver(d.FD(), st), unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", d.FD()), st.Mode&0o7777|0o700))
}

func (l *Layer) copyLink(p string, f safepath.Folder, name string, to safepath.Folder, toName string, b *bounds) error {
	target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d/%s", f.FD(), name))
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(target, to.FD(), toName); err != nil {
		return unlessThere(err)
	}
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(p), target)
	}
	return l.copyUp(path.Clean(target), false, b)
}

func (l *Layer) copyFile(p string, f safepath.Folder, name string, to safepath.Folder, toName string, st *unix.Stat_t, b *bounds) error {
	if b.bytes += st.Size; b.bytes > maxCopied {
		return fmt.Errorf("%w: more than %d MiB", errTooMuch, maxCopied>>20)
	}
	out, err := to.Openat(toName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return unlessThere(err)
	}
	w := os.NewFile(uintptr(out), p)
	defer w.Close()
	in, err := f.Openat(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	r := os.NewFile(uintptr(in), p)
	defer r.Close()
	if _, err := io.Copy(w, io.LimitReader(r, maxCopied)); err != nil {
		return err
	}
	return errors.Join(l.takeOver(out, st), unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", out), st.Mode&0o7777))
}
