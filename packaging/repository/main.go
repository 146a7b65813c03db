package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// main ends with 1 and the reason on standard error, for make.
func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "repository:", err)
		os.Exit(1)
	}
}

// run reads the packages of a folder and writes the indexes of apt and dnf next to them.
// The time comes from the environment, so equal inputs give equal bytes.
func run(args []string, epoch string) error {
	if len(args) != 1 {
		return errors.New("write: repository FOLDER")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q: set it to a time in seconds since 1970", epoch)
	}
	return index(args[0], time.Unix(seconds, 0).UTC())
}

// file is a package, or a file of an index: its path in the repository, and its content.
// The path is relative to the folder and has slashes. Content is never altered once it is
// here.
type file struct {
	name    string
	content []byte
}

// sum is the digest that the indexes hold of a file.
// It is SHA-256 in hexadecimal, which apt and dnf both take; both have given up the
// weaker digests.
func (f file) sum() string {
	sum := sha256.Sum256(f.content)
	return hex.EncodeToString(sum[:])
}

// index writes the indexes of the packages in the folder.
// It writes nothing before every package was read. The files are replaced one by one, the
// packages' lists first and the files that name their digests last. A reader in between
// sees a digest that does not fit and tries again.
func index(dir string, date time.Time) error {
	debs, err := read(dir, "*.deb", readDeb)
	rpms, err2 := read(dir, "*.rpm", readRPM)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if len(debs)+len(rpms) == 0 {
		return fmt.Errorf("%s: there is no *.deb and no *.rpm", dir)
	}
	files := aptIndex(debs, date)
	more, err := yumIndex(rpms, date)
	if err != nil {
		return err
	}
	for _, f := range append(files, more...) {
		if err := replace(filepath.Join(dir, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}

// read reads the packages that match, in the order of their names. It returns the errors of all.
// The order decides the bytes of the index, so it must not come from the folder. A glob
// of no file gives an empty list and no error.
func read[T any](dir, pattern string, parse func(file) (T, error)) ([]T, error) {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	slices.Sort(paths)
	var list []T
	errs := []error{err}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err == nil {
			var p T
			if p, err = parse(file{filepath.Base(path), content}); err == nil {
				list = append(list, p)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	return list, errors.Join(errs...)
}

// replace writes a file that readers see whole, as it was or as it is.
// The new file is made in the same folder, because rename(2) works only within one file
// system. It is not synced: after a crash the release is made again.
func replace(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// zip compresses without a name and a date.
// A header with a time would make other bytes from the same packages. Writing into memory
// can not fail, so errors are not looked at.
func zip(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(content) // into memory
	_ = w.Close()
	return b.Bytes()
}
