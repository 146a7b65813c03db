package host

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

// A Folder is a folder that the Host follows for its subscribers.
type Folder struct {
	Path   string
	Source string // what tells of changes: fanotify, inotify, fsnotify, or poll
	Remote string // the type of its file system, if other machines can change it: no event tells of that; else empty
}

// Folders returns the folders that are followed, sorted by path. It waits for the goroutine of the watches, which a file
// system that does not answer can hold up; ctx bounds that.
func (h *Host) Folders(ctx context.Context) ([]Folder, error) {
	list, err := h.hub.folders(ctx)
	if err != nil {
		return nil, err
	}
	remote := remoteMounts()
	for i := range list {
		list[i].Remote = typeAt(remote, list[i].Path)
	}
	slices.SortFunc(list, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// folders asks the hub's goroutine.
func (h *hub) folders(ctx context.Context) ([]Folder, error) {
	h.in.mu.Lock()
	started := h.in.started
	h.in.mu.Unlock()
	if !started {
		return nil, nil
	}
	answer := make(chan []Folder, 1)
	select {
	case h.calls <- func() { answer <- h.served() }:
		return <-answer, nil // served waits for nothing
	case <-h.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// served returns the source of each directory.
func (h *hub) served() []Folder {
	list := make([]Folder, 0, len(h.byID))
	for _, d := range h.byID {
		f := Folder{Path: d.path, Source: "poll"}
		if d.armed {
			f.Source = h.w.kind(d.path)
		}
		list = append(list, f)
	}
	return list
}

// remoteMounts returns the type of the file system at each mount point, empty where no other machine can change it. The
// table is the kernel's own: it answers while a file system does not.
func remoteMounts() map[string]string {
	data, err := os.ReadFile(mountTable)
	if err != nil {
		return nil
	}
	types := map[string]string{}
	for line := range strings.Lines(string(data)) {
		l, ok := mountinfo.Parse(line)
		if !ok {
			continue
		}
		types[l.Point] = "" // the last one of a point lies over the others
		if isRemote(l.Type) {
			types[l.Point] = l.Type
		}
	}
	return types
}

// isRemote reports whether files of this type can change without a call to this kernel. fuse counts, since its program
// may get them from anywhere; fuseblk is a local disk.
func isRemote(fs string) bool {
	kind, _, _ := strings.Cut(fs, ".")
	switch kind {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "coda", "9p", "virtiofs", "fuse", "gfs2", "ocfs2", "lustre", "glusterfs", "beegfs", "gpfs", "vboxsf", "prl_fs":
		return true
	}
	return false
}

// typeAt returns the entry of the mount that a clean path is in.
func typeAt(types map[string]string, path string) string {
	for {
		if t, ok := types[path]; ok || path == "/" {
			return t
		}
		path, _ = split(path)
	}
}
