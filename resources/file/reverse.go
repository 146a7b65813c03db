package file

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// Reversed returns the resource that undoes it. The old state comes back as far as this resource
// managed it: a file with only its mode managed gets its old mode and keeps its present content. A
// new thing is taken back: see takeBack.
// It does no I/O. The error says which state cannot come back, and the engine then refuses reverse
// before the first change.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	undo := &Res{Path: r.Path, Dirname: r.Dirname, Basename: r.Basename}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	if before == nil {
		return r.unmade(undo), nil
	}
	was, ok := before.(*Res)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case was.State == Absent:
		return r.unmade(undo), nil
	case r.deep() || r.IsFolder() && r.State == Absent && (r.Recurse || r.Force):
		return nil, errors.New("what was below a folder is not kept, so it can't be brought back")
	}
	// A thing of another type has to come back as a whole, with parameters that were not managed.
	replaced := r.State == Absent || r.Symlink != was.Symlink
	if err := r.canGoBack(was, replaced); err != nil {
		return nil, err
	}
	r.goBack(undo, was, replaced)
	undo.back = true
	return undo, nil
}

// unmade makes undo a resource that takes back everything that this resource has made.
// It copies from the resource only how far its work went; the resource itself may be gone from the
// graph when undo runs.
func (r *Res) unmade(undo *Res) engine.Res {
	undo.State = Absent
	undo.undo = &undoing{link: r.Symlink, itself: r.Symlink || r.Force, body: r.hasBody(), all: r.IsFolder() && r.Purge}
	if r.IsFolder() && r.Recurse {
		undo.undo.source = r.Source
	}
	return undo
}

// canGoBack refuses a return to a thing that can't have been kept.
// The three cases are a folder with contents, a thing in whose place a folder came, and a content
// of more than keptMax bytes.
func (r *Res) canGoBack(was *Res, replaced bool) error {
	switch {
	case was.IsFolder() != r.IsFolder() && was.IsFolder():
		return fmt.Errorf("%s was a folder, and what was in it is not kept", r.filePath())
	case was.IsFolder() != r.IsFolder():
		return fmt.Errorf("%s was no folder, and what a folder has replaced is not brought back", r.filePath())
	case (replaced || r.hasBody()) && was.Content == nil && !was.Symlink && !was.IsFolder():
		return fmt.Errorf("what is in %s can't be kept: it has more than %s, or is no file", r.filePath(), schema.Size(keptMax))
	}
	return nil
}

// goBack fills undo with the old state; replaced says that the thing itself was another one, so
// that all of it has to come back.
// Else parameters that the resource never managed stay unset, so undo leaves them alone.
func (r *Res) goBack(undo, was *Res, replaced bool) {
	if replaced || r.makes() {
		undo.State = Exists
	}
	undo.Symlink, undo.Force = was.Symlink, r.State != Absent && r.Symlink != was.Symlink
	if was.Symlink {
		undo.Source = was.Source
	}
	if replaced || r.hasBody() {
		undo.Content = was.Content
	}
	if replaced || r.Owner != "" {
		undo.Owner = was.Owner
	}
	if replaced || r.Group != "" {
		undo.Group = was.Group
	}
	if replaced || r.Mode != "" {
		undo.Mode = was.Mode
	}
	if replaced || r.SELinux != "" {
		undo.SELinux, undo.attr = was.SELinux, r.attr
	}
}

// undoing says what a resource has made that undoes itself now.
// It is set once, when undo is made, and only read afterwards. Only waits changes: the goroutine of
// a run writes it, and the engine reads it from another one.
type undoing struct {
	link   bool   // a symbolic link
	itself bool   // at the path itself, and not where a link there leads to
	body   bool   // the content was its own
	all    bool   // of a folder: everything in it was its own, as purge says
	source string // of a folder: the source of its copied contents; empty for none

	waits atomic.Bool // of a folder: something in it is in the graph, so it stays for now
}

// again returns the same for another run of it.
func (u *undoing) again() *undoing {
	if u == nil {
		return nil
	}
	return &undoing{link: u.link, itself: u.itself, body: u.body, all: u.all, source: u.source}
}

// Undone reports whether nothing is left to take back: a folder stays as long as there is something in it that
// the graph has.
func (r *Res) Undone() bool { return r.undo == nil || !r.undo.waits.Load() }

// unmake takes back everything that the resource has made. When nothing is left of that the path is
// managed no more, so that a folder above it that is to go does not wait for it. In a plan that is so as soon as it is known.
// It returns nil where everything was taken back or had to be left. An error means that the engine
// tries again.
func (c *run) unmake(n node) error {
	err := c.takeBack(n)
	if err == nil && c.res.Undone() && (c.apply || planning.Frees(c.res.init.Host, c.path)) {
		c.res.tell("")
	}
	return err
}

