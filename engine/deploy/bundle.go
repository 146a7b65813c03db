package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Bundle is the files of a deploy.
type Bundle struct {
	Graphs []string `json:"graphs"` // the files that were named: each is a graph; the others belong to them
	Files  []File   `json:"files"`  // sorted by their names
}

// File is one file of a Bundle. Its name is a relative path with slashes.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// MaxBundle is how many bytes the encoding of a Bundle may have.
const MaxBundle = 64 << 20

// Encode returns the one encoding of the bundle and its digest. It sorts the files. The error tells of all names
// that are wrong.
func (b *Bundle) Encode() (content []byte, digest string, err error) {
	sorted.Func(b.Files, func(x, y File) int { return strings.Compare(x.Name, y.Name) })
	for i, f := range b.Files {
		if f.Data == nil { // JSON would tell it from an empty slice
			b.Files[i].Data = []byte{}
		}
	}
	if err := b.check(); err != nil {
		return nil, "", err
	}
	if content, err = json.Marshal(b); err != nil {
		return nil, "", err
	}
	if len(content) > MaxBundle {
		return nil, "", fmt.Errorf("the files of the deploy take %d bytes in the store, and at most %d are allowed", len(content), MaxBundle)
	}
	return content, Digest(content), nil
}

// Decode reads an encoding. Another encoding of the same files is an error, so a digest stands for one content.
func Decode(content []byte) (*Bundle, error) {
	b := &Bundle{}
	if err := json.Unmarshal(content, b); err != nil {
		return nil, fmt.Errorf("%w: its files cannot be read: %w", ErrContent, err)
	}
	again, _, err := b.Encode()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	if !bytes.Equal(again, content) {
		return nil, fmt.Errorf("%w: its files are not in the one encoding", ErrContent)
	}
	return b, nil
}

// Digest returns the digest of a content.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Map returns the files by their names.
func (b *Bundle) Map() map[string][]byte {
	files := make(map[string][]byte, len(b.Files))
	for _, f := range b.Files {
		files[f.Name] = f.Data
	}
	return files
}

// check finds names that lead out of the bundle, or come twice.
func (b *Bundle) check() error {
	var errs []error
	for i, f := range b.Files {
		if !utf8.ValidString(f.Name) { // the encoding would have another name
			errs = append(errs, fmt.Errorf("the name %q is not in UTF-8: rename the file", f.Name))
		}
		if path.IsAbs(f.Name) || path.Clean(f.Name) != f.Name || f.Name == "." || f.Name == ".." || strings.HasPrefix(f.Name, "../") || strings.Contains(f.Name, "\x00") {
			errs = append(errs, fmt.Errorf("%q is no relative path of a file", f.Name))
		}
		if i > 0 && b.Files[i-1].Name == f.Name {
			errs = append(errs, fmt.Errorf("the file %s comes twice", f.Name))
		}
	}
	if len(b.Graphs) == 0 {
		errs = append(errs, errors.New("it names no graph"))
	}
	for _, name := range b.Graphs {
		if !slices.ContainsFunc(b.Files, func(f File) bool { return f.Name == name }) {
			errs = append(errs, fmt.Errorf("the graph %q is not among its files", name))
		}
	}
	return errors.Join(errs...)
}
