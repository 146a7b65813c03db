package file

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// bodyFrom is the content of a file in a folder.
// It is opened anew for each reading, through the descriptor of the folder. size is in bytes, as an
// earlier look has told it.
func bodyFrom(dir atomicfile.Dir, name string, size int64) *body {
	return &body{size: size, from: func() (io.ReadCloser, error) {
		f, _, err := dir.OpenSource(name)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		return f, nil
	}}
}

// keptMax is the largest content that Read returns: it is kept for reverse.
// The value is in bytes. The journal keeps such a content once for each resource with reverse.
const keptMax = 8 << 20

// ReadsInChange says that Read and CheckApply share nothing.
func (r *Res) ReadsInChange() {}

// Read returns the thing at the path as it is. Its content is left out where it has more than 8
// MiB. Any other type of thing is an error. A link that leads nowhere counts as the thing there,
// unless its target is to be made.
// It alters nothing, and neither reads nor fills the findings of CheckApply, so both may run in
// turn. The result is the caller's.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	c := &run{res: r, ctx: ctx, path: r.filePath()}
	if err := c.owners(); err != nil {
		c.uid, c.gid = -1, -1 // a check of the file reports the error
	}
	defer c.close()
	got := &Res{Path: r.Path, Dirname: r.Dirname, Basename: r.Basename}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	n, err := c.readNode()
	if err != nil {
		return nil, err
	}
	st, err := n.lstat()
	if files.IsMissing(err) {
		got.State = Absent
		return got, nil
	}
	if err != nil {
		return nil, err
	}
	if !st.IsRegular() && !st.IsDir() && !st.IsLink() {
		return nil, fmt.Errorf("%s is a %s, and neither a file, a folder nor a link", n, st.Kind())
	}
	got.State = Exists
	if st.IsDir() != r.IsFolder() {
		got.Dirname, got.Basename = "", ""
		if got.Path = strings.TrimRight(r.filePath(), "/"); st.IsDir() {
			got.Path += "/"
		}
	}
	if got.SELinux, err = n.dir.Label(n.name, r.labelAttr()); err != nil {
		return nil, err
	}
	got.Owner, got.Group = files.UserName(st.UID, r.Owner), files.GroupName(st.GID, r.Group)
	switch {
	case st.IsLink():
		got.Symlink = true
		got.Source, err = n.dir.Readlink(n.name)
		return got, err
	case st.IsRegular() && st.Size <= keptMax:
		got.Content, err = c.readContent(n)
	case st.IsDir() && r.deep():
		var d atomicfile.Dir
		if d, err = n.dir.OpenDir(n.name); err == nil {
			defer d.Close()
			err = c.readEntries(got, d, "")
		}
	}
	got.Mode = r.readMode(st)
	return got, err
}

// readNode returns the node that the path stands for: behind links, unless the resource is about the link itself.
// A link that leads nowhere is the thing itself, unless the run would make its target.
func (c *run) readNode() (node, error) {
	n, err := c.node()
	if err != nil || c.res.Symlink || c.res.State == Absent {
		return n, err
	}
	to, err := c.follow()
	if err != nil {
		return n, err
	}
	if _, err := to.lstat(); !files.IsMissing(err) || c.res.makes() {
		n = to
	}
	return n, nil
}

// readMode returns the mode in the notation of the resource, if that is what the
// file has.
// So a comparison of the declared and the read resource shows no difference between 0644 and
// u=rw,go=r.
func (r *Res) readMode(st atomicfile.Stat) schema.Mode {
	if p, err := files.Perm(r.Mode, st.Perm(), st.IsDir()); err == nil && p == int(st.Perm()) {
		return r.Mode
	}
	return schema.Mode(files.Octal(st.Perm()))
}

// readContent returns the content; nil where the file has grown beyond keptMax meanwhile.
func (c *run) readContent(n node) (*string, error) {
	f, _, err := n.dir.OpenSource(n.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, keptMax+1))
	if err != nil || len(data) > keptMax {
		return nil, err
	}
	return new(string(data)), nil
}

// listedMax is how many entries Read lists at most.
const listedMax = 10_000

// readEntries lists the entries below a folder that is copied or purged, without contents.
// It stops quietly at listedMax entries: the list is for a reader, and decides nothing.
func (c *run) readEntries(got *Res, d atomicfile.Dir, rel string) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(got.Entries) >= listedMax || c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := c.readEntry(got, d, name, path.Join(rel, name)); err != nil && !files.IsMissing(err) {
			return err
		}
	}
	return nil
}

// readEntry lists one entry, and where that is a folder the entries below it. An entry that vanishes
// meanwhile is a missing one for the caller, who passes over it.
func (c *run) readEntry(got *Res, d atomicfile.Dir, name, rel string) error {
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	e := Entry{State: st.Kind(), Owner: files.UserName(st.UID, c.res.Owner), Group: files.GroupName(st.GID, c.res.Group)}
	if st.IsLink() {
		e.Source, err = d.Readlink(name)
	} else {
		e.Mode = schema.Mode(files.Octal(st.Perm()))
	}
	if got.Entries == nil {
		got.Entries = map[string]Entry{}
	}
	got.Entries[rel] = e
	if err != nil || !st.IsDir() || strings.Count(rel, "/") >= deepest {
		return err
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return c.readEntries(got, sub, rel)
}

// Place reports whether the folder of the path is there, or is made with it.
func (r *Res) Place(ctx context.Context) error {
	c := &run{res: r, ctx: ctx, path: r.filePath(), uid: -1, gid: -1}
	defer c.close()
	n, err := c.node()
	if err != nil || r.IsFolder() && r.Recurse {
		return err
	}
	return c.parent(n)
}
