package archive

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Formats are the notations of headers by their names and numbers.
var Formats = map[string]tar.Format{
	"": tar.FormatUnknown, "auto": tar.FormatUnknown, "0": tar.FormatUnknown,
	"ustar": tar.FormatUSTAR, "2": tar.FormatUSTAR,
	"pax": tar.FormatPAX, "4": tar.FormatPAX,
	"gnu": tar.FormatGNU, "8": tar.FormatGNU,
}

// Entry is one thing to pack.
type Entry struct {
	Name string // in the archive; that of a folder ends in a slash
	Path string // of the file
	Stat atomicfile.Stat
	Link string // what a link points to
}

// Walk returns the entries of the inputs, sorted by name. Of a folder whose path ends in a slash it
// returns the contents, else the folder too, under its own name. Sockets, pipes and devices are
// left out.
func Walk(ctx context.Context, inputs []string) ([]Entry, error) {
	w := &walk{ctx: ctx}
	for _, in := range inputs {
		if err := w.input(in); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(w.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(w.entries); i++ {
		a, b := w.entries[i-1], w.entries[i]
		if strings.TrimSuffix(a.Name, "/") == strings.TrimSuffix(b.Name, "/") {
			return nil, fmt.Errorf("%s and %s would both be %s in the archive", a.Path, b.Path, b.Name)
		}
	}
	return w.entries, nil
}

type walk struct {
	ctx     context.Context
	entries []Entry
}

func (w *walk) input(in string) error {
	st, err := atomicfile.Follow(in)
	if err != nil {
		return err
	}
	base := path.Base(in)
	switch {
	case st.IsRegular():
		w.entries = append(w.entries, Entry{Name: base, Path: in, Stat: st})
		return nil
	case !st.IsDir():
		return fmt.Errorf("%s is a %s, and neither a file nor a folder", in, st.Kind())
	}
	dir, err := atomicfile.OpenDir(path.Clean(in))
	if err != nil {
		return err
	}
	defer dir.Close()
	if strings.HasSuffix(in, "/") {
		return w.folder(dir, "")
	}
	w.entries = append(w.entries, Entry{Name: base + "/", Path: in, Stat: st})
	return w.folder(dir, base+"/")
}

// folder adds the contents of a folder, with names that begin with prefix.
func (w *walk) folder(dir atomicfile.Dir, prefix string) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if err := w.entry(dir, name, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(dir atomicfile.Dir, name, prefix string) error {
	st, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	e := Entry{Name: prefix + name, Path: dir.Path(name), Stat: st}
	switch {
	case st.IsLink():
		if e.Link, err = dir.Readlink(name); err != nil {
			return err
		}
	case st.IsDir():
		e.Name += "/"
		sub, err := dir.OpenDir(name)
		if err != nil {
			return err
		}
		defer sub.Close()
		w.entries = append(w.entries, e)
		return w.folder(sub, e.Name)
	case !st.IsRegular():
		return nil
	}
	w.entries = append(w.entries, e)
	return nil
}

// Pack writes an archive.
func Pack(ctx context.Context, to io.Writer, format tar.Format, entries []Entry) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		if err := pack(ctx, w, format, e); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return w.Close()
}

func pack(ctx context.Context, w *tar.Writer, format tar.Format, e Entry) error {
	h := &tar.Header{
		Name: e.Name, Linkname: e.Link, Format: format,
		Mode: int64(e.Stat.Perm()), Uid: int(e.Stat.UID), Gid: int(e.Stat.GID),
		ModTime: time.Unix(0, e.Stat.Mtime).Truncate(time.Second),
	}
	switch {
	case e.Stat.IsDir():
		h.Typeflag = tar.TypeDir
		return w.WriteHeader(h)
	case e.Stat.IsLink():
		h.Typeflag = tar.TypeSymlink
		return w.WriteHeader(h)
	}
	h.Typeflag, h.Size = tar.TypeReg, e.Stat.Size
	return content(ctx, w, h, e)
}

var errAltered = errors.New("it was altered while it was packed")

// content writes the plain file that was looked at, wherever its path may lead to by now.
func content(ctx context.Context, w *tar.Writer, h *tar.Header, e Entry) error {
	f, st, err := atomicfile.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !st.Same(e.Stat) || st.Size != h.Size {
		return errAltered
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := f.Read(buf)
		if _, werr := w.Write(buf[:n]); werr != nil {
			if errors.Is(werr, tar.ErrWriteTooLong) {
				werr = errAltered
			}
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			if w.Flush() != nil { // something is missing
				return errAltered
			}
			return nil
		case err != nil:
			return err
		}
	}
}
