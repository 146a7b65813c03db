package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// Store is the folder with a lock file and its modules. It is for one goroutine.
type Store struct {
	Dir  string // of the lock file
	Lock *Lock

	// Client fetches archives.
	Client *http.Client

	// Judge reads the file module.yaml of a module, and returns its name. A module that it refuses is not written.
	Judge func(file string, src []byte) (name string, err error)

	// MaxPack is how many bytes of the disk the fetch of a repository may take; 0 for DefaultMaxPack.
	MaxPack int64

	// Force has folders replaced and removed though a person has altered them.
	Force bool
}

// DefaultMaxPack is the default of Store.MaxPack.
const DefaultMaxPack = 1 << 30

// Order is what a person asks for.
type Order struct {
	Source string // a repository of git, or an archive
	Rev    string // of git: a commit, a branch or a tag; empty for the default branch
	SHA256 string // of an archive
	Path   string // of the module in the source
	Folder string // empty for modules/ and the name of the module
}

// IsArchive reports whether a source is an archive, and no repository.
func IsArchive(source string) bool {
	name, _, _ := strings.Cut(strings.ToLower(source), "?")
	return slices.ContainsFunc([]string{".tar", ".tar.gz", ".tgz", ".zip"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Get fetches a module, writes its folder, and puts it into the lock, which the caller writes. It returns the entry.
func (s *Store) Get(ctx context.Context, o Order) (*Entry, error) {
	e, tree, err := s.fetch(ctx, Entry{Folder: o.Folder, Path: o.Path}, o)
	if err != nil {
		return nil, err
	}
	if s.Lock.Find(e.Folder) == nil {
		for _, other := range s.Lock.Modules {
			if overlaps(e.Folder, other.Folder) {
				return nil, fmt.Errorf("the folder %s is part of the module in %s: name another one with --folder", e.Folder, other.Folder)
			}
		}
	}
	if err := s.put(e.Folder, tree); err != nil {
		return nil, err
	}
	s.Lock.Put(e)
	return s.Lock.Find(e.Folder), nil
}

// fetch fetches and judges the module of an order. It writes nothing.
func (s *Store) fetch(ctx context.Context, e Entry, o Order) (Entry, Tree, error) {
	fail := func(err error) (Entry, Tree, error) { return e, nil, fmt.Errorf("%s: %w", o.Source, err) }
	var tree Tree
	if IsArchive(o.Source) || o.SHA256 != "" {
		if err := checkArchive(o.Source); err != nil {
			return e, nil, err
		}
		src, sum, err := fromArchive(ctx, s.Client, s.Dir, o.Source)
		switch {
		case err != nil:
			return fail(err)
		case o.SHA256 == "":
			return fail(fmt.Errorf("name its checksum, as its author publishes it, with --sha256; the archive that came has %s", sum))
		case !strings.EqualFold(o.SHA256, sum):
			return fail(fmt.Errorf("the archive that came has the checksum %s, and not %s: nothing is taken of it", sum, o.SHA256))
		}
		if tree, err = Unpack(src, o.Path); err != nil {
			return fail(err)
		}
		e.Archive, e.SHA256 = o.Source, sum
	} else {
		commit, b, err := s.repository(ctx, o)
		if err != nil {
			return e, nil, err
		}
		if tree, err = b.module(o.Path); err != nil {
			return fail(err)
		}
		e.Git, e.Commit = o.Source, commit
		if e.Ref = o.Rev; o.Rev == "" {
			e.Ref = "HEAD"
		}
		if isCommit.MatchString(o.Rev) {
			e.Ref = ""
		}
	}
	// The digest is that of the files, and not of the archive: a person can compare the folder later, without a network.
	name, err := s.Judge(expand.ModuleFile, tree[expand.ModuleFile])
	if err != nil {
		return fail(fmt.Errorf("the module can't be used: %w", err))
	}
	if e.Folder == "" {
		e.Folder = path.Join("modules", name)
	}
	e.Digest = tree.Digest()
	return e, tree, checkFolder(e.Folder)
}

// repository fetches a repository.
func (s *Store) repository(ctx context.Context, o Order) (string, *builder, error) {
	if err := checkGit(o.Source); err != nil {
		return "", nil, err
	}
	if o.Rev != "" && !isCommit.MatchString(o.Rev) {
		if err := checkRef(o.Rev); err != nil {
			return "", nil, err
		}
	}
	address := o.Source
	if !strings.Contains(address, ":") && !filepath.IsAbs(address) { // a path on this machine
		var err error
		if address, err = filepath.Abs(filepath.Join(s.Dir, address)); err != nil { // git runs in a folder of its own
			return "", nil, err
		}
	}
	commit, b, err := fromGit(ctx, address, o.Rev, cmp.Or(s.MaxPack, DefaultMaxPack))
	if err != nil {
		err = fmt.Errorf("%s: %w", o.Source, err)
	}
	return commit, b, err
}

// State compares the folder of an entry with the lock. The error says what differs, and is nil where nothing does.
func (s *Store) State(e *Entry) error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(e.Folder); errors.Is(err, fs.ErrNotExist) {
		return errIsMissing
	}
	tree, err := readTree(root, e.Folder)
	if err != nil {
		return err
	}
	if tree.Digest() != e.Digest {
		return ErrAltered
	}
	return nil
}

// ErrAltered tells of a folder whose content differs from the lock file.
var ErrAltered = errors.New("its content is not what " + LockFile + " says")

// put writes a folder. A folder that the lock does not know, or that was altered, stays. One that has these very files already is taken as it is: a
// run that was killed has left it before the lock file was written.
func (s *Store) put(folder string, tree Tree) (err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if there, err := readTree(root, folder); err == nil && there.Digest() == tree.Digest() {
		return nil
	}
	if err := s.free(root, folder); err != nil {
		return err
	}
	return tree.write(root, folder)
}

// free reports whether a folder may be replaced or removed.
func (s *Store) free(root *os.Root, folder string) error {
	_, err := root.Lstat(folder)
	switch known := s.Lock.Find(folder); {
	case errors.Is(err, fs.ErrNotExist) || s.Force:
		return nil
	case err != nil:
		return err
	case known == nil:
		return fmt.Errorf("%s is there already, and %s does not know it: name another folder with --folder, or replace it with --force", folder, LockFile)
	default:
		if err := s.State(known); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w: take your changes out, or lose them with --force", folder, err)
		}
	}
	return nil
}

// Restore fetches an entry again and writes its folder. A source that gives something else than it gave before is an error.
func (s *Store) Restore(ctx context.Context, e *Entry) error {
	o := Order{Source: e.Git + e.Archive, Rev: e.Commit, SHA256: e.SHA256, Path: e.Path, Folder: e.Folder}
	got, tree, err := s.fetch(ctx, Entry{Folder: e.Folder, Path: e.Path}, o)
	switch {
	case err != nil:
		return err
	case got.Digest != e.Digest:
		return fmt.Errorf("%s: its files are not those that %s says: nothing is taken", o.Source, LockFile)
	}
	return s.put(e.Folder, tree)
}

// Update fetches the newest commit of the branch or the tag of an entry, or another revision. It reports whether it has written the folder.
func (s *Store) Update(ctx context.Context, e *Entry, rev string) (changed bool, err error) {
	switch {
	case e.Git == "":
		return false, errors.New("it is from an archive, which has one content: get another archive with mgmt module get and --folder " + e.Folder)
	case rev == "" && e.Ref == "":
		return false, errors.New("it was got at a commit: name another one with --rev")
	case rev == "" && e.Ref != "HEAD":
		rev = e.Ref
	}
	got, tree, err := s.fetch(ctx, Entry{Folder: e.Folder, Path: e.Path}, Order{Source: e.Git, Rev: rev, Path: e.Path, Folder: e.Folder})
	if err != nil {
		return false, err
	}
	if got == *e && s.State(e) == nil { // an altered folder of the same commit is not up to date
		return false, nil
	}
	if err := s.put(e.Folder, tree); err != nil {
		return false, err
	}
	*e = got
	return true, nil
}

// Remove removes the folder of a module, and its entry.
func (s *Store) Remove(folder string) (err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := s.free(root, folder); err != nil {
		return err
	}
	s.Lock.Remove(folder)
	return root.RemoveAll(folder)
}

// maxLock bounds a lock file in bytes. An entry takes less than 1 KiB.
const maxLock = 16 << 20

// Read reads the lock file of a store with a parser of YAML. A missing file is an empty lock. A pipe, a device and a larger file than maxLock are
// refused.
func (s *Store) Read(name string, parse func(file string, src []byte) (*schema.Node, schema.Diagnostics)) error {
	src, err := gapi.Source{}.ReadRegular(context.Background(), name, maxLock, "too big: a lock file")
	if errors.Is(err, fs.ErrNotExist) {
		s.Lock = &Lock{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, safepath.WithoutPath(err))
	}
	n, ds := parse(name, src)
	if ds.Err() != nil {
		return ds
	}
	s.Lock, ds = ReadLock(n)
	return ds.Err()
}
