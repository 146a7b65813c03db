package file

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// absent removes the thing at the path. A link is removed and not followed.
// A missing thing is right already. A folder with contents needs recurse or force, since a wrong
// path would otherwise cost a tree.
func (c *run) absent(n node) error {
	st, err := n.lstat()
	switch {
	case files.IsMissing(err):
		return nil
	case err != nil:
		return err
	case c.res.Symlink && !st.IsLink() && !c.res.Force:
		return fmt.Errorf("%s is a %s and not a link; force: true removes it", n, st.Kind())
	case st.IsDir() != c.res.IsFolder() && !c.res.Force:
		return fmt.Errorf("%s is a %s and the path says otherwise; force: true removes it", n, st.Kind())
	}
	if c.begun(n) {
		return nil
	}
	all := c.res.Recurse || c.res.Force
	if st.IsDir() && !all {
		if err := c.empty(n); err != nil {
			return err
		}
	}
	c.change(n, "state", Exists, Absent, engine.Deleted)
	if !c.apply {
		return nil
	}
	if err := n.dir.Remove(n.name, all); err != nil {
		return err
	}
	c.wrote(n, st)
	return nil
}

// empty is an error where a folder has contents. The kernel refuses to remove such a folder
// anyway; this error comes before the report and names the way out.
func (c *run) empty(n node) error {
	dir, err := n.dir.OpenDir(n.name)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Names()
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s is not empty; recurse: true removes it with what is in it", n)
	}
	return err
}

// link makes a symbolic link right.
// A link with another target is replaced at once by a rename: no reader finds it missing. Modes
// do not apply, because Linux has none for links.
func (c *run) link(n node, target string) error {
	st, err := n.lstat()
	missing := files.IsMissing(err)
	switch {
	case missing:
		c.change(n, "state", nil, Exists, engine.Created)
		c.change(n, "source", nil, target, engine.Updated)
		c.reportNewAttrs(n, -1)
	case err != nil:
		return err
	case st.IsLink():
		has, err := n.dir.Readlink(n.name)
		if err != nil {
			return err
		}
		if has == target {
			return c.linkOwner(n, st)
		}
		c.change(n, "source", has, target, engine.Updated)
		if _, err := c.reportAttrs(n, st, "", false); err != nil {
			return err
		}
	default:
		if err := c.replaces(n, st, "link"); err != nil {
			return err
		}
		c.change(n, "source", nil, target, engine.Updated)
		c.reportNewAttrs(n, -1)
	}
	if !c.apply {
		if missing {
			return c.parent(n)
		}
		return nil
	}
	return c.makeLink(n, st, target)
}

// linkOwner makes owner, group and label of a link right whose target is.
func (c *run) linkOwner(n node, st atomicfile.Stat) error {
	if _, err := c.reportAttrs(n, st, "", false); err != nil {
		return err
	}
	uid, gid, _ := c.altered(st, -1)
	if uid < 0 && gid < 0 && !c.relabel {
		c.remember(n, st, nil)
		return nil
	}
	if !c.apply {
		return nil
	}
	_, err := n.dir.SetAttrs(n.name, st, -1, uid, gid)
	if err == nil && c.relabel {
		_, err = n.dir.SetLabel(n.name, st, c.label(n))
	}
	return err
}

// makeLink puts the link in its place. The owner of an old link stays where none is declared, as
// it does for files.
func (c *run) makeLink(n node, old atomicfile.Stat, target string) error {
	if old.IsDir() {
		if err := n.dir.Remove(n.name, true); err != nil {
			return err
		}
	}
	uid, gid := c.uid, c.gid
	if old.IsLink() && uid < 0 {
		uid = int(old.UID)
	}
	if old.IsLink() && gid < 0 {
		gid = int(old.GID)
	}
	err := c.within(n, func(n node) error { return n.dir.Symlink(n.name, target, uid, gid) })
	if err == nil {
		err = c.labelNew(n)
	}
	if err != nil {
		return err
	}
	if st, err := n.dir.Lstat(n.name); err == nil {
		c.wrote(n, st)
	}
	return nil
}

