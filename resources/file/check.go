package file

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/received"
)

// seen is the state that a run has found right or made right, with the facts that prove it
// later. The zero value is nothing.
// It belongs to the resource and outlives runs. Only the goroutine of a CheckApply reads and
// writes it, and the engine never runs two for one resource.
type seen struct {
	// ok is true once the path was found or made right, and its Stat can prove that later.
	ok       bool
	stat     atomicfile.Stat // of the path itself
	content  string          // the wanted content; it shares its memory with Content
	uid, gid int
	inputs   []atomicfile.Stat // of source or fragments
	entries  map[string]same
}

// same is a pair of files of equal content, below source and path.
// Each Stat has device, inode, size and times, so that a rewritten file is never taken for the
// file of before.
type same struct{ from, to atomicfile.Stat }

// run is one CheckApply.
// It lives for one call and is used by one goroutine. Descriptors in held are its own; close
// gives them back. With apply false it alters nothing on the machine and still reports every
// difference, because a noop must say the same as a real run.
type run struct {
	res      *Res // the declared parameters, and the findings of earlier runs
	ctx      context.Context
	apply    bool
	quiet    bool // changes were reported already
	changed  bool
	path     string // as declared
	uid, gid int    // -1 for not managed
	secret   bool   // the content must not be shown
	confined bool   // the content of the node that is looked at is not for all users
	started  time.Time
	lost     error             // why nothing can be made where the path leads; nil for no reason
	held     []atomicfile.Dir  // folders that are open until close
	first    [1]atomicfile.Dir // room for a single folder, as most runs hold
	look     look              // of the walk to the path
	text     body              // room for the content, where that is a text
	managed  map[string]bool
	same     map[string]same // pairs that this run found equal
	relabel  bool            // the label of the path differs, as reportAttrs has told
	alters   bool            // apply, whatever a look before it says
	again    bool            // a file was read once more, since it changed meanwhile
}

// node is a name in a folder; rel is its path below the folder that is
// copied, empty for the path itself.
// A node is a value: a copy of it names the same thing. Its folder is an open descriptor, so
// another user who moves the folder meanwhile cannot lead the write elsewhere.
type node struct {
	dir  atomicfile.Dir
	name string
	rel  string
	seen *look
}

// look is a look at a node that was had already. It is used once.
// It saves a second system call, and both users of a node decide by the same facts.
type look struct {
	stat atomicfile.Stat
	err  error
	used bool
	stay bool // it is used always
}

// noLook is the look at the contents of a folder that does not exist yet.
// It answers each time, for the folder stays missing as long as the run only looks.
func noLook() *look { return &look{err: unix.ENOENT, stay: true} }

// lstat looks at the thing itself and follows no link. It answers from an earlier look once,
// and asks the kernel from then on. The error is ENOENT where nothing is there.
func (n node) lstat() (atomicfile.Stat, error) {
	if l := n.seen; l != nil && (l.stay || !l.used) {
		l.used = true
		return l.stat, l.err
	}
	return n.dir.Lstat(n.name)
}

// String is the absolute path of the node, for messages and for the notes of other files.
func (n node) String() string { return n.dir.Path(n.name) }

// CheckApply makes the file right. It costs one look where nothing has changed
// since the last run.
// It returns true where nothing differs, and false where something differed, also after it has
// been repaired. An error leaves the file in its old or its new state, never between them.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	c := &run{res: r, ctx: ctx, apply: apply, alters: apply, path: r.filePath(), started: engine.ClockOf(r.init.Host).Now()}
	// A secret is recognised before anything is read, so no report of this run can show it.
	c.secret = received.Tainted(r.init, "content", "Content") || c.res.shared().HoldsSecret(r.copied()) || files.IsCredential(r.copied())
	if c.secret {
		c.res.shared().KeepSecret(c.path)
	}
	if r.back && r.shared().IsPurged(c.path) {
		return true, nil // what comes back would go at once
	}
	r.tell(c.path) // it may have been received
	if err := c.owners(); err != nil {
		return false, err
	}
	if c.unchanged() {
		return true, nil
	}
	// From here on the earlier findings count for nothing: a failed run must not look like a good one.
	// Findings about entries prove themselves by both Stats and may stay.
	r.seen = seen{entries: r.seen.entries}
	// A Watch that wakes during this run must not compare with the state before it.
	r.left.Store(nil)
	defer c.close()
	err := c.run()
	if s := &r.seen; s.ok && s.inputs == nil && !c.res.IsFolder() {
		r.left.Store(new(safepath.State(s.stat)))
	}
	return !c.changed && err == nil, err
}

