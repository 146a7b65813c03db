package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// DefaultPath is the PATH of a command whose Env is nil, and is searched for a command whose Env
// has no PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A CommandError says why a command could not be started. It tells nothing of
// its arguments and environment but PATH.
type CommandError struct {
	Program string // as it was given
	Problem string
	Err     error // exec.ErrNotFound, an errno, ...
}

func (e *CommandError) Error() string { return fmt.Sprintf("command %q: %s", e.Program, e.Problem) }
func (e *CommandError) Unwrap() error { return e.Err }

// prepare completes c, finds its program and opens its folder, which the caller closes
// when the program has started.
func prepare(c *engine.Command) (attr *os.ProcAttr, path string, dir folder, err error) {
	if err := complete(c); err != nil {
		return nil, "", dir, err
	}
	cred, err := credential(c)
	if err != nil {
		return nil, "", dir, err
	}
	if dir, err = openDir(c, cred); err != nil {
		return nil, "", dir, err
	}
	if path, err = findProgram(c); err != nil {
		dir.close()
		return nil, "", dir, err
	}
	// A session of its own, with no terminal: it can type nothing into that of our own parent.
	sys := unix.NewSession(cred)
	return &os.ProcAttr{Dir: dir.path, Env: c.Env, Sys: sys}, path, dir, nil
}

// folder is where a command begins.
type folder struct {
	path string // for the process that is about to become the program
	held *safepath.Folder
}

func (f folder) close() {
	if f.held != nil {
		f.held.Close()
	}
}

// noFolder is the message of a command whose folder can't be entered, with the way out.
const noFolder = "cannot run in %s: %v: put a folder there that the user of the command may enter, or name another one"

// openDir finds the folder that a command runs in. It is held open, so that another user
// can make a command of ours run in no other one, neither by a link nor by an exchange.
// A command that runs as another user enters it with the rights of that user.
func openDir(c *engine.Command, cred *unix.Credential) (folder, error) {
	w := safepath.System()
	if cred != nil && !w.Trusts(cred.Uid) {
		if st, err := os.Stat(c.Dir); err != nil {
			return folder{}, problem(c, err, noFolder, c.Dir, errnoOf(err))
		} else if !st.IsDir() {
			return folder{}, problem(c, syscall.ENOTDIR, noFolder, c.Dir, syscall.ENOTDIR)
		}
		return folder{path: c.Dir}, nil
	}
	dir, err := w.Folder(c.Dir)
	if err != nil {
		return folder{}, problem(c, err, noFolder, c.Dir, errnoOf(err))
	}
	return folder{fmt.Sprintf("/proc/self/fd/%d", dir.FD()), &dir}, nil
}

// complete fills in what is not said, and checks what is.
func complete(c *engine.Command) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("command: no program is named")
	}
	if c.Env == nil {
		c.Env = []string{"PATH=" + DefaultPath}
	}
	if c.Dir == "" {
		c.Dir = "/"
	}
	if slices.ContainsFunc(slices.Concat(c.Argv, c.Env, []string{c.Dir}), hasNUL) {
		return problem(c, syscall.EINVAL, "an argument or the environment has a NUL byte in it")
	}
	if c.Signal == "" {
		c.Signal = "SIGTERM"
	}
	if unix.SignalNum(c.Signal) == 0 {
		return problem(c, syscall.EINVAL, "there is no signal %s", c.Signal)
	}
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

func problem(c *engine.Command, err error, format string, args ...any) error {
	return &CommandError{Program: c.Argv[0], Problem: fmt.Sprintf(format, args...), Err: err}
}

// errnoOf strips the operation and the path from an error of the os package.
func errnoOf(err error) error {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}

// findProgram returns the path of the program. Elements of PATH that are not
// absolute are left out.
func findProgram(c *engine.Command) (string, error) {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(c.Dir, at)
		}
		return at, runnable(c, at)
	}
	search := pathOf(c.Env)
	var other error
	for dir := range strings.SplitSeq(search, ":") {
		if !filepath.IsAbs(dir) {
			continue
		}
		at := filepath.Join(dir, name)
		err := runnable(c, at)
		if err == nil {
			return at, nil
		}
		if other == nil && !errors.Is(err, exec.ErrNotFound) {
			other = err
		}
	}
	if other != nil {
		return "", other
	}
	return "", problem(c, exec.ErrNotFound, "not found in PATH (%s)", search)
}

