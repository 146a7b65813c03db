package archived

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/archive"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/inputs"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
)

// validateExtract is Validate for a resource that unpacks an archive.
// It does no I/O: a missing archive shows in CheckApply.
func (r *Tar) validateExtract() error {
	p := r.made().Path
	errs := []error{files.PlainPath("extract", r.Extract), files.PlainPath("path", strings.TrimRight(p, "/"))}
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: !strings.HasSuffix(p, "/"), Text: "path has to end in a slash: with extract it is a folder"},
		{If: len(r.Inputs) > 0, Text: "inputs and extract exclude each other"},
		{If: r.Mode != "", Text: "mode makes no sense with extract: the archive says the permissions"},
		{If: r.MaxSize < 0, Text: "max_size must not be negative"},
		{If: strings.HasPrefix(path.Clean(r.Extract), path.Clean(p)+"/"), Text: "the archive is in the folder that it is unpacked into"},
	})...)...)
}

// unpacking says where the archive goes.
// Owner and group are looked up at each call, because a user can be made while the daemon
// runs.
func (r *Tar) unpacking() (*archive.Unpacking, error) {
	uid, gid, err := files.Of(r.init).Owners(r.init.Host, r.Owner, r.Group)
	return &archive.Unpacking{Paths: safepath.Of(r.init.Host), To: path.Clean(r.made().Path), UID: uid, GID: gid, MaxSize: int64(r.MaxSize)}, err
}

// found compares the folder with the archive.
// The archive is read as a stream and never held in memory as a whole.
// An archive that leads out of the folder is an error here, before anything is altered.
func (r *Tar) found(ctx context.Context, u *archive.Unpacking) (archive.Found, error) {
	f, _, err := atomicfile.OpenBy(safepath.Of(r.init.Host), r.Extract)
	if err != nil {
		return archive.Found{}, fmt.Errorf("extract: %w", err)
	}
	defer f.Close()
	found, err := u.Check(ctx, f)
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Extract, err)
	}
	return found, err
}

// unpack makes the folder hold the entries of the archive. As elsewhere, only a look before the
// comparison is remembered.
// It opens the archive twice: once to compare, and once to write the entries that differ.
func (r *Tar) unpack(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	u, err := r.unpacking()
	if err != nil {
		return false, err
	}
	in, err := r.lookExtract()
	if err != nil {
		return false, err
	}
	names := *r.unpacked
	now := inputs.Seen{OK: true, Key: fmt.Sprint(u.To, u.UID, u.GID, u.MaxSize, r.Extract), In: in, Out: r.lookUnpacked(u, names)}
	if *r.seen == now {
		return true, nil
	}
	*r.seen = inputs.Seen{}
	_, err = atomicfile.FollowBy(u.Paths, u.To)
	missing := files.IsMissing(err)
	found, err := r.found(ctx, u)
	if err != nil {
		return false, err
	}
	*r.unpacked = found.Names
	if len(found.Differ) == 0 && !missing {
		if slices.Equal(names, found.Names) && now.Settled() {
			*r.seen = now
		}
		return true, nil
	}
	r.reportUnpacked(found, missing)
	if !apply {
		return false, files.ParentOf(r.init, u.To)
	}
	return false, r.make(ctx, u, missing, found.Differ)
}

// Entries are counted and not named, since an archive may have thousands.
func (r *Tar) reportUnpacked(found archive.Found, missing bool) {
	entries := engine.Change{Field: "entries", To: len(found.Names)}
	if missing {
		r.init.Change(engine.Change{Verb: engine.Created})
		for _, c := range engine.MadeWith(r) {
			r.init.Change(c)
		}
	} else {
		entries.From = len(found.Names) - len(found.Differ)
	}
	if len(found.Differ) > 0 {
		r.init.Change(entries)
	}
}

// The folder is made only one level deep: a missing parent is a mistake in most graphs.
func (r *Tar) make(ctx context.Context, u *archive.Unpacking, missing bool, differ map[string]bool) error {
	if missing {
		dir, name := path.Split(u.To)
		if err := atomicfile.AtBy(u.Paths, dir).Mkdir(name, files.FreshFolder); err != nil && !errors.Is(err, unix.EEXIST) {
			return files.ExplainParent(r.init, u.To, err)
		}
	}
	f, _, err := atomicfile.OpenBy(safepath.Of(r.init.Host), r.Extract)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	defer f.Close()
	defer files.Of(r.init).WroteAt(u.To+"/.", r.init)
	if err := u.Make(ctx, f, differ); err != nil {
		return fmt.Errorf("%s: %w", r.Extract, err)
	}
	return nil
}

// It fails if the archive is not there, which a later event can change.
// A link counts as its target.
func (r *Tar) lookExtract() (inputs.Look, error) {
	st, err := atomicfile.FollowBy(safepath.Of(r.init.Host), r.Extract)
	if err != nil {
		return inputs.Look{}, fmt.Errorf("extract: %w", err)
	}
	l := inputs.NewRecorder(r.init)
	l.Add(r.Extract, st)
	return l.End(), nil
}

// lookUnpacked looks at the entries of an archive, in the folder. A missing entry is never settled.
// The names are those of the last comparison.
// It costs one look for each entry, and reads no content.
func (r *Tar) lookUnpacked(u *archive.Unpacking, names []string) inputs.Look {
	l := inputs.NewRecorder(r.init)
	dir := atomicfile.AtBy(u.Paths, u.To)
	for _, name := range names {
		st, err := dir.Lstat(name)
		if err != nil {
			return inputs.Look{}
		}
		l.Add(dir.Path(name), st)
	}
	return l.End()
}

// readUnpacked returns how much of the archive is in the folder; nil if there is no
// folder.
// It compares all entries, so it takes as long as a check.
func (r *Tar) readUnpacked(ctx context.Context) (engine.Res, error) {
	u, err := r.unpacking()
	if err != nil {
		return nil, err
	}
	st, err := atomicfile.FollowBy(u.Paths, u.To)
	if files.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := r.found(ctx, u)
	if err != nil {
		return nil, err
	}
	got := &Tar{
		Path: r.Path, Inputs: slices.Clone(r.Inputs), Format: r.Format, Extract: r.Extract, MaxSize: r.MaxSize,
		Owner: files.UserName(st.UID, r.Owner), Group: files.GroupName(st.GID, r.Group), Entries: len(found.Names) - len(found.Differ),
	}
	if len(found.Differ) == 0 { // it is theirs as far as that was asked for
		got.Owner, got.Group = r.Owner, r.Group
	}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	return got, nil
}

// fillsFolder says what another resource wants in the place of the folder.
// It does no I/O; the graph builder asks it for two resources of one path.
func (r *Tar) fillsFolder(other engine.Res) error {
	f, ok := other.(*file.Res)
	if !ok {
		return fmt.Errorf("a %s writes a file, and the tar unpacks into a folder", other.Kind())
	}
	_, err := r.FolderClash(f)
	return err
}

// FolderClash says which wish of a file resource clashes with the folder. It is false where the tar makes a file.
// It compares declared values only.
func (r *Tar) FolderClash(f *file.Res) (bool, error) {
	if r.Extract == "" {
		return false, nil
	}
	switch {
	case f.Wants() != "" && !f.IsFolder():
		return true, fmt.Errorf("the file wants %s, and the tar a folder", f.Wants())
	case f.Purge:
		return true, errors.New("the file purges what the tar unpacks")
	}
	return true, nil
}
