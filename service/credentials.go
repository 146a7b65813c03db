package service

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Credentials are those that systemd has given to this service at its start. systemd
// before 260 gives no others until a restart. So a reload asks systemd for them once more, by
// a transient unit with the same settings. It then puts the new ones in the place of the old.
type Credentials struct {
	dir string // empty without credentials
	// The name of the unit is that of the folder: systemd mounts /run/credentials/UNIT.
	unit string
	log  *slog.Logger
}

// credentialWait is how long systemd may take to give credentials again.
const credentialWait = 30 * time.Second

// maxCredentials bounds all credentials together. systemd takes 1 MiB for a service.
const maxCredentials = 16 << 20

// NewCredentials returns those of this process. A process that a service has started, but systemd
// has not, leaves the credentials of that service alone.
// SYSTEMD_EXEC_PID is set by systemd to the process that it has started, see
// systemd.exec(5).
func NewCredentials(log *slog.Logger) *Credentials {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if os.Geteuid() != 0 || os.Getenv("SYSTEMD_EXEC_PID") != strconv.Itoa(os.Getpid()) {
		dir = ""
	}
	return &Credentials{dir: dir, unit: filepath.Base(dir), log: log}
}

// Renew takes over credentials that have changed. Failures are logged: the old ones go on to
// count.
// It is called at each reload and blocks for 30 s at most.
func (c *Credentials) Renew(ctx context.Context) {
	if c.dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, credentialWait)
	defer cancel()
	fresh, err := c.ask(ctx)
	var taken []string
	if err == nil {
		taken, err = c.put(fresh)
	}
	if len(taken) > 0 {
		c.log.Info("credentials were taken over", "credentials", strings.Join(taken, ", "))
	}
	if err != nil {
		c.log.Warn("credentials could not be read again, those of the start count until mgmt is restarted", "unit", c.unit, "error", err)
	}
}

// credential is one credential as systemd gives it now.
type credential struct {
	name string
	text []byte
}

// credentialSettings are the settings of a unit that bring credentials from elsewhere.
var credentialSettings = []string{"LoadCredential", "LoadCredentialEncrypted", "ImportCredential"}

// ask has systemd give the credentials once more.
// The transient unit prints its own credentials as an archive of tar. They pass through a
// pipe, and never through a file.
func (c *Credentials) ask(ctx context.Context) ([]credential, error) {
	args := []string{"--quiet", "--wait", "--pipe", "--collect", "--service-type=exec"}
	none := len(args)
	for _, name := range credentialSettings {
		for _, entry := range c.entries(ctx, name) {
			args = append(args, "--property="+name+"="+entry)
		}
	}
	if len(args) == none {
		return nil, nil // they are in the unit itself
	}
	out, err := output(ctx, "systemd-run", append(args, "tar", "-c", "-f", "-", "-C", "${CREDENTIALS_DIRECTORY}", ".")...)
	if err != nil {
		return nil, err
	}
	return unpacked(out)
}

// entries returns the entries of one setting of the unit. A setting that this systemd lacks has none.
// busctl prints the type and the data as JSON. LoadCredential is a list of pairs,
// ImportCredential is a list of patterns.
func (c *Credentials) entries(ctx context.Context, setting string) (list []string) {
	path := "/org/freedesktop/systemd1/unit/" + busName(c.unit)
	out, err := output(ctx, "busctl", "--json=short", "get-property", "org.freedesktop.systemd1", path, "org.freedesktop.systemd1.Service", setting)
	if err != nil {
		c.log.Debug("a setting of the unit is not known", "unit", c.unit, "setting", setting, "error", err)
		return nil
	}
	var pairs struct{ Data [][]string }
	if json.Unmarshal(out, &pairs) == nil {
		for _, p := range pairs.Data {
			list = append(list, strings.Join(p, ":"))
		}
		return list
	}
	var names struct{ Data []string }
	if json.Unmarshal(out, &names) == nil {
		return names.Data
	}
	return nil
}

