package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Unpacking says where an archive goes, and which of its entries.
type Unpacking struct {
	// Paths opens To. All below it is opened from there, by descriptors.
	Paths safepath.Walker
	// To has to be there. A link in To itself is followed, and none below it.
	To       string // the folder
	UID, GID int    // of all that is made; -1 for what the system gives
	MaxSize  int64  // of all contents together; 0 for any
}

// maxEntries is how many things an archive may have.
const maxEntries = 1 << 20

// Found is how a folder differs from an archive.
type Found struct {
	Names []string // of all that is in the archive, in its order
	// Differ has the names that Make has to unpack.
	Differ map[string]bool
}

// item is a thing of an archive, with a name that leads nowhere else.
type item struct {
	// name is clean and relative, without a slash at its end.
	name string
	head *tar.Header
	// perm has the nine bits of permission alone, without setuid, setgid and sticky.
	perm uint32
}

func (i item) isDir() bool { return i.head.Typeflag == tar.TypeDir }

// Check compares the folder with an archive, which may be compressed by gzip or bzip2. Nothing is
// altered. The error also names the entries that can't be unpacked, and the obstacles.
func (u *Unpacking) Check(ctx context.Context, in io.Reader) (Found, error) {
	f := Found{Differ: map[string]bool{}}
	err := u.each(ctx, in, func(i item, content io.Reader) error {
		f.Names = append(f.Names, i.name)
		same, err := u.same(ctx, i, content)
		if !same {
			f.Differ[i.name] = true
		}
		return err
	})
	return f, err
}

// Make unpacks the entries that differ into the folder, which has to be there. Each file is
// replaced at once; the permissions of folders are set last.
func (u *Unpacking) Make(ctx context.Context, in io.Reader, differ map[string]bool) error {
	var folders []item
	err := u.each(ctx, in, func(i item, content io.Reader) error {
		if !differ[i.name] {
			return nil
		}
		if i.isDir() {
			folders = append(folders, i)
		}
		return u.make(ctx, i, content)
	})
	// A folder without the right to write is closed only when its contents are there. The
	// innermost goes first, since an outer one may then be shut.
	for n := len(folders) - 1; n >= 0 && err == nil; n-- {
		err = u.attrs(folders[n])
	}
	return err
}

// each calls do for each thing of an archive.
func (u *Unpacking) each(ctx context.Context, in io.Reader, do func(item, io.Reader) error) error {
	plain, err := decompress(in)
	if err != nil {
		return err
	}
	r := tar.NewReader(plain)
	seen := map[string]bool{}
	// The size is that of the contents, without headers.
	var size int64
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// git archive writes the commit there.
		if h.Typeflag == tar.TypeXGlobalHeader { // of git: it is about the archive as a whole
			continue
		}
		i, err := itemOf(h)
		// The sizes are those of the headers, before anything is read: a small archive of a huge
		// content is refused early.
		switch size += h.Size; {
		case err != nil:
			return fmt.Errorf("%q in the archive: %w", h.Name, err)
		case i.name == "": // the folder itself
			continue
		case seen[i.name]:
			return fmt.Errorf("%q is in the archive twice", i.name)
		case u.MaxSize > 0 && size > u.MaxSize:
			return fmt.Errorf("the contents have more than %d bytes", u.MaxSize)
		case len(seen) == maxEntries:
			return fmt.Errorf("there are more than %d things in the archive", maxEntries)
		}
		seen[i.name] = true
		if err := do(i, r); err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
	}
}

// unknown are the first bytes of what tar archives are compressed by, and taken for, and we
// do not read.
var unknown = map[string]string{
	"\xfd7zXZ\x00": "an archive that is compressed by xz", "\x28\xb5\x2f\xfd": "an archive that is compressed by zstd",
	"PK\x03\x04": "a zip archive", "7z\xbc\xaf": "a 7z archive", "LZIP": "an archive that is compressed by lzip",
}

// decompress undoes gzip or bzip2, if that is what it begins with.
func decompress(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	// A shorter archive has an error of its own later.
	head, _ := b.Peek(6)
	for first, what := range unknown {
		if bytes.HasPrefix(head, []byte(first)) {
			return nil, fmt.Errorf("it is %s, and only gzip and bzip2 are known", what)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(b)
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(b), nil
	}
	return b, nil
}

// Errors of archives that are not unpacked.
var (
	errOutside = errors.New("it would be outside of the folder")
	errName    = errors.New("it has a name that no file has")
	errKind    = errors.New("it is neither a file, a folder nor a symbolic link")
	errTarget  = errors.New("it is a link that leads out of the folder, or might")
)

// itemOf refuses an entry with a name or a target that could lead out of the folder.
func itemOf(h *tar.Header) (item, error) {
	i := item{head: h, perm: uint32(h.Mode) & 0o777}
	// The kernel would end the name at the zero byte, and so make another file.
	if strings.ContainsRune(h.Name, 0) || len(h.Name) > 4095 {
		return i, errName
	}
	if strings.HasPrefix(h.Name, "/") {
		return i, errOutside
	}
	// path.Clean would hide the part that leads out: "a/../../b" is checked as it stands.
	for part := range strings.SplitSeq(h.Name, "/") {
		if part == ".." {
			return i, errOutside
		}
	}
	if i.name = path.Clean(h.Name); i.name == "." {
		i.name = ""
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		if i.name == "" {
			return i, errName
		}
	case tar.TypeDir:
	case tar.TypeSymlink:
		return i, i.checkTarget()
	default:
		return i, errKind
	}
	return i, nil
}

// checkTarget allows a target that goes up, but not out of the folder, and then only
// down: where ".." leads to behind a name depends on what that is.
func (i item) checkTarget() error {
	// up is by how many folders the target may rise and stay in the folder.
	up := strings.Count(i.name, "/")
	target := i.head.Linkname
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) || i.name == "" {
		return errTarget
	}
	down := false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == ".." && (down || up == 0):
			return errTarget
		case part == "..":
			up--
		case part != "." && part != "":
			down = true
		}
	}
	return nil
}