// folder makes a folder and its contents right.
// The two passes see the same tree unless others write into it. The second
// pass repairs without a second report, but of what takes the place of a file meanwhile.
func (c *run) folder(n node) error {
	if !c.res.deep() {
		_, err := c.oneFolder(n, c.res.Mode)
		return err
	}
	c.managed = c.res.shared().ManagedBelow(c.path)
	c.same = map[string]same{}
	// Everything is looked at and reported before anything is altered.
	apply := c.apply
	c.apply = false
	err := c.tree(n)
	if c.apply = apply; apply && (c.changed || err != nil) {
		c.quiet = true
		err = c.tree(n)
	}
	c.res.seen.entries = c.same
	return err
}

// tree makes the folder and everything below it right, or reports the differences.
// It holds the source folder open, so that all copies come from one tree even if the path is
// given to another one meanwhile.
func (c *run) tree(n node) error {
	var src *atomicfile.Dir
	if c.res.Source != "" {
		f, err := c.paths().Folder(path.Clean(files.OwnCredential(c.res.Source)))
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		defer f.Close()
		src = new(atomicfile.In(f))
	}
	exists, err := c.oneFolder(n, c.res.Mode)
	if err != nil {
		return err
	}
	return c.below(n, exists, src)
}

// oneFolder makes a folder right, without its contents. It reports whether it exists now.
// A new folder is made with its final permissions, or narrower ones, never with wider ones.
func (c *run) oneFolder(n node, mode schema.Mode) (bool, error) {
	st, err := n.lstat()
	switch {
	case files.IsMissing(err):
		c.change(n, "state", nil, Exists, engine.Created)
	case err != nil:
		return false, err
	case st.IsDir():
		return true, c.attrs(n, st, want{mode: mode}, !c.res.deep())
	default:
		if err := c.replaces(n, st, "folder"); err != nil {
			return false, err
		}
	}
	perm, perr := files.Perm(mode, files.FreshFolder, true)
	if perr != nil {
		return false, perr
	}
	c.reportNewAttrs(n, perm)
	if !c.apply {
		if files.IsMissing(err) && !c.res.Recurse {
			return false, c.parent(n)
		}
		return false, nil
	}
	if err == nil {
		if err := n.dir.Remove(n.name, false); err != nil {
			return false, err
		}
	}
	return true, c.makeFolder(n, perm)
}

// makeFolder makes a folder that is missing, with owner, mode and label. perm is -1 for the
// system's default. Afterwards it checks that the folder is its own: another user may have
// exchanged it between the two calls.
func (c *run) makeFolder(n node, perm int) error {
	first := uint32(0o777)
	if perm >= 0 {
		first = uint32(perm) & 0o777
	}
	err := c.within(n, func(n node) error {
		err := n.dir.Mkdir(n.name, first)
		if !errors.Is(err, unix.ENOENT) || !c.res.Recurse || n.rel != "" {
			return err
		}
		if err := c.parents(path.Dir(n.String())); err != nil {
			return err
		}
		return n.dir.Mkdir(n.name, first)
	})
	if err != nil {
		return err
	}
	st, err := n.dir.Lstat(n.name)
	if err != nil {
		return err
	}
	// Its owner must not change by our hand if it is the folder of another user.
	if !st.IsDir() || !n.dir.Made(st) {
		return fmt.Errorf("%s: %w", n, atomicfile.ErrChanged) // it is not the folder that was made
	}
	c.wrote(n, st)
	if uid, gid, m := c.altered(st, perm); uid >= 0 || gid >= 0 || m >= 0 {
		_, err = n.dir.SetAttrs(n.name, st, m, uid, gid)
	}
	if err == nil {
		err = c.labelNew(n)
	}
	return err
}

// parents makes missing folders from the top down.
// They get the mode that the umask leaves, and no owner, for the resource declares none for them.
// Another process may make one of them at the same time.
func (c *run) parents(p string) error {
	n := c.fileAt(p)
	err := n.dir.Mkdir(n.name, 0o777)
	if errors.Is(err, unix.ENOENT) {
		if err := c.parents(path.Dir(p)); err != nil {
			return err
		}
		err = n.dir.Mkdir(n.name, 0o777)
	}
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// below makes the entries of a folder right. exists says whether the folder is
// there: if not, all of source would be made.
// Faults of single entries are gathered, so one bad file does not keep the others from being
// right. Only faults of the folder itself end the work at once.
func (c *run) below(n node, exists bool, src *atomicfile.Dir) error {
	if err := tooDeep(n); err != nil {
		return err
	}
	var none *look
	dst := atomicfile.Dir{}
	if exists {
		var err error
		if dst, err = n.dir.OpenDir(n.name); err != nil {
			return err
		}
		defer dst.Close()
	} else {
		dst = atomicfile.At(n.String()) // for messages
		none = noLook()
	}
	var errs []error
	wanted := map[string]bool{}
	if src != nil {
		names, err := src.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			if atomicfile.IsTemp(name) {
				continue
			}
			wanted[name] = true
			errs = append(errs, c.entry(node{dst, name, path.Join(n.rel, name), none}, *src, name))
		}
	}
	if c.res.Purge && exists {
		errs = append(errs, c.purgeBelow(n, dst, wanted))
	}
	return errors.Join(errs...)
}