// owners looks up who the owner and the group are.
// A name without a user is an error of the run, not of Validate: another resource of the graph
// may make the user first. The numbers are -1 where the parameter is not given.
func (c *run) owners() (err error) {
	c.uid, c.gid, err = c.res.shared().Owners(c.res.init.Host, c.res.Owner, c.res.Group)
	return err
}

// unchanged reports whether everything is as a run has left or found it.
// It costs one system call for a file, and one more for each input. It never opens the file.
// A received value that has changed since the last run forces a full look.
func (c *run) unchanged() bool {
	s := &c.res.seen
	if !s.ok || s.uid != c.uid || s.gid != c.gid || c.res.Content != nil && *c.res.Content != s.content {
		return false
	}
	for _, send := range c.res.init.Recv() {
		if send.Changed {
			return false
		}
	}
	// One look at the path decides. A file system whose clock is too coarse for that was never
	// remembered.
	st, err := atomicfile.RawLstat(safepath.Of(c.res.init.Host), cmp.Or(strings.TrimRight(c.path, "/"), "/"))
	if err != nil || st != s.stat {
		return false
	}
	if s.inputs == nil {
		return true
	}
	in, err := c.inputs()
	return err == nil && slices.Equal(in, s.inputs)
}

// remember keeps that the path is right with this Stat, if it can be told later
// whether it still is. inputs are from before they were read.
// A Stat proves something only once its clock has moved on: a write in the same tick would leave
// the same times. Then the run remembers nothing, and the next one reads the file again.
func (c *run) remember(n node, st atomicfile.Stat, inputs []atomicfile.Stat) {
	if at := strings.TrimSuffix(c.path, "/"); n.rel != "" || n.String() != at || !c.settled(at, st) {
		return
	}
	for i, in := range inputs {
		if !c.settled(c.inputPath(i), in) {
			return
		}
	}
	if len(inputs) > 0 {
		if now, err := c.inputs(); err != nil || !slices.Equal(now, inputs) {
			return
		}
	}
	c.res.seen.ok, c.res.seen.stat, c.res.seen.inputs = true, st, inputs
	c.res.seen.uid, c.res.seen.gid = c.uid, c.gid
	if c.res.Content != nil {
		c.res.seen.content = *c.res.Content
	}
}

// settled reports whether a later write must change this Stat. It asks the clock of the file
// system, whose steps may be as long as two seconds.
func (c *run) settled(at string, st atomicfile.Stat) bool {
	return st.Settled(c.res.shared().Clock(st.Dev, at), c.started)
}

// paths returns the Walker for every path of the resource: as the owner, if that is another user,
// where it has to go by a link of that user.
func (c *run) paths() safepath.Walker { return safepath.Of(c.res.init.Host).ForOwner(c.uid) }

// way returns the Walker for the path itself. Of a folder, whatever looks at it by the descriptor of the one above sees all that is in it.
func (c *run) way() safepath.Walker {
	if c.res.IsFolder() && (c.res.deep() || c.res.undo != nil || c.res.State == Absent) {
		return c.paths().WithAll()
	}
	return c.paths()
}