// parent opens the folder that an item is in, and makes it if that is asked for. No link
// is followed below the folder that is unpacked to.
func (u *Unpacking) parent(i item, mkdir bool) (atomicfile.Dir, error) {
	dir, err := atomicfile.AtBy(u.Paths, u.To).Hold()
	if err != nil {
		return dir, err
	}
	above := path.Dir(i.name)
	if above == "." {
		return dir, nil
	}
	for part := range strings.SplitSeq(above, "/") {
		sub, err := dir.OpenDir(part)
		// Two resources may make the folder at once. The second of them opens it.
		if mkdir && errors.Is(err, unix.ENOENT) {
			if err = dir.Mkdir(part, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
				sub, err = dir.OpenDir(part)
			}
		}
		dir.Close()
		if err != nil {
			return sub, err
		}
		dir = sub
	}
	return dir, nil
}

// same reports whether an item is in the folder as it is in the archive.
func (u *Unpacking) same(ctx context.Context, i item, content io.Reader) (bool, error) {
	dir, err := u.parent(i, false)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	name := path.Base(i.name)
	st, err := dir.Lstat(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, err
	case st.IsDir() != i.isDir():
		return false, fmt.Errorf("a %s is in its place", st.Kind())
	// Another owner is a difference like another content: the entry is unpacked again.
	case !u.owned(st):
		return false, nil
	case i.head.Typeflag == tar.TypeSymlink:
		target, err := dir.Readlink(name)
		return st.IsLink() && target == i.head.Linkname, ignoreInvalid(err)
	case st.Perm() != i.perm:
		return false, nil
	case i.isDir():
		return true, nil
	case !st.IsRegular() || st.Size != i.head.Size:
		return false, nil
	}
	f, _, err := dir.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	// Equal sizes, modes and owners leave the contents. They are compared as a stream, without a
	// sum.
	return equal(ctx, f, content)
}

// ignoreInvalid drops the error of a thing that can't be read as a link.
func ignoreInvalid(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// owned reports whether a thing belongs to the wanted user and group.
func (u *Unpacking) owned(st atomicfile.Stat) bool {
	return (u.UID < 0 || u.UID == int(st.UID)) && (u.GID < 0 || u.GID == int(st.GID))
}

// equal reports whether two contents are the same.
func equal(ctx context.Context, a, b io.Reader) (bool, error) {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		// Full buffers make both sides comparable, whatever their readers return at a time.
		n, errX := io.ReadFull(a, x)
		m, errY := io.ReadFull(b, y)
		endX, endY := atEnd(errX), atEnd(errY)
		switch {
		case errX != nil && !endX:
			return false, errX
		case errY != nil && !endY:
			return false, errY
		case !bytes.Equal(x[:n], y[:m]) || endX != endY:
			return false, nil
		case endX:
			return true, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
	}
}

// atEnd reports whether ReadFull has come to the end of a content, or to half a block
// before it. A content that is cut is found by its size.
func atEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// make unpacks one thing. A folder is made so that we can write into it.
func (u *Unpacking) make(ctx context.Context, i item, content io.Reader) error {
	dir, err := u.parent(i, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(i.name)
	switch i.head.Typeflag {
	case tar.TypeDir:
		err := dir.Mkdir(name, 0o755)
		if errors.Is(err, unix.EEXIST) {
			return nil
		}
		return err
	case tar.TypeSymlink:
		return dir.Symlink(name, i.head.Linkname, u.UID, u.GID)
	}
	return u.file(ctx, dir, i, content)
}

var errOnce = errors.New("it can't be replaced")

func (u *Unpacking) file(ctx context.Context, dir atomicfile.Dir, i item, content io.Reader) error {
	name := path.Base(i.name)
	n := atomicfile.New{Dir: dir, Name: name, Mode: int(i.perm), UID: u.UID, GID: u.GID, Size: i.head.Size}
	st, err := dir.Lstat(name)
	switch {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return err
	case st.IsRegular():
		n.Old = &st
	default:
		if err := dir.Remove(name, false); err != nil {
			return err
		}
	}
	begun := false
	n.Fill = func(w io.Writer) error {
		if begun {
			return errOnce // the archive has gone on
		}
		begun = true
		return copyAll(ctx, w, content)
	}
	_, err = n.Write()
	return err
}

// copyAll copies a content, and ends with the context.
func copyAll(ctx context.Context, w io.Writer, r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if _, werr := w.Write(buf[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// attrs makes owner and permissions of a folder right.
func (u *Unpacking) attrs(i item) error {
	dir, err := u.parent(i, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	st, err := dir.Lstat(path.Base(i.name))
	if err == nil {
		_, err = dir.SetAttrs(path.Base(i.name), st, int(i.perm), u.UID, u.GID)
	}
	return err
}
