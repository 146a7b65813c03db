package images

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// What is kept where Options say nothing.
const (
	DefaultSize = 512 << 20
	DefaultAge  = 30 * 24 * time.Hour
)

// ParseSize reads how many bytes may be kept; 0 for nothing.
func ParseSize(text string) (int64, error) {
	size, err := schema.ParseSize(text)
	if err == nil && size < 0 {
		err = errors.New("write a size such as 512MiB, or 0 to keep nothing")
	}
	return int64(size), err
}

// ParseAge reads for how long images are kept.
func ParseAge(text string) (time.Duration, error) {
	age, err := schema.ParseDuration(text, "")
	if err == nil && age <= 0 {
		err = errors.New("write a time such as 30d")
	}
	return age, err
}

// Options say what is kept, and where.
type Options struct {
	Dir    string // made at the first image
	Size   int64  // bytes; DefaultSize if 0
	Age    time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
	Seal   func(clear string) (string, error) // of images with secrets
	Unseal func(text string) (string, error)
}

// Image is the state before one change.
type Image struct {
	ID       uint64    `json:"id"` // rising, over restarts too
	At       time.Time `json:"at"`
	Resource string    `json:"resource"`
	Head     []byte    `json:"head,omitempty"` // as package reversal writes it
	Why      string    `json:"why,omitempty"`  // there is no content, and why

	Sum    string `json:"sum,omitempty"`  // of the content
	Size   int    `json:"size,omitempty"` // of the content in the file
	Sealed bool   `json:"sealed,omitempty"`
	Back   int64  `json:"back,omitempty"` // where the content is in the file; 0 for behind this line

	file int
}

// file is one of the files, with the images in it.
type file struct {
	number int
	size   int64
	last   time.Time // of the newest image
	images []Image
}

// Store keeps images in a folder, which is its own. Its methods may be called from any goroutine.
type Store struct {
	o Options

	mu     sync.Mutex
	files  []*file // the oldest first
	out    *os.File
	next   uint64
	at     map[string]Image // of the open file: where a content is, by resource
	failed bool             // the last Keep, and that was said
}

// Open reads which images there are. A folder that is not there has none.
func Open(o Options) (*Store, error) {
	if o.Size <= 0 {
		o.Size = DefaultSize
	}
	if o.Age <= 0 {
		o.Age = DefaultAge
	}
	s := &Store{o: o, next: 1}
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the images for mgmt undo: %w", err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		f, err := s.read(n)
		if err != nil {
			o.Log.Warn("changes before this start can't all be undone: a file of images can't be read", slog.Any("error", err))
		}
		s.files = append(s.files, f)
		for _, i := range f.images {
			s.next = max(s.next, i.ID+1)
		}
	}
	slices.SortFunc(s.files, func(a, b *file) int { return a.number - b.number })
	return s, nil
}

func (s *Store) path(number int) string { return filepath.Join(s.o.Dir, fmt.Sprintf("%09d", number)) }

// read lists the images of a file, up to the first that is not whole.
func (s *Store) read(number int) (*file, error) {
	f := &file{number: number}
	in, err := os.Open(s.path(number))
	if err != nil {
		return f, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			f.size += int64(len(line))
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return f, err
		}
		var i Image
		if json.Unmarshal(line, &i) != nil || i.Resource == "" {
			return f, fmt.Errorf("%s is damaged at byte %d", s.path(number), f.size)
		}
		f.size += int64(len(line))
		i.file = number
		if i.Back == 0 && i.Size > 0 {
			i.Back = f.size
			n, err := io.CopyN(io.Discard, r, int64(i.Size))
			f.size += n
			if err != nil {
				return f, nil // it was being written when the process was killed
			}
		}
		f.images, f.last = append(f.images, i), i.At
	}
}

// Keep writes the state of a resource before a change: what package reversal has made of it, with a secret or without one. A Why in place
// of a body says why there is none.
func (s *Store) Keep(resource string, head, body []byte, secret bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.keep(Image{ID: s.next, At: s.o.Clock.Now(), Resource: resource, Head: head, Why: why}, body, secret)
	switch {
	case err == nil:
		s.next++
		s.failed = false
	case !s.failed:
		s.failed = true
		s.o.Log.Warn("a change can't be undone later: the state before it can't be kept", slog.String("resource", resource), slog.Any("error", err))
	}
}