// busName escapes the name of a unit for its path on the bus.
// Every byte other than a letter or a digit becomes _ and two hexadecimal digits, and so
// does a digit in the first place.
func busName(unit string) string {
	var b strings.Builder
	for _, r := range []byte(unit) {
		if '0' <= r && r <= '9' && b.Len() > 0 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			b.WriteByte(r)
		} else {
			fmt.Fprintf(&b, "_%02x", r)
		}
	}
	return b.String()
}

// output runs a program of systemd. The error has the output of the program.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	// A child of the program may keep a pipe open. It then holds the reload up for this second and no
	// longer.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %q", name, err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// unpacked returns the files of an archive.
// Only plain files at the top are taken: a credential has no folder. All of them together
// are bounded.
func unpacked(archive []byte) (list []credential, err error) {
	r := tar.NewReader(bytes.NewReader(archive))
	left := int64(maxCredentials)
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		case h.Typeflag != tar.TypeReg || filepath.Dir(filepath.Clean(h.Name)) != ".":
			continue
		case h.Size > left:
			return nil, fmt.Errorf("the credentials have more than %d bytes", maxCredentials)
		}
		left -= h.Size
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		list = append(list, credential{filepath.Base(h.Name), text})
	}
}

// put writes the differing files, and returns their names.
// The folder is opened only if something differs, so most reloads touch no mount. With an
// error, taken has the names written before it.
func (c *Credentials) put(fresh []credential) (taken []string, err error) {
	var differ []credential
	for _, f := range fresh {
		if old, err := os.ReadFile(filepath.Join(c.dir, f.name)); err != nil || !bytes.Equal(old, f.text) {
			differ = append(differ, f)
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	closed, err := c.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	for _, f := range differ {
		if err := c.replace(f); err != nil {
			return taken, err
		}
		taken = append(taken, f.name)
	}
	return taken, nil
}

// open makes the folder writable for this process, and returns a function that takes that back.
// systemd has mounted it read-only, with nothing else in the mount.
// The mount is that of this service alone, so no other process sees it writable.
// The remount needs CAP_SYS_ADMIN, see mount(2). A unit without it keeps the credentials of its
// start.
func (c *Credentials) open() (restore func() error, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(c.dir, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", c.dir, err)
	}
	if st.Flags&unix.ST_RDONLY == 0 {
		return func() error { return nil }, nil
	}
	flags := mountFlags(st.Flags)
	if err := unix.Mount("", c.dir, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""); err != nil {
		return nil, fmt.Errorf("%s is read-only, and cannot be made writable: %w", c.dir, err)
	}
	return func() error {
		return unix.Mount("", c.dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
	}, nil
}

// mountFlags returns the flags with which a file system is mounted, as mount takes them, but that it is read-only.
// A remount with MS_BIND sets all flags anew: a flag that is left out would be lost.
func mountFlags(st int64) (flags uintptr) {
	for of, flag := range map[int64]uintptr{
		unix.ST_NOSUID: unix.MS_NOSUID, unix.ST_NODEV: unix.MS_NODEV, unix.ST_NOEXEC: unix.MS_NOEXEC,
		unix.ST_NOATIME: unix.MS_NOATIME, unix.ST_RELATIME: unix.MS_RELATIME, stNoSymFollow: unix.MS_NOSYMFOLLOW,
	} {
		if st&of != 0 {
			flags |= flag
		}
	}
	return flags
}

// stNoSymFollow is ST_NOSYMFOLLOW of statfs(2).
const stNoSymFollow = 0x2000

// replace puts one credential in the place of the old one, in one step, with its mode.
// The mode is that of the old file, 0400 for a new one. A reader sees the old text or the
// new one.
func (c *Credentials) replace(f credential) error {
	path, temp := filepath.Join(c.dir, f.name), filepath.Join(c.dir, ".#"+f.name)
	mode := os.FileMode(0o400)
	if info, err := os.Lstat(path); err == nil {
		mode = info.Mode().Perm()
	}
	// The name begins with a point, so that no program takes it for a credential.
	_ = os.Remove(temp) // of a process that was killed
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.text)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}