// pathOf returns PATH of the environment; the last one counts.
func pathOf(env []string) string {
	for _, kv := range slices.Backward(env) {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p
		}
	}
	return DefaultPath
}

// runnable says why the file at path is no program.
func runnable(c *engine.Command, path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return problem(c, exec.ErrNotFound, "there is no %s", path)
	case err != nil:
		return problem(c, err, "cannot run %s: %v", path, errnoOf(err))
	case st.IsDir():
		return problem(c, syscall.EISDIR, "%s is a directory", path)
	case st.Mode()&0o111 == 0:
		return problem(c, syscall.EACCES, "%s is not executable", path)
	}
	return nil
}

// startError explains why the kernel refused to run the program.
func startError(c *engine.Command, path string, err error) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err // the cause of a context
	}
	var why string
	switch errno {
	case syscall.ENOENT:
		why = "the interpreter or loader that " + path + " names is missing"
	case syscall.ENOEXEC:
		why = path + " is no program for this machine: it is for another architecture, or a script without #!"
	case syscall.EACCES:
		why = "permission denied: the user may not run " + path + " or enter " + c.Dir + ", or the file system is mounted noexec"
	case syscall.EPERM:
		why = fmt.Sprintf("the user with number %d may not run it as %s", os.Getuid(), who(c))
	case syscall.ETXTBSY:
		why = path + " is being written"
	case syscall.E2BIG:
		why = "the arguments and the environment are too long"
	case syscall.EAGAIN:
		why = "no more processes can be started: a limit of the user or the control group is reached"
	default:
		why = "cannot run " + path + ": " + errno.Error()
	}
	return problem(c, errno, "%s", why)
}

func who(c *engine.Command) string {
	switch {
	case c.User == "" && c.Group == "":
		return "itself"
	case c.Group == "":
		return "user " + c.User
	case c.User == "":
		return "group " + c.Group
	}
	return "user " + c.User + ", group " + c.Group
}

// credential returns whom to run c as; nil for ourselves.
func credential(c *engine.Command) (*unix.Credential, error) {
	if c.User == "" && c.Group == "" {
		return nil, nil
	}
	cred := &unix.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), NoSetGroups: true}
	if c.User != "" {
		if err := become(c, cred); err != nil {
			return nil, err
		}
	}
	if c.Group != "" {
		gid, err := groupID(c)
		if err != nil {
			return nil, err
		}
		cred.Gid = gid
	}
	if int(cred.Uid) == os.Getuid() && int(cred.Gid) == os.Getgid() && os.Getuid() != 0 {
		return nil, nil // already so, and not allowed to say it
	}
	return cred, nil
}

// become fills in the user with its groups.
func become(c *engine.Command, cred *unix.Credential) error {
	u, err := user.Lookup(c.User)
	uid, perr := strconv.ParseUint(c.User, 10, 32)
	if err != nil && perr == nil { // the library would cut a larger number, perhaps to that of root
		u, err = user.LookupId(c.User)
	}
	if err != nil {
		switch {
		case perr != nil:
			return problem(c, err, "there is no user %q", c.User)
		case c.Group == "":
			return problem(c, err, "the user with number %d has no entry, so a group must be given too", uid)
		}
		cred.Uid, cred.NoSetGroups = uint32(uid), false
		return nil
	}
	if uid, err = strconv.ParseUint(u.Uid, 10, 32); err != nil {
		return problem(c, err, "user %q has no number", c.User)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return problem(c, err, "user %q has no group number", c.User)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return problem(c, err, "the groups of user %q cannot be read: %v", c.User, err)
	}
	cred.Uid, cred.Gid, cred.NoSetGroups = uint32(uid), uint32(gid), false
	for _, g := range groups {
		if id, err := strconv.ParseUint(g, 10, 32); err == nil {
			cred.Groups = append(cred.Groups, uint32(id))
		}
	}
	return nil
}

func groupID(c *engine.Command) (uint32, error) {
	name := c.Group
	if g, err := user.LookupGroup(name); err == nil {
		name = g.Gid
	}
	gid, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, problem(c, user.UnknownGroupError(c.Group), "there is no group %q", c.Group)
	}
	return uint32(gid), nil
}
