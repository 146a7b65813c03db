package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

// RepairError says that the database of a package manager is interrupted and could not be repaired.
// The kind pkg returns it from CheckApply, and the engine retries as the metaparameters say.
type RepairError struct {
	Tool string
	What []string // the parts that are left half done
	Err  error    // how the repair ended
	Then string   // the way out for a person
}

func (e *RepairError) Error() string {
	text := fmt.Sprintf("the package database of %s is interrupted (%s), and the repair has failed", e.Tool, strings.Join(e.What, "; "))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; " + e.Then
}

// Unwrap gives the error of the repair itself, which may be nil.
func (e *RepairError) Unwrap() error { return e.Err }

// repairs are what a person can do where mgmt cannot, by backend.
var repairs = map[string]string{
	"apt":    "see dpkg --audit; repair or remove what it names (dpkg --remove --force-remove-reinstreq NAME), and mgmt goes on",
	"dnf":    "see dnf history info last and dnf check; repair what they name, and mgmt goes on",
	"zypper": "see rpm -Va --nofiles and zypper verify; repair what they name, and mgmt goes on",
	"pacman": "see pacman -Dk and /var/log/pacman.log; install what they name again, and mgmt goes on",
	"apk":    "see apk fix; repair what it names, and mgmt goes on",
}

// Advice says what a person can do about the interrupted database of a backend that could not be
// repaired. The text is one line at the end of an error: a command that shows the fault, and the
// way out.
func Advice(backend string) string {
	if text := repairs[backend]; text != "" {
		return text
	}
	return "repair it with the package manager, and mgmt goes on"
}

// dpkgUpdates has the changes of the database that dpkg has not merged yet. There are none when it has ended well.
const dpkgUpdates = "/var/lib/dpkg/updates"

// interrupted asks dpkg for half-done packages, and looks for changes that it has not merged.
// It alters nothing and takes no lock. While dpkg runs its packages are half done, too; the caller
// asks pkglock about that.
// dpkg --audit prints headings and, below each, the packages that it is about.
func (a *apt) interrupted(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	var what []string
	files, _ := os.ReadDir(a.at(dpkgUpdates))
	if slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.Trim(f.Name(), "0123456789") == "" }) {
		what = append(what, "dpkg was ended while it wrote")
	}
	r, err := a.ask(ctx, "dpkg", "--audit")
	if err != nil {
		return nil, err
	}
	for _, line := range linesOf(r.Stdout) {
		// Packages stand behind a blank, and their summaries behind more of them.
		if f := strings.Fields(line); strings.HasPrefix(line, " ") && len(f) > 0 && !slices.Contains(what, f[0]) {
			what = append(what, f[0])
		}
	}
	if r.ExitCode != 0 && len(what) == 0 {
		return nil, a.failure("dpkg", r)
	}
	return what, nil
}

// repair ends the transaction of a killed dpkg, and brings the packages that are missing then.
// It keeps altered configuration files, as a person would be asked about them.
func (a *apt) repair(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, a, func() error { return a.mend(ctx) })
}

// mend sets up unpacked packages. For the others apt-get may fetch packages.
// A lock that another process holds ends it at once, for that process may finish the work itself.
func (a *apt) mend(ctx context.Context) error {
	err := a.transact(ctx, nil, "dpkg", "--force-confdef", "--force-confold", "--configure", "-a")
	if _, locked := errors.AsType[*LockedError](err); locked {
		return err
	}
	args := []string{"--fix-broken", "install"}
	all, dberr := a.database(ctx, nil)
	for _, d := range all {
		if d.torn() {
			args = append(args, d.name+":"+d.arch)
		}
	}
	if len(args) > 2 { // apt-get takes half-unpacked packages for installed
		args = slices.Insert(slices.Insert(args, 2, "--"), 1, "--reinstall")
	}
	return errors.Join(dberr, a.get(ctx, args...))
}

// torn reports whether the package is there in part, and can only be installed anew.
func (d dpkg) torn() bool { return d.state[1] == 'H' || len(d.state) > 2 && d.state[2] == 'R' }

// rebuilt are texts by which rpm says that its database is damaged and not only interrupted.
var rebuilt = []string{"rpmdb: ", "error: rpmdb", "error: cannot open Packages", "database disk image is malformed", "DB_RUNRECOVERY", "db5 error"}

// doubles returns the packages that rpm has in two versions, because the older one was not removed.
// Packages that may be there in several versions, as kernels, are not among them.
// It needs no network.
func (r *rpm) doubles(ctx context.Context) ([]string, error) {
	res, err := r.ask(ctx, "rpm", "-qa", "--qf", `%{NAME}.%{ARCH}\n`)
	switch {
	case err != nil:
		return nil, err
	case has(res, rebuilt...):
		return []string{"the database of rpm is damaged"}, nil
	case res.ExitCode != 0:
		return nil, r.failure("rpm", res)
	}
	count := map[string]int{}
	for _, name := range linesOf(res.Stdout) {
		count[name]++
	}
	var twice []string
	for _, name := range sortedKeys(count) {
		if count[name] > 1 && !strings.HasPrefix(name, "gpg-pubkey.") {
			twice = append(twice, name)
		}
	}
	if len(twice) == 0 {
		return nil, nil
	}
	for _, ability := range []string{"installonlypkg(kernel)", "multiversion(kernel)"} {
		several, err := r.asked(ctx, "rpm", "-q", "--whatprovides", "--qf", `%{NAME}.%{ARCH}\n`, ability)
		if err != nil {
			return nil, err
		}
		twice = slices.DeleteFunc(twice, func(name string) bool { return slices.Contains(several, name) })
	}
	return twice, nil
}

