package archive

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/sorted"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Formats are the notations of headers by their names and numbers.
var Formats = map[string]tar.Format{
	// The numbers are those of the constants of archive/tar.
	"": tar.FormatUnknown, "auto": tar.FormatUnknown, "0": tar.FormatUnknown,
	"ustar": tar.FormatUSTAR, "2": tar.FormatUSTAR,
	"pax": tar.FormatPAX, "4": tar.FormatPAX,
	"gnu": tar.FormatGNU, "8": tar.FormatGNU,
}

// Entry is one thing to pack.
type Entry struct {
	// The names are unique in an archive, with and without that slash.
	Name string // in the archive; that of a folder ends in a slash
	Path string // of the file
	// Stat is the look that Pack compares the opened file with.
	Stat atomicfile.Stat
	Link string // the target of a link
}

// Walk returns the entries of the inputs, sorted by name. Of a folder whose path ends in a slash it
// returns the contents, else the folder too, under its own name. Sockets, pipes and devices are
// left out. The walker opens the paths.
func Walk(ctx context.Context, by safepath.Walker, inputs []string) ([]Entry, error) {
	w := &walk{ctx: ctx, by: by}
	for _, in := range inputs {
		if err := w.input(in); err != nil {
			return nil, err
		}
	}
	sorted.Func(w.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(w.entries); i++ {
		a, b := w.entries[i-1], w.entries[i]
		if strings.TrimSuffix(a.Name, "/") == strings.TrimSuffix(b.Name, "/") {
			return nil, fmt.Errorf("%s and %s would both be %s in the archive", a.Path, b.Path, b.Name)
		}
	}
	return w.entries, nil
}

// walk is one call of Walk.
// All paths go by the one walker, so that inputs of a simulated machine are those of its folder.
type walk struct {
	ctx     context.Context
	by      safepath.Walker
	entries []Entry
}

// input adds one input. A link that is an input is followed, as the user has named it.
func (w *walk) input(in string) error {
	st, err := atomicfile.FollowBy(w.by, in)
	if err != nil {
		return err
	}
	// A path that ends in a slash has the name of the folder as its base, too.
	base := path.Base(in)
	switch {
	case st.IsRegular():
		w.entries = append(w.entries, Entry{Name: base, Path: in, Stat: st})
		return nil
	// A device or a pipe as an input is a mistake of the user. Below a folder it is left out
	// without a word.
	case !st.IsDir():
		return fmt.Errorf("%s is a %s, and neither a file nor a folder: remove it, or name another path", in, st.Kind())
	}
	dir, err := atomicfile.AtBy(w.by, path.Clean(in)).Hold()
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

// entry adds one name of a folder, and for a folder everything below it. The depth of the tree is
// bounded by the open files of the process.
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

// Pack writes an archive. The walker opens the files of the entries.
func Pack(ctx context.Context, by safepath.Walker, to io.Writer, format tar.Format, entries []Entry) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		if err := pack(ctx, by, w, format, e); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return w.Close()
}

// pack writes one entry. The time is cut to the second, which every format has room for.
func pack(ctx context.Context, by safepath.Walker, w *tar.Writer, format tar.Format, e Entry) error {
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
	return content(ctx, by, w, h, e)
}

// errAltered says that there is no archive of this moment. The next run tries again.
var errAltered = errors.New("it was altered while it was packed")

// content writes the plain file that was looked at, wherever its path may lead to by now.
func content(ctx context.Context, by safepath.Walker, w *tar.Writer, h *tar.Header, e Entry) error {
	f, st, err := atomicfile.OpenBy(by, e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	// A file that was only read has the same look. A file that another program has renamed into its place has another look.
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
			// The file has grown since the look: the header with its size was written already.
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
