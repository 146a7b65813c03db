package file

import (
	"errors"
	"fmt"
	"io"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// want is what one plain file shall be.
// The caller looks at inputs before it opens body. So the pair never claims a content that is
// newer than its Stat.
type want struct {
	body   *body // nil leaves the content alone
	mode   schema.Mode
	inputs []atomicfile.Stat // of body, from before it is read
}

// file makes one plain file right. Where something else takes its place meanwhile, that is looked
// at too, and reported: its text is lost otherwise. Earlier reports stand.
func (c *run) file(n node, w want) error {
	defer func(quiet bool) { c.quiet = quiet }(c.quiet)
	return atomicfile.Retry(func() error {
		err := c.lookedAt(n, w)
		c.quiet, n.seen = false, nil
		return err
	})
}

// lookedAt makes a plain file right as it is when it is looked at.
// Something other than a file goes away before the new file is written, since a rename cannot
// replace a folder.
func (c *run) lookedAt(n node, w want) error {
	st, err := n.lstat()
	switch {
	case files.IsMissing(err):
		if c.begun(n) {
			return nil
		}
		return c.newFile(n, w)
	case err != nil:
		return err
	case st.IsRegular():
		return c.oldFile(n, w, st)
	}
	if err := c.replaces(n, st, "file"); err != nil {
		return err
	}
	if err := c.reportNew(n, w); err != nil || !c.apply {
		return err
	}
	if err := n.dir.Remove(n.name, true); err != nil {
		return err
	}
	return c.writeNew(n, w)
}

// newFile makes a missing file. A resource that declares only owner, group or mode makes none:
// an empty file would hide the mistake.
func (c *run) newFile(n node, w want) error {
	// Entries of a copied folder are always made.
	if n.rel == "" && !c.res.makes() {
		return fmt.Errorf("%s does not exist; state: exists or a content would make it", n)
	}
	c.change(n, "state", nil, Exists, engine.Created)
	if err := c.reportNew(n, w); err != nil {
		return err
	}
	if !c.apply {
		return c.parent(n)
	}
	return c.writeNew(n, w)
}

// reportNew reports the content and the attributes of a new file.
// An empty content is not reported: the creation says it already.
func (c *run) reportNew(n node, w want) error {
	mode, err := c.newMode(w)
	if err != nil {
		return err
	}
	c.confined = mode >= 0 && confined.Shuts(uint32(mode))
	if w.body != nil && !c.quiet {
		to, err := w.body.show(c.ctx)
		if err != nil {
			return err
		}
		if to != "" {
			c.change(n, "content", nil, to, engine.Updated)
		}
	}
	c.reportNewAttrs(n, mode)
	return nil
}

// reportNewAttrs reports owner, group, mode and label that something new gets. mode is -1 where
// the system's default applies.
func (c *run) reportNewAttrs(n node, mode int) {
	if c.res.Owner != "" {
		c.change(n, "owner", nil, c.res.Owner, engine.Updated)
	}
	if c.res.Group != "" {
		c.change(n, "group", nil, c.res.Group, engine.Updated)
	}
	if mode >= 0 {
		c.change(n, "mode", nil, files.Octal(uint32(mode)), engine.Updated)
	}
	if l := c.label(n); l.Value != "" {
		c.change(n, "selinux", nil, l.Value, engine.Updated)
	}
}

// newMode returns the permissions of a new file, -1 for the system's default.
// A file with a secret is private from its first byte, unless a mode says otherwise.
func (c *run) newMode(w want) (int, error) {
	if w.mode == "" && c.secret && w.body != nil {
		return files.PrivateMode, nil
	}
	return files.Perm(w.mode, files.FreshFile, false)
}

// writeNew writes a file where there is none, and keeps the finding if the Stat is sure.
func (c *run) writeNew(n node, w want) error {
	mode, err := c.newMode(w)
	if err != nil {
		return err
	}
	res, err := c.write(n, w, &atomicfile.New{Mode: mode, UID: c.uid, GID: c.gid})
	if err == nil && res.Sure {
		c.found(n, res.Stat, w)
	}
	return err
}

// write is the only place that writes a file. The validator is asked about a copy first. The new
// file lies next to its place until it is whole and has its attributes. A rename then puts it there.
func (c *run) write(n node, w want, f *atomicfile.New) (atomicfile.Result, error) {
	f.Name, f.Size, f.Label = n.name, -1, c.label(n)
	// A folder without leftovers of earlier runs need not be searched for them.
	f.NoneLeft = f.Old == nil && c.res.shared().NoneLeft(n.dir, n.name)
	if w.body != nil {
		f.Size = w.body.size
		f.Fill = func(out io.Writer) error { return w.body.writeTo(c.ctx, out) }
		if c.res.ValidateCmd != "" && n.rel == "" {
			f.Check = c.res.validator().By(c.ctx, c.res.init.Host, c.withheld(w))
		}
	}
	var res atomicfile.Result
	err := c.within(n, func(n node) (err error) {
		f.Dir = n.dir
		res, err = f.Write()
		return err
	})
	if err != nil {
		return res, err
	}
	c.wrote(n, res.Stat)
	if res.InPlace {
		c.res.init.Logf("%s can't be replaced, it was written in place", n)
	}
	return res, nil
}

// withheld says what a validator must not show of a content.
// A validator prints lines of the file that it rejects. The lines reach the log only as far as
// the content itself may.
func (c *run) withheld(w want) command.Withheld {
	private := c.confined || c.quiet
	return command.Withheld{All: c.secret || private && !w.body.exact, Text: ifTrue(private, w.body.text)}
}

// ifTrue is the text if yes, and else empty.
func ifTrue(yes bool, text string) string {
	if !yes {
		return ""
	}
	return text
}

// oldFile makes an existing plain file right.
// It reads the file only if Stat and earlier findings cannot decide. The descriptor of the
// comparison is the one from which attributes are kept, so both are of one file.
func (c *run) oldFile(n node, w want, st atomicfile.Stat) error {
	if w.body == nil || c.res.Keep && n.rel == "" || c.knownSame(n, st, w) {
		return c.attrs(n, st, w, false)
	}
	f, now, err := n.dir.Open(n.name)
	if err != nil {
		return c.unreadable(n, err)
	}
	defer f.Close()
	// The comparison runs before any report, so that an unchanged file costs no text of a report.
	same, err := w.body.equal(c.ctx, f, now)
	if err != nil {
		return err
	}
	if same && !now.Strange(c.uid) {
		// Only if it did not change while it was read is it known what was read.
		end, err := f.Stat()
		return errors.Join(err, c.attrs(n, now, w, end == now))
	}
	if f.Settle(); c.begun(n) {
		return nil
	}
	// What was read while it changed is the text of nobody. It is read once more; after that, writing will tell.
	if end, err := f.Stat(); err == nil && end != now && !c.again {
		c.again, n.seen = true, nil
		return c.lookedAt(n, w)
	}
	// The file of a stranger may be open for writing there. So it is replaced although its text is right.
	if !same {
		if err := c.reportContent(n, f, now, w); err != nil {
			return err
		}
	}
	mode, err := c.reportAttrs(n, now, w.mode, true)
	if err != nil || !c.apply {
		return err
	}
	res, err := c.write(n, w, &atomicfile.New{Mode: mode, UID: c.uid, GID: c.gid, Old: &now, From: f})
	if err == nil && res.Sure {
		c.found(n, res.Stat, w)
	}
	return err
}

// unreadable explains an error of opening. The look before has found a plain file, so a missing
// one, a link or a device now means that another process has exchanged it.
func (c *run) unreadable(n node, err error) error {
	if files.IsMissing(err) || errors.Is(err, unix.ELOOP) || errors.Is(err, atomicfile.ErrNotRegular) {
		return fmt.Errorf("%s: %w", n, atomicfile.ErrChanged)
	}
	return err
}

// reportContent reports the difference of the content of f, as much of it as
// there was when it was looked at; a size of 0 may be untold (/proc).
// The old text is hidden if the old or the new permissions shut others out: a report lives longer
// than either.
func (c *run) reportContent(n node, f *atomicfile.File, st atomicfile.Stat, w want) error {
	if c.quiet {
		c.changed = true
		return nil
	}
	f.Rewind()
	want, err := c.wantPerm(n, st, w.mode, true)
	if err != nil {
		return err
	}
	c.confined = confined.Shuts(st.Perm()) || want >= 0 && confined.Shuts(uint32(want))
	from, err := showOld(c.ctx, f, st.Size)
	if err != nil {
		return err
	}
	to, err := w.body.show(c.ctx)
	if err != nil {
		return err
	}
	c.change(n, "content", from, to, engine.Updated)
	return nil
}

// attrs makes owner, group and mode of something right whose content is.
// It leaves equal ones alone. sure says that the content was compared with exactly this
// Stat, so a later run may trust it.
func (c *run) attrs(n node, st atomicfile.Stat, w want, sure bool) error {
	mode, err := c.reportAttrs(n, st, w.mode, false)
	if err != nil {
		return err
	}
	uid, gid, mode := c.altered(st, mode)
	if uid < 0 && gid < 0 && mode < 0 && !c.relabel {
		if sure {
			c.found(n, st, w)
		}
		return nil
	}
	if !c.apply {
		return nil
	}
	now, err := n.dir.SetAttrs(n.name, st, mode, uid, gid)
	if err == nil && c.relabel {
		now, err = n.dir.SetLabel(n.name, st, c.label(n))
	}
	if err != nil {
		return err
	}
	c.wrote(n, now)
	return nil
}

// altered returns the owner, the group and the mode as they have to change; -1 for no change.
// The three are separate because a change of the owner costs setuid bits, and must not happen
// without need.
func (c *run) altered(st atomicfile.Stat, mode int) (uid, gid, perm int) {
	uid, gid, perm = c.uid, c.gid, mode
	if uid == int(st.UID) {
		uid = -1
	}
	if gid == int(st.GID) {
		gid = -1
	}
	if perm == int(st.Perm()) {
		perm = -1
	}
	return uid, gid, perm
}

// reportAttrs reports differences of owner, group, mode and label, and returns the
// wanted permissions, -1 for none. replaced says that another file takes the place.
// It alters nothing. relabel keeps the answer about the label for the caller that does.
func (c *run) reportAttrs(n node, st atomicfile.Stat, m schema.Mode, replaced bool) (int, error) {
	want, err := c.wantPerm(n, st, m, replaced)
	if err != nil {
		return -1, err
	}
	uid, gid, perm := c.altered(st, want)
	if uid >= 0 {
		c.change(n, "owner", files.UserName(st.UID, c.res.Owner), c.res.Owner, engine.Updated)
	}
	if gid >= 0 {
		c.change(n, "group", files.GroupName(st.GID, c.res.Group), c.res.Group, engine.Updated)
	}
	if perm >= 0 {
		c.change(n, "mode", files.Octal(st.Perm()), files.Octal(uint32(perm)), engine.Updated)
	}
	return want, c.reportLabel(n)
}

// wantPerm returns the permissions that a mode makes of the kept ones; -1 where they stay as they
// are.
// A file that takes a secret loses the bits of group and others even without a declared mode.
func (c *run) wantPerm(n node, st atomicfile.Stat, m schema.Mode, replaced bool) (int, error) {
	kept, err := n.dir.Kept(n.name, st, c.uid, c.gid, replaced)
	if err != nil {
		return -1, err
	}
	want, err := files.Perm(m, kept, st.IsDir())
	switch {
	case err != nil || want >= 0:
	case c.secret && st.IsRegular() && kept&^files.PrivateMode != 0:
		want = files.PrivateMode
	// A change of the owner takes setuid bits away; that is a difference of the mode, too.
	case kept != st.Perm():
		want = int(kept)
	}
	return want, err
}

// found keeps that a file has its content.
// For the path itself the finding is kept in seen, for an entry of a copied folder in same.
func (c *run) found(n node, st atomicfile.Stat, w want) {
	if n.rel == "" {
		c.remember(n, st, w.inputs)
		return
	}
	if len(w.inputs) == 1 && c.settled(n.String(), st) && c.settled(files.OwnCredential(c.res.Source), w.inputs[0]) {
		c.same[n.rel] = same{from: w.inputs[0], to: st}
	}
}

// knownSame reports whether an earlier run has found an entry equal to its
// source, and neither has changed.
// So a tree that has not changed costs two looks for each entry, and no reading.
func (c *run) knownSame(n node, st atomicfile.Stat, w want) bool {
	if n.rel == "" || len(w.inputs) != 1 {
		return false
	}
	known := same{from: w.inputs[0], to: st}
	if c.same[n.rel] != known && c.res.seen.entries[n.rel] != known {
		return false
	}
	c.same[n.rel] = known
	return true
}
