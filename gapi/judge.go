package gapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// ErrTooLong is the error of a text with more bytes than it may have.
var ErrTooLong = errors.New("it is too long")

// maxSmall bounds the files that ReadSmall is for, in bytes.
const maxSmall = 1 << 20

// Judge refuses files that say whom a daemon trusts, or by which key it is known: those that Open refuses, or whose file system does not
// answer. An empty name stands for none. A file that can't be opened for another reason is left to its reader, whose error names the
// purpose of the file.
func (s Source) Judge(files ...string) error {
	if s.Guard == nil {
		return Answers(files...)
	}
	var errs []error
	for _, path := range files {
		if path == "" {
			continue
		}
		_, err := Ask(context.Background(), s.Asking(), path, func() (struct{}, error) {
			f, err := s.Open(path)
			if err == nil {
				err = f.Close()
			}
			return struct{}{}, err
		})
		if errors.Is(err, safepath.ErrRefused) || errors.Is(err, ErrSilent) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Answers returns an error where the file system of one of these files does not answer. It is for files that a package without an
// Asker reads, such as keys and certificates: any other fault is left to that.
func Answers(files ...string) error {
	var errs []error
	for _, path := range files {
		if path == "" {
			continue
		}
		_, err := Ask(context.Background(), &Asker{}, path, func() (struct{}, error) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // a pipe is opened once, by its reader
				if f, err := os.Open(path); err == nil {
					return struct{}{}, f.Close()
				}
			}
			return struct{}{}, nil
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ReadSmall reads a file with a certificate, a key or a password, which may be a pipe. No error names the file.
func ReadSmall(path string) ([]byte, error) {
	text, err := Source{}.Read(context.Background(), path, maxSmall)
	if errors.Is(err, ErrTooLong) {
		err = fmt.Errorf("it has more than %d bytes", maxSmall)
	}
	return text, safepath.WithoutPath(err)
}

// Read reads a file, or what a pipe gives, up to so many bytes: an endless one would take all memory. The error is ErrTooLong, ErrSilent,
// or that of Open.
func (s Source) Read(ctx context.Context, path string, most int64) ([]byte, error) {
	info, err := s.Asking().Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return s.Asking().ReadFile(ctx, s, path, func(f *os.File, _ int64) ([]byte, error) { return ReadMost(f, most) })
	}
	f, err := Ask(ctx, s.Asking(), path, func() (*os.File, error) { return s.Open(path) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadMost(Patient(ctx, f), most)
}

// ReadMost reads all of a text that may have so many bytes, or returns ErrTooLong.
func ReadMost(r io.Reader, most int64) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(src)) > most {
		err = ErrTooLong
	}
	return src, err
}