// node opens the folder of the path, and keeps it open until close. A link in the last
// place is not followed. Where the folder is missing each use looks for it anew.
// The error names the first link or folder of the path that is refused, and the reason.
func (c *run) node() (node, error) {
	f, name, err := c.way().Parent(c.path)
	if files.IsMissing(err) {
		return c.fileAt(c.path), nil
	}
	if err != nil {
		return node{}, err
	}
	return node{dir: c.keep(f), name: name}, nil
}

// keep has a folder closed by close.
// It takes over the descriptor from the caller.
func (c *run) keep(f safepath.Folder) atomicfile.Dir {
	d := atomicfile.In(f)
	if c.held == nil {
		c.held = c.first[:0]
	}
	c.held = append(c.held, d)
	return d
}

// close closes the folders that node and follow have opened.
// It is called once, at the end of the run, in each outcome.
func (c *run) close() {
	for _, d := range c.held {
		d.Close()
	}
	c.held = nil
}

// atPath returns a path as a name in a folder that each use looks for anew.
// Each use then walks the path anew, and checks each of its links again.
func (c *run) fileAt(p string) node { return nodeAt(c.paths(), p) }

// nodeAt is fileAt for a caller that has no run.
func nodeAt(w safepath.Walker, p string) node {
	dir, name := files.At(w, p)
	return node{dir: dir, name: name}
}

// run picks the work by the declared parameters: taking back, removing, making a link, or making
// a file or folder. It reports each difference by change before it alters anything.
func (c *run) run() error {
	if c.res.undo == nil && c.res.State != Absent && !c.res.Symlink {
		return c.runFollowing()
	}
	n, err := c.node()
	switch {
	case err != nil:
		return err
	case c.res.undo != nil:
		return c.unmake(n)
	case c.res.State == Absent:
		return c.absent(n)
	}
	return c.link(n, c.res.Source)
}

// runFollowing makes a file or a folder right, behind the links of the path. Inputs are looked
// at before the content is opened, so a change between the two shows in the next run.
func (c *run) runFollowing() error {
	n, err := c.follow()
	if err != nil {
		return err
	}
	if c.res.IsFolder() {
		return c.folder(n)
	}
	inputs, err := c.inputs()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	return c.file(n, want{body: body, mode: c.res.Mode, inputs: inputs})
}

// follow opens the folder of the path's target: the thing behind a link is managed and the link
// stays, unless force is given. A link that another user may have put there is not followed.
// The look of the walk is the first look of the node. Between them lies no gap in which another
// user could exchange the thing.
func (c *run) follow() (node, error) {
	if c.res.Force || c.res.ReplaceLink {
		return c.node()
	}
	p, err := c.way().Place(strings.TrimRight(c.path, "/"))
	if files.IsMissing(err) {
		return c.lostAt(err)
	}
	if err != nil {
		return node{}, c.refused(err)
	}
	c.look = look{stat: atomicfile.FromSys(&p.Stat)}
	if p.Missing {
		c.look.err = unix.ENOENT
	}
	return node{dir: c.keep(p.Folder), name: p.Name, seen: &c.look}, nil
}

// lostAt returns a node for a path that leads to nothing, not even to a folder. Where a
// link in the last place is the reason, nothing can be made by that path.
func (c *run) lostAt(err error) (node, error) {
	n := c.fileAt(c.path) // the next look tells the error
	if st, lerr := n.dir.Lstat(n.name); lerr == nil && st.IsLink() {
		n.seen = noLook()
		c.lost = files.Explained(err, "%s is a link that leads to no folder: %v", n, err)
	}
	return n, nil
}

// refused adds what force would do, where the path itself is the link.
// Other refusals stay as they are, since force does not help in the middle of a path.
func (c *run) refused(err error) error {
	e, ok := errors.AsType[*safepath.RefusedError](err)
	if ok && e.Element == strings.TrimRight(c.path, "/") {
		return fmt.Errorf("%w (or force: true, which replaces the link)", err)
	}
	return err
}

