package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Unpack returns the module at a path in an archive, which is tar, tar.gz or zip. It writes nothing. A link or a device
// is an error, and so is an archive whose files are larger than any module.
func Unpack(src []byte, at string) (Tree, error) {
	b := newBuilder()
	var err error
	switch {
	case bytes.HasPrefix(src, []byte("PK\x03\x04")):
		err = b.zip(src)
	case bytes.HasPrefix(src, []byte("\x1f\x8b")):
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			err = b.tar(r)
		}
	case len(src) > 262 && string(src[257:262]) == "ustar":
		err = b.tar(bytes.NewReader(src))
	default:
		err = errors.New("it is no archive: tar, tar.gz and zip are known")
	}
	if err != nil {
		return nil, err
	}
	return b.module(at)
}

// tar reads the entries of a tar. The bound counts its headers, too, and the entries that it skips.
func (b *builder) tar(r io.Reader) error {
	bounded := &io.LimitedReader{R: r, N: 2 * maxBytes}
	t := tar.NewReader(bounded)
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case bounded.N <= 0:
			return errTooBig
		case err != nil:
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg:
			err = b.add(h.Name, t)
		case tar.TypeDir:
			_, err = cleanName(h.Name)
		case tar.TypeXGlobalHeader: // git notes the commit there
		case tar.TypeSymlink, tar.TypeLink:
			err = fmt.Errorf("%q is a link: a module has files and folders only", h.Name)
		default:
			err = fmt.Errorf("%q is neither a file nor a folder", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// zip reads the entries of a zip. The sizes that it declares are not trusted.
func (b *builder) zip(src []byte) error {
	z, err := zip.NewReader(bytes.NewReader(src), int64(len(src)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // add judges the names itself
		return err
	}
	// The mode of an entry is that of the system on which it was packed. Only its kind counts.
	for _, f := range z.File {
		switch mode := f.Mode(); {
		case strings.HasSuffix(f.Name, "/"):
			if _, err := cleanName(f.Name); err != nil {
				return err
			}
			continue
		case !mode.IsRegular():
			return fmt.Errorf("%q is a link or a device: a module has files and folders only", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
		if err := errors.Join(b.add(f.Name, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}