func (s *Store) keep(i Image, body []byte, secret bool) (err error) {
	if err = s.open(); err != nil {
		return err
	}
	f := s.files[len(s.files)-1]
	content := body
	if body != nil {
		sum := sha256.Sum256(body)
		i.Sum = hex.EncodeToString(sum[:])
		if was, ok := s.at[i.Resource]; ok && was.Sum == i.Sum && (was.Sealed || !secret) {
			i.Size, i.Sealed, i.Back, content = was.Size, was.Sealed, was.Back, nil
		} else {
			if i.Sealed = secret; secret {
				text, err := s.o.Seal(string(body))
				if err != nil {
					return err
				}
				content = []byte(text)
			}
			i.Size = len(content)
		}
	}
	line, err := json.Marshal(&i)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	text := append(line, content...)
	if n, err := s.out.Write(text); err != nil {
		// The next image begins where this one has begun: a half-written one would hide it.
		if n > 0 {
			err = errors.Join(err, s.out.Truncate(f.size))
			_, bad := s.out.Seek(f.size, io.SeekStart)
			err = errors.Join(err, bad)
		}
		return err
	}
	if i.Back == 0 && i.Size > 0 {
		i.Back = f.size + int64(len(line))
	}
	i.file = f.number
	f.size += int64(len(text))
	f.images, f.last = append(f.images, i), i.At
	if i.Size > 0 {
		s.at[i.Resource] = i
	}
	return nil
}

// open makes the file for the next image where there is none, or where it is full, and removes what is too old or too much.
func (s *Store) open() error {
	if s.out != nil && s.files[len(s.files)-1].size < s.o.Size/16 && s.there() {
		return nil
	}
	s.shut()
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return err
	}
	number := 1
	if n := len(s.files); n > 0 {
		number = s.files[n-1].number + 1
	}
	out, err := os.OpenFile(s.path(number), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	s.out, s.at = out, map[string]Image{}
	s.files = append(s.files, &file{number: number})
	s.prune()
	return nil
}

// there reports whether the open file still has its name: the state folder may have been removed.
func (s *Store) there() bool {
	is, err := os.Lstat(s.out.Name())
	if err != nil {
		return false
	}
	was, err := s.out.Stat()
	return err == nil && os.SameFile(is, was)
}

func (s *Store) shut() {
	if s.out != nil {
		_ = s.out.Close() // what was written is in the file
		s.out = nil
	}
}

// prune removes files that are too old, and the oldest ones of too many bytes. The open one stays.
func (s *Store) prune() {
	old := s.o.Clock.Now().Add(-s.o.Age)
	var size int64
	for _, f := range s.files {
		size += f.size
	}
	for len(s.files) > 1 && (size > s.o.Size-s.o.Size/16 || s.files[0].last.Before(old)) {
		_ = os.Remove(s.path(s.files[0].number)) // else it is removed at a later start
		size -= s.files[0].size
		s.files = s.files[1:]
	}
}

// Since returns the images from a time on, the oldest first.
func (s *Store) Since(at time.Time) (list []Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune()
	for _, f := range s.files {
		for _, i := range f.images {
			if !i.At.Before(at) {
				list = append(list, i)
			}
		}
	}
	return list
}

// Content returns the body of an image, nil for one that has a Why in its place.
func (s *Store) Content(i Image) ([]byte, error) {
	if i.Sum == "" {
		return nil, nil
	}
	body := make([]byte, i.Size)
	in, err := os.Open(s.path(i.file))
	if err == nil {
		_, err = in.ReadAt(body, i.Back)
		err = errors.Join(err, in.Close())
	}
	if err == nil && i.Sealed {
		var text string
		text, err = s.o.Unseal(string(body))
		body = []byte(text)
	}
	if sum := sha256.Sum256(body); err == nil && hex.EncodeToString(sum[:]) != i.Sum {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("the state of %s before its change can't be read: %w", i.Resource, err)
	}
	return body, nil
}

// Close ends the writing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
	return nil
}