// change reports a difference in a parameter of a node.
// An entry of a folder is reported under entries, so that a reader of the log sees which one.
// Texts pass the redaction that fits the file: none, a digest, or only the size.
func (c *run) change(n node, field string, from, to any, verb engine.Verb) {
	c.changed = true
	if c.quiet {
		return
	}
	if n.rel != "" {
		field = fmt.Sprintf("entries[%q].%s", n.rel, field)
	}
	switch {
	// Only contents are hidden; owners and modes are in no secret.
	case field != "content":
	case c.secret:
		from, to = confined.Hide(from), confined.Hide(to)
	case c.confined:
		from, to = confined.Text(from), confined.Text(to)
	case c.res.sums:
		from, to = confined.Sum(from), confined.Sum(to)
	}
	change := engine.Change{Field: field, From: from, To: to, Verb: verb}
	if verb == engine.Deleted {
		change.Print = c.print(n)
	}
	c.res.init.Change(change)
}

// begun reports whether somebody is in the middle of writing, replacing or removing what is at n. Then the run leaves
// it, since the host wakes the resource when he is done.
func (c *run) begun(n node) bool {
	host, ok := c.res.init.Host.(hosting.Writers)
	if !ok || !c.alters {
		return false
	}
	n.dir.Settle(n.name)
	return host.Writing(c.ctx, n.String())
}

// printMax is the length of a file up to which its content tells it from others.
const printMax = 64 << 10

// print tells a file that is about to be removed from others of its name; empty where it is no file.
func (c *run) print(n node) string {
	f, st, err := n.dir.Open(n.name)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if st.Size <= printMax {
		_, _ = io.Copy(sum, io.LimitReader(f, printMax))
	}
	return fmt.Sprintf("%d %x", st.Size, sum.Sum(nil))
}

// replaces reports that something else is in the place of the wanted thing.
// Without force it is an error that names the parameter which allows the replacement. A folder
// in the way is removed with everything below it.
func (c *run) replaces(n node, st atomicfile.Stat, want string) error {
	if !c.res.Force && !(c.res.ReplaceLink && st.IsLink() && n.rel == "") {
		return fmt.Errorf("%s is a %s and not a %s; force: true replaces it", n, st.Kind(), want)
	}
	c.change(n, "state", st.Kind(), want, engine.Updated)
	return nil
}

// within makes something in the folder of n by calling do, and once more if the folder was missing
// and is there again: while one resource removes a tree, another may make the folder anew. do may
// be called twice, the second time with the folder that is there then.
func (c *run) within(n node, do func(node) error) error {
	if n.rel == "" && c.lost != nil {
		return c.lost
	}
	err := do(n)
	if err == nil {
		return nil
	}
	// The second try has the folder of now. A third is not needed: a second removal is told by
	// the error.
	if files.IsMissing(err) && files.HasParent(c.paths(), n.String()) {
		if n.rel == "" {
			n = c.fileAt(n.String())
		}
		err = do(n)
	}
	return c.noParent(n, err)
}

// files.NoParent turns the error of making something in a missing folder into an error with the way out.
func (c *run) noParent(n node, err error) error {
	return files.NoParent(c.res.shared(), c.paths(), n.String(), err)
}

// parent says, where nothing is altered, what making something would say.
// A noop run would otherwise promise a file for which there is no folder.
func (c *run) parent(n node) error {
	if c.apply || n.rel != "" {
		return nil
	}
	if c.lost != nil {
		return c.lost
	}
	_, err := n.dir.Self()
	return c.noParent(n, err)
}

// wrote notes that something was altered in the folder of n.
// The shared state then syncs the file system once for many files, and wakes other resources that
// watch the folder.
func (c *run) wrote(n node, st atomicfile.Stat) {
	c.res.shared().Wrote(st.Dev, n.dir.Path(""), c.res.init)
}
