package resources

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// fileFrom is the content of a file in a folder.
func fileFrom(dir atomicfile.Dir, name string, size int64) *fileBody {
	return &fileBody{size: size, open: func() (io.ReadCloser, error) {
		f, _, err := dir.Open(name)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		return f, nil
	}}
}

// Read returns the thing at the path as it is. Its content is left out where it
// has more than 1 MiB.
func (r *FileRes) Read(ctx context.Context) (engine.Res, error) {
	c := &fileRun{FileRes: r, ctx: ctx, path: r.filePath()}
	got := &FileRes{Path: r.Path, Dirname: r.Dirname, Basename: r.Basename}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	n := c.node()
	if !r.Symlink && r.State != FileAbsent {
		var err error
		if n, err = c.follow(n); err != nil {
			return nil, err
		}
	}
	st, err := n.dir.Lstat(n.name)
	if isMissing(err) {
		got.State = FileAbsent
		return got, nil
	}
	if err != nil {
		return nil, err
	}
	got.State = FileExists
	got.Owner, got.Group = fileUserName(st.UID, r.Owner), fileGroupName(st.GID, r.Group)
	switch {
	case st.IsLink():
		got.Symlink = true
		got.Source, err = n.dir.Readlink(n.name)
		return got, err
	case st.IsRegular() && st.Size <= fileShown:
		got.Content, err = c.readContent(n)
	}
	got.Mode = r.readMode(st)
	return got, err
}

// readMode returns the mode in the notation of the resource, if that is what the
// file has.
func (r *FileRes) readMode(st atomicfile.Stat) schema.Mode {
	if p, err := filePerm(r.Mode, st.Perm(), st.IsDir()); err == nil && p == int(st.Perm()) {
		return r.Mode
	}
	return schema.Mode(fileOctal(st.Perm()))
}

func (c *fileRun) readContent(n fileNode) (*string, error) {
	f, _, err := n.dir.Open(n.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileShown+1))
	if err != nil || len(data) > fileShown {
		return nil, err
	}
	return new(string(data)), nil
}

// Reversed returns what undoes it: the file as it was, or that it is gone if it
// was not there.
func (r *FileRes) Reversed(before engine.Res) (engine.Res, error) {
	undo := &FileRes{Path: r.Path, Dirname: r.Dirname, Basename: r.Basename, State: FileAbsent}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	if before == nil {
		return undo, nil
	}
	was, ok := before.(*FileRes)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case was.State == FileAbsent:
		return undo, nil
	case r.Recurse && (r.Source != "" || r.Purge || r.State == FileAbsent):
		return nil, errors.New("what was below a folder is not kept, so it can't be brought back")
	case was.Content == nil && !was.Symlink && !r.isFolder() && (r.hasBody() || r.State == FileAbsent):
		return nil, fmt.Errorf("the content of %s was too long to be kept, so it can't be brought back", r.filePath())
	}
	undo.State, undo.Force = FileExists, r.Force || r.Symlink != was.Symlink
	undo.Content, undo.Source, undo.Symlink = was.Content, was.Source, was.Symlink
	undo.Owner, undo.Group, undo.Mode = was.Owner, was.Group, was.Mode
	return undo, nil
}
