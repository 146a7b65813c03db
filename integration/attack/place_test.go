package attack_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The attacker: a user whom no machine has.
const (
	attackerUID  = 64123
	attackerName = "mallory"
)

// token is in every victim that only root may read.
const token = "TOKEN-of-root-6b1f"

// place is where one row is attacked by one route. Root has made
//
//	v/        its victims: f and, if a folder is attacked, what is in f
//	out/      where a kind writes what it has read
//	user/     the attacker's folder
//
// and the attacker makes user/sub, in which the path of the graph is.
type place struct {
	row
	route string
	id    string
	base  string
	user  string // the attacker's folder
	sub   string // in that, the folder of the path
	file  string // the path that the graph names
	out   string
}

// places are those of all rows. Without a race there is one more for each row, in which
// nobody attacks.
func places(root string, race bool) []place {
	var all []place
	for _, r := range rows() {
		routes := r.routes
		if routes == nil {
			routes = []string{lastLink, aboveLink}
		}
		if !race {
			routes = append([]string{honest}, routes...)
		}
		for _, route := range routes {
			if race && (route == acl || route == wide) {
				continue
			}
			all = append(all, newPlace(root, r, route, len(all)))
		}
	}
	return all
}

// honest is the route of a place in which nobody attacks.
const honest = "honest"

func newPlace(root string, r row, route string, i int) place {
	p := place{row: r, route: route, id: fmt.Sprintf("p%03d", i)}
	p.base = filepath.Join(root, p.id)
	p.user = filepath.Join(p.base, "user")
	p.out = filepath.Join(p.base, "out", "o")
	if r.kind == "apt_key" {
		p.out += ".gpg"
	}
	sub := "sub"
	if r.home {
		sub = ".ssh"
	}
	p.sub = filepath.Join(p.user, sub)
	p.file = filepath.Join(p.sub, p.last())
	return p
}

func (p place) String() string { return fmt.Sprintf("%s, %s, %s (%s)", p.kind, p.name, p.route, p.id) }

// last is the last element of the path.
func (p place) last() string {
	if p.row.file == "" {
		return "f"
	}
	return p.row.file
}

// victims is the folder of what must not change.
func (p place) victims() string { return filepath.Join(p.base, "v") }

// make makes what is root's.
func (p place) make() error {
	for _, dir := range []string{p.base, p.victims(), filepath.Dir(p.out), p.user} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, text := range p.extra {
		at := filepath.Join(p.base, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "ID", p.id)), 0o644); err != nil {
			return err
		}
	}
	if err := p.fill(filepath.Join(p.victims(), p.last()), p.victimText(), 0o600); err != nil {
		return err
	}
	return os.Chown(p.user, attackerUID, attackerUID)
}

func (p place) victimText() string { return p.text(p.victim, "victim\n") + "# " + token + "\n" }

func (p place) text(given, otherwise string) string {
	switch given {
	case "":
		given = otherwise
	case nothing:
		given = ""
	}
	return strings.ReplaceAll(given, "ID", p.id)
}

// fill makes what a path of the row is: a file, or a folder with files.
func (p place) fill(at, text string, mode os.FileMode) error {
	if p.tar {
		text = archiveOf("f", text)
	}
	if !p.dir {
		return errors.Join(os.WriteFile(at, []byte(text), mode), os.Chmod(at, mode))
	}
	names := []string{"f"}
	if p.name == "image" {
		names = []string{"etc/passwd", "etc/group", "etc/shadow", "etc/gshadow"}
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// own makes the attacker's own file, or folder. It is the attacker who does so.
func (p place) own(at string) error { return p.fill(at, p.text(p.mine, "mine\n"), 0o644) }

// plant makes what the attacker makes before the daemon looks.
func (p place) plant() error {
	switch p.route {
	case aboveLink:
		return p.link(p.sub)
	case lastLink:
		return errors.Join(os.Mkdir(p.sub, 0o755), p.link(p.file))
	}
	err := errors.Join(os.Mkdir(p.sub, 0o755), p.own(p.file))
	if p.moves() {
		err = errors.Join(err, os.RemoveAll(p.file), os.MkdirAll(filepath.Join(p.user, "old"), 0o755))
	}
	return errors.Join(err, p.mark(p.file))
}

// moves reports whether what is at the path has to be missing for the kind to act.
func (p place) moves() bool { return p.kind == "user" && p.name != "image" }

// link makes the link of a route. What is confined to a folder follows relative ones.
func (p place) link(at string) error {
	to := p.victims()
	if p.route == lastLink {
		to = filepath.Join(to, p.last())
	}
	if p.kind == "user" {
		to, _ = filepath.Rel(filepath.Dir(at), to)
	}
	return os.Symlink(to, at)
}

// mark gives a file of the attacker what its replacement must not inherit.
func (p place) mark(at string) error {
	switch p.route {
	case setuid:
		return unix.Chmod(at, 0o6755)
	case wide:
		return unix.Chmod(at, 0o777)
	case acl:
		return unix.Setxattr(at, "system.posix_acl_access", aclFor(attackerUID), 0)
	}
	return nil
}

// aclFor is an ACL that lets one more user read and write.
func aclFor(uid uint32) []byte {
	b := []byte{2, 0, 0, 0}
	entry := func(tag, perm uint16, id uint32) {
		b = append(b, byte(tag), 0, byte(perm), 0, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	none := ^uint32(0)
	entry(1, 6, none)
	entry(2, 6, uid)
	entry(4, 4, none)
	entry(16, 6, none)
	entry(32, 4, none)
	return b
}

// archiveOf is an archive with one file.
func archiveOf(name, text string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// declare is the graph of places, with metaparameters for each resource.
func declare(all []place, meta string) string {
	kinds := map[string][]string{}
	for _, p := range all {
		text := p.graph(p)
		if meta != "" {
			text = strings.TrimSuffix(text, "}") + ", meta: " + meta + "}"
		}
		kinds[p.kind] = append(kinds[p.kind], "  - "+text+"\n")
	}
	var b strings.Builder
	b.WriteString("graph: attacked\nresources:\n")
	for kind, list := range kinds {
		fmt.Fprintf(&b, " %s:\n%s", kind, strings.Join(list, ""))
	}
	return b.String()
}