// takeBack removes the things that the resource has made, and nothing else. Other things in its
// place, or in its folder, are left, and the log says so. That does not fail, for there is nothing
// more to undo.
// A thing of another type is not its own any more. Nor is a file that it made without a content,
// and into which others have written.
func (c *run) takeBack(n node) error {
	if !c.res.undo.itself {
		var err error
		if n, err = c.follow(); err != nil {
			return err
		}
	}
	st, err := n.lstat()
	switch {
	case files.IsMissing(err):
		return nil
	case err != nil:
		return err
	case st.IsDir() != c.res.IsFolder() || st.IsLink() != c.res.undo.link:
		return c.leave(n, "it is a "+st.Kind()+" now")
	case st.IsRegular() && !c.res.undo.body && st.Size > 0:
		return c.leave(n, "others have written into it")
	case !st.IsDir():
		return c.drop(n, st, false)
	}
	return c.takeBackFolder(n)
}

// leave says in the log why a thing stays. A noop run says nothing: it would not have removed it.
func (c *run) leave(n node, why string) error {
	if c.apply {
		c.res.init.Logf("%s was made for this resource and is left, because %s", n, why)
	}
	return nil
}

// drop reports the removal of a thing and, unless the run only looks, removes it. With all it goes
// with everything below.
func (c *run) drop(n node, st atomicfile.Stat, all bool) error {
	c.change(n, "state", Exists, Absent, engine.Deleted)
	if !c.apply {
		return nil
	}
	c.wrote(n, st)
	return n.dir.Remove(n.name, all)
}

// takeBackFolder looks at everything and reports it before it removes anything.
// While another resource of the graph has a path below, the folder waits. The log says so once,
// not in each run.
func (c *run) takeBackFolder(n node) error {
	waited := c.res.undo.waits.Swap(false)
	c.managed = c.res.shared().ManagedBelow(c.path)
	apply := c.apply
	c.apply = false
	err := c.takeBackTree(n)
	if c.apply = apply; err != nil || !apply {
		return err
	}
	if c.res.undo.waits.Load() && !waited {
		c.res.init.Logf("%s was made for this resource and goes when what is in it has left the graph", n)
	}
	c.quiet = true
	return c.takeBackTree(n)
}

// takeBackTree takes back a folder, or reports that it would. A purged folder goes as a whole; of
// another one only the copies go, and then the folder if it is empty.
func (c *run) takeBackTree(n node) error {
	st, err := n.lstat()
	if err != nil {
		return err
	}
	if c.res.undo.all && len(c.managed) == 0 {
		return c.drop(n, st, true)
	}
	src, err := c.copiedFrom()
	if err != nil {
		return err
	}
	if src != nil {
		defer src.Close()
	}
	bare, err := c.takeBackBelow(n, src)
	switch {
	case err != nil:
		return err
	case !bare && slices.Contains(slices.Collect(maps.Values(c.managed)), true):
		c.res.undo.waits.Store(true)
		return nil
	case !bare:
		return c.leave(n, "there is something in it that others have put there")
	}
	return c.drop(n, st, false)
}

// copiedFrom opens the folder whose copies are to be taken back; nil for none.
// The caller closes it. A source that is gone means that no entry can be told from those of others:
// all stay.
func (c *run) copiedFrom() (*atomicfile.Dir, error) {
	if c.res.undo.source == "" {
		return nil, nil
	}
	f, err := c.paths().Folder(path.Clean(c.res.undo.source))
	if files.IsMissing(err) {
		return nil, nil // which entries are copies is not known any more
	}
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return new(atomicfile.In(f)), nil
}

// takeBackBelow removes the copies of src from a folder, and reports whether nothing is left in it.
// It stops at the first error, since a half-known folder must not be removed.
func (c *run) takeBackBelow(n node, src *atomicfile.Dir) (bare bool, err error) {
	if err := tooDeep(n); err != nil {
		return false, err
	}
	dst, err := n.dir.OpenDir(n.name)
	if err != nil {
		return false, err
	}
	defer dst.Close()
	names, err := dst.Names()
	if err != nil {
		return false, err
	}
	bare = true
	for _, name := range names {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		gone, err := c.takeBackEntry(node{dst, name, path.Join(n.rel, name), nil}, src)
		if err != nil {
			return false, err
		}
		bare = bare && gone
	}
	return bare, nil
}

// takeBackEntry takes back one entry if source still has one of that name and type. An entry that
// the graph manages stays, for its own resource decides about it.
func (c *run) takeBackEntry(n node, src *atomicfile.Dir) (gone bool, err error) {
	if _, managed := c.managed[n.rel]; src == nil || managed {
		return false, nil
	}
	st, err := n.lstat()
	if err != nil {
		return files.IsMissing(err), ignoreMissing(err)
	}
	from, err := src.Lstat(n.name)
	if err != nil || from.Kind() != st.Kind() {
		return false, ignoreMissing(err)
	}
	if !st.IsDir() {
		return true, c.drop(n, st, false)
	}
	sub, err := src.OpenDir(n.name)
	if err != nil {
		return false, fmt.Errorf("source: %w", err)
	}
	defer sub.Close()
	if bare, err := c.takeBackBelow(n, &sub); err != nil || !bare {
		return false, err
	}
	return true, c.drop(n, st, false)
}

// ignoreMissing makes no error of a missing thing.
func ignoreMissing(err error) error {
	if files.IsMissing(err) {
		return nil
	}
	return err
}