// deepest is how many folders, one in another, are compared with those of a source or of the
// graph: for each there are two descriptors open. A tree to remove may be deeper.
const deepest = 200

// tooDeep refuses a tree that would use up the descriptors of the process.
func tooDeep(n node) error {
	if strings.Count(n.rel, "/") < deepest {
		return nil
	}
	return fmt.Errorf("%s: more than %d folders one in another are not compared; remove what is below", safepath.Short(n.String()), deepest)
}

// entry copies one thing from source.
// Devices, sockets and pipes are errors: a copy of them would be another thing than the original.
func (c *run) entry(n node, src atomicfile.Dir, name string) error {
	st, err := src.Lstat(name)
	switch {
	case err != nil:
		return fmt.Errorf("source: %w", err)
	// The copy gives way, so that each path has one owner in the graph.
	case c.managed[n.rel] && !st.IsDir():
		return nil // another resource of the graph says what it is
	case st.IsDir():
		sub, err := src.OpenDir(name)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		defer sub.Close()
		exists := false
		if has, herr := n.lstat(); c.managed[n.rel] && herr == nil && has.IsDir() {
			exists = true // another resource says whose it is
		} else if exists, err = c.oneFolder(n, c.copiedMode(st)); err != nil {
			return err
		}
		return c.below(n, exists, &sub)
	case st.IsLink():
		target, err := src.Readlink(name)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		return c.link(n, target)
	case st.IsRegular():
		return c.file(n, want{
			body:   bodyFrom(src, name, st.Size),
			mode:   c.copiedMode(st),
			inputs: []atomicfile.Stat{st},
		})
	default:
		return fmt.Errorf("source %s is a %s, and only files, folders and links are copied: remove it, or name another source", src.Path(name), st.Kind())
	}
}

// purgeBelow removes the entries of a folder that neither source nor graph has.
// A temporary file stays while its writer may still live; an old one is litter and goes. That of another resource stays in any case:
// between its close and its rename nothing tells that it is in use, and its resource takes it away if it is left.
func (c *run) purgeBelow(n node, dst atomicfile.Dir, wanted map[string]bool) error {
	names, err := dst.Names()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		rel := path.Join(n.rel, name)
		itself, leads := c.managed[rel]
		switch {
		// These stay: copies of the source, paths of other resources, and files that are being written.
		case wanted[name], itself, atomicfile.IsTemp(name) && (!dst.Stale(name) || c.writes(n.rel, name)):
		case leads:
			errs = append(errs, c.purgeInside(node{dst, name, rel, nil}))
		default:
			errs = append(errs, c.purgeOne(node{dst, name, rel, nil}))
		}
	}
	return errors.Join(errs...)
}

// writes reports whether another resource writes a file of the folder rel to the temporary file temp.
func (c *run) writes(rel, temp string) bool {
	for at, itself := range c.managed {
		if itself && at == path.Join(rel, path.Base(at)) && atomicfile.IsTempOf(temp, path.Base(at)) {
			return true
		}
	}
	return false
}

// purgeInside purges a folder that itself stays, since it leads to something
// that is managed.
func (c *run) purgeInside(n node) error {
	st, err := n.lstat()
	if err != nil || !st.IsDir() {
		return err
	}
	return c.below(n, true, nil)
}

// purgeOne removes an entry with everything below it. It crosses no mount point. That the entry
// has gone meanwhile is right.
func (c *run) purgeOne(n node) error {
	st, err := n.lstat()
	if files.IsMissing(err) {
		return nil
	}
	if err != nil || c.begun(n) {
		return err
	}
	c.change(n, "state", st.Kind(), Absent, engine.Deleted)
	if !c.apply {
		return nil
	}
	c.wrote(n, st)
	return n.dir.Remove(n.name, true)
}
