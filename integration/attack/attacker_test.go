package attack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// plantAll is what the attacker does without a race.
func plantAll(root string) error {
	unix.Umask(0o022)
	var errs []error
	for _, p := range places(root, false) {
		errs = append(errs, p.plant())
	}
	return errors.Join(errs...)
}

// probeAll tells on standard output what the attacker has gained, by the place.
func probeAll(root string) error {
	won := map[string][]string{}
	for _, p := range places(root, false) {
		r := racing{place: p}
		r.win()
		won[p.id] = r.Won
	}
	return json.NewEncoder(os.Stdout).Encode(won)
}

// racing is a place of which two paths are exchanged all the time.
type racing struct {
	place
	a, b    string // what is exchanged: a is the honest one
	swapped bool

	Exchanges int
	Acted     int // how often the daemon has made something of what was there
	Won       []string
	seen      string // what the output was
}

// prepareAll makes what is to be exchanged.
func prepareAll(root string) error {
	unix.Umask(0o022)
	for _, p := range places(root, true) {
		if err := newRacing(p).prepare(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

func newRacing(p place) *racing {
	if p.route == aboveLink {
		return &racing{place: p, a: p.sub, b: p.sub + "-other"}
	}
	return &racing{place: p, a: p.file, b: filepath.Join(p.sub, "other")}
}

// prepare makes the honest one of the two, and the other one.
func (r *racing) prepare() error {
	err := errors.Join(os.Mkdir(r.sub, 0o755), r.own(r.place.file), os.MkdirAll(filepath.Join(r.user, "old"), 0o755))
	if r.route == setuid {
		return errors.Join(err, r.own(r.b), r.mark(r.b))
	}
	return errors.Join(err, r.link(r.b))
}

// shown reports whether each place was exchanged often enough, and whether the daemon has made something of half of those where that can be
// seen: of some it seldom does, since one of its steps always meets the other thing.
func shown(all map[string]*racing, exchanges int) bool {
	seen, can, short := 0, 0, false
	for _, r := range all {
		short = short || r.Exchanges < exchanges
		if r.acts() {
			can++
			seen += min(r.Acted, 1)
		}
	}
	return !short && 2*seen >= can
}

// exchange exchanges the two. What the daemon has removed is put there again at once, so that it has no rest.
func (r *racing) exchange() {
	if r.swap() == unix.ENOENT {
		r.restore()
	}
}

// swap exchanges the two. Where the honest one is that there is nothing, the other one comes and goes.
func (r *racing) swap() error {
	err := unix.Renameat2(unix.AT_FDCWD, r.a, unix.AT_FDCWD, r.b, unix.RENAME_EXCHANGE)
	if err == unix.ENOENT && r.moves() {
		from, to := r.b, r.a
		if r.swapped {
			from, to = to, from
		}
		err = unix.Rename(from, to)
	}
	if err == nil {
		r.swapped = !r.swapped
		r.Exchanges++
	}
	return err
}

// look looks at what the daemon has made, and puts what it is to make something of into
// its place again.
func (r *racing) look() {
	r.win()
	r.restore()
}

// restore notes whether the daemon has made something, and puts its material there again.
func (r *racing) restore() {
	if r.reads {
		text := r.output()
		if text != r.seen {
			r.Acted, r.seen = r.Acted+1, text
		}
	}
	if r.swapped {
		_ = r.swap()
	}
	if r.swapped { // the daemon has removed the link
		r.Acted, r.swapped = r.Acted+1, false
		_ = os.Rename(r.b, r.a)
	}
	if !r.reads && r.altered() {
		r.Acted++
	}
	r.reset()
}

// output is all that was made of what was read.
func (r *racing) output() string {
	var b strings.Builder
	_ = filepath.WalkDir(filepath.Dir(r.out), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %x\n", path, text)
		}
		return nil
	})
	return b.String()
}

// altered reports whether the file is no longer the attacker's own.
func (r *racing) altered() bool {
	var st unix.Stat_t
	if err := unix.Lstat(r.place.file, &st); err != nil || st.Uid != attackerUID {
		return true
	}
	want := uint32(unix.S_IFREG | 0o644)
	at := r.place.file
	if r.dir {
		want, at = unix.S_IFDIR|0o755, filepath.Join(at, "f")
		if r.name == "image" {
			at = filepath.Join(r.place.file, "etc", map[string]string{"user": "passwd", "group": "group"}[r.kind])
		}
	}
	if st.Mode != want && r.route != setuid {
		return true
	}
	text, err := os.ReadFile(at)
	return err != nil || string(text) != r.content()
}

func (r *racing) content() string {
	text := r.text(r.mine, "mine\n")
	if r.tar {
		return archiveOf("f", text)
	}
	return text
}

// reset puts the attacker's own file there again: another one each time where it is read.
func (r *racing) reset() {
	if r.moves() {
		_ = os.RemoveAll(r.place.file)
		return
	}
	if r.reads && r.mine == "" {
		p := r.place
		p.mine = fmt.Sprintf("mine %d\n", rand.Int())
		_ = p.own(p.file)
		return
	}
	if r.reads || !r.altered() {
		return
	}
	_ = os.RemoveAll(r.place.file)
	_ = r.own(r.place.file)
	if r.route == setuid {
		_ = errors.Join(r.own(r.b), r.mark(r.b))
	} else {
		_ = r.link(r.b)
	}
}

// win notes what the attacker must never get.
func (r *racing) win() {
	for _, dir := range []string{r.user, filepath.Dir(r.out)} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if w := gained(path, d); w != "" && len(r.Won) < 5 {
				r.Won = append(r.Won, w)
			}
			return nil
		})
	}
}

// gained says what a user other than root has of a file that she must not have.
func gained(path string, d fs.DirEntry) string {
	if !d.Type().IsRegular() {
		return ""
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return ""
	}
	if st.Mode&unix.S_ISUID != 0 && st.Uid == 0 || st.Mode&unix.S_ISGID != 0 && st.Gid == 0 {
		return fmt.Sprintf("%s is a setuid or setgid file of root, %o", path, st.Mode)
	}
	if st.Uid == 0 && unix.Access(path, unix.W_OK) == nil && os.Geteuid() != 0 {
		return path + " is root's, and the attacker can write to it"
	}
	text, _ := os.ReadFile(path)
	if os.Geteuid() != 0 && bytes.Contains(text, []byte(token)) {
		return path + " has the secret of root in it"
	}
	return ""
}