// rebuild makes the database of rpm anew, where it is damaged.
// A sound database is left alone, since a rebuild reads and writes all of it.
func (r *rpm) rebuild(ctx context.Context) error {
	res, err := r.ask(ctx, "rpm", "-qa", "--qf", `%{NAME}.%{ARCH}\n`)
	if err != nil || !has(res, rebuilt...) {
		return err
	}
	return r.transact(ctx, nil, "rpm", "--rebuilddb")
}

// interrupted looks for packages in two versions, and asks the history whether the last transaction has ended.
// The words differ: dnf 4 has a line Return-Code, and dnf 5 a line Status.
func (d *dnf) interrupted(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	what, err := d.doubles(ctx)
	if err != nil {
		return nil, err
	}
	last, err := d.asked(ctx, "dnf", "-q", "-C", "--setopt=color=never", "history", "info", "last")
	if slices.ContainsFunc(last, func(line string) bool {
		return strings.HasPrefix(line, "Return-Code") && strings.Contains(line, "Aborted") || strings.HasPrefix(line, "Status") && strings.HasSuffix(line, "Started")
	}) {
		what = append(what, "the last transaction was aborted")
	}
	return what, err
}

// repair removes the older ones of packages in two versions, and makes the last transaction once more, as far as it was not made.
// It asks again after the rebuild: a damaged database may have hidden the other faults.
func (d *dnf) repair(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, d, func() error {
		if err := d.rebuild(ctx); err != nil {
			return err
		}
		what, err := d.interrupted(ctx, virtual.Nothing{})
		if err != nil || len(what) == 0 {
			return err
		}
		if twice, err := d.doubles(ctx); err != nil {
			return err
		} else if len(twice) > 0 {
			if err := d.run(ctx, "remove", "--duplicates"); err != nil {
				return err
			}
		}
		if what[len(what)-1] == "the last transaction was aborted" {
			return d.run(ctx, "history", "redo", "last")
		}
		return nil
	})
}

// interrupted looks for packages in two versions.
func (z *zypper) interrupted(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	return z.doubles(ctx)
}

// repair installs packages in two versions once more, which removes the older one, and the packages
// that others need.
// zypper keeps no transaction that could be made once more. verify installs dependencies that are
// missing.
func (z *zypper) repair(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, z, func() error {
		if err := z.rebuild(ctx); err != nil {
			return err
		}
		twice, err := z.doubles(ctx)
		if err != nil {
			return err
		}
		if len(twice) > 0 {
			if err := z.run(ctx, nil, append([]string{"install", "--force", "--no-recommends"}, twice...)...); err != nil {
				return err
			}
		}
		return z.run(ctx, nil, "verify", "--no-recommends")
	})
}

// pacmanLock is the file that pacman makes while it works. A killed pacman leaves it.
const pacmanLock = "/var/lib/pacman/db.lck"

// staleLock is what interrupted says of it.
const staleLock = "db.lck was left by a pacman that was killed"

// interrupted looks for a lock that was left, and for packages that are in the database in part.
// A lock whose holder lives does not count. It reads folders only and runs no program.
func (p *pacman) interrupted(context.Context, virtual.Nothing) ([]string, error) {
	var what []string
	lock := p.at(pacmanLock)
	holder := []pkglock.Lock{{Backend: "pacman", Path: lock, How: pkglock.ByOpen, Advice: pkglock.EndIt}}
	if _, err := os.Lstat(lock); err == nil && pkglock.Held(holder) == nil {
		what = append(what, staleLock)
	}
	return append(what, p.halves()...), nil
}

// halves returns the packages whose description or list of files is missing in the database.
// An empty file counts as missing: a crash leaves such files behind.
func (p *pacman) halves() (names []string) {
	local := p.at(pacmanLocal)
	dirs, _ := os.ReadDir(local)
	for _, d := range dirs {
		for _, file := range []string{"desc", "files"} {
			if st, err := os.Stat(filepath.Join(local, d.Name(), file)); d.IsDir() && (err != nil || st.Size() == 0) {
				names = append(names, d.Name())
				break
			}
		}
	}
	return names
}

// repair removes a leftover lock, and installs the packages anew that are in the database in part.
// The damaged entries are removed first, because pacman refuses to install over them. Their files on
// the machine are overwritten.
func (p *pacman) repair(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	what, err := p.interrupted(ctx, virtual.Nothing{})
	if err != nil {
		return nil, err
	}
	if slices.Contains(what, staleLock) {
		if err := os.Remove(p.at(pacmanLock)); err != nil {
			return nil, err
		}
	}
	halves := p.halves()
	return during(ctx, p, func() error {
		var names []string
		for _, entry := range halves { // name-version-release
			if f := strings.Split(entry, "-"); len(f) > 2 {
				names = append(names, strings.Join(f[:len(f)-2], "-"))
			}
			if err := os.RemoveAll(filepath.Join(p.at(pacmanLocal), entry)); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			return nil
		}
		return p.run(ctx, append([]string{"-S", "--overwrite", "*"}, names...)...)
	})
}

// apkInstalled is the database of apk. In it a package that is broken has a line f:, which says how.
const apkInstalled = "/lib/apk/db/installed"

// interrupted reads which packages apk says to be broken.
// It runs no program and cannot fail.
func (a *apk) interrupted(context.Context, virtual.Nothing) ([]string, error) {
	text, err := os.ReadFile(a.at(apkInstalled))
	if err != nil {
		return nil, nil // there is none, or a newer apk keeps it elsewhere
	}
	var what []string
	name := ""
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
		case "P":
			name = value
		case "f":
			what = append(what, name)
		}
	}
	return what, nil
}

// repair has apk fix the broken packages.
// apk fix installs a broken package anew in the version that it has.
func (a *apk) repair(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, a, func() error { return a.run(ctx, "fix") })
}
