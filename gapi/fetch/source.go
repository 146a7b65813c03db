package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// checkGit judges the address of a repository. Some transports of git run any program that the address names, so only known ones are taken.
func checkGit(address string) error {
	scheme, _, ok := strings.Cut(address, "://")
	switch {
	case address == "" || strings.HasPrefix(address, "-") || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("%q is no address of a repository", address)
	case strings.Contains(address, "::"):
		return fmt.Errorf("%q: a transport that is a program of its own is not taken", address)
	case ok && !slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme):
		return fmt.Errorf("%q: git takes https, http, ssh, git and file here, not %s", address, scheme)
	}
	return noPassword(address)
}

// checkArchive judges the address of an archive, or its path.
func checkArchive(address string) error {
	u, err := url.Parse(address)
	switch {
	case address == "" || err != nil || strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q is no address of an archive", address)
	case u.Scheme != "" && !slices.Contains([]string{"https", "http", "file"}, u.Scheme):
		return fmt.Errorf("%q: an archive has an address of https, http or file, or a path", address)
	}
	return noPassword(address)
}

// secretKey recognises the key of a query whose value may be a secret, such as access_token or X-Amz-Signature.
var secretKey = lazyregexp.New(`(?i)token|secret|passw|passphrase|credential|signature|(^|[-_.])(sig|auth|key|api[-_.]?key|jwt)($|[-_.])`)

// noPassword refuses an address that would put a password into the lock file and into the arguments of a program. The user of a web address is
// most often a token. The text is looked at, and not a parsed address: git takes addresses that package url does not.
func noPassword(address string) error {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil // a path, or host:path
	}
	_, query, _ := strings.Cut(address, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(pair, "="); secretKey.MatchString(key) {
			return fmt.Errorf("the address has %q in its query, which looks like a secret that everybody would see in the lock file: use an address without it, or download the archive and name its path", key)
		}
	}
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if at < 0 || !strings.HasPrefix(strings.ToLower(scheme), "http") && !strings.Contains(host[:at], ":") {
		return nil
	}
	return errors.New("the address has a password or a token, which everybody would see in the lock file: let git or the file .netrc of curl ask for it")
}

// fromGit returns the commit that a revision names, and its files. An empty revision is the default branch.
func fromGit(ctx context.Context, address, rev string, most int64) (commit string, b *builder, err error) {
	dir, err := os.MkdirTemp("", "mgmt-module-")
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := git(ctx, dir, most, "init", "-q", "--bare", "--template=", "."); err != nil {
		return "", nil, err
	}
	if err := plainFiles(dir); err != nil {
		return "", nil, err
	}
	if rev == "" {
		rev = "HEAD"
	}
	wanted := "FETCH_HEAD"
	_, err = git(ctx, dir, most, "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address, rev)
	if isCommit.MatchString(rev) {
		wanted = rev
		if err != nil { // some servers give branches and tags alone: the commit is somewhere in their history
			_, err = git(ctx, dir, most, "fetch", "-q", "--no-recurse-submodules", "--", address, "+refs/*:refs/fetched/*")
		}
	}
	if err != nil {
		return "", nil, err
	}
	out, err := git(ctx, dir, most, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted+"^{commit}")
	if err != nil {
		return "", nil, fmt.Errorf("%s has no commit %s", address, rev)
	}
	commit = strings.TrimSpace(string(out))
	text, err := git(ctx, dir, most, "archive", "--format=tar", commit)
	if err != nil {
		return "", nil, err
	}
	b = newBuilder()
	return commit, b, b.tar(bytes.NewReader(text))
}

// plainFiles has git archive give the files of a commit as they are, whatever the repository says of them. Otherwise the digest of a
// module would depend on the version and the settings of git, by its line ends and the text in the place of $Format$. A filter would run a program.
func plainFiles(dir string) error {
	info := filepath.Join(dir, "info")
	if err := os.Mkdir(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "attributes"), []byte("* -export-subst -ident -filter -text -working-tree-encoding\n"), 0o600)
}

// git runs the program in a folder, in which no file may have more bytes than most: a fetch writes one. The unit of ulimit is 512 bytes. It asks no questions on a terminal, and runs no hooks. Credentials come from the helpers and agents that
// the settings of git name.
func git(ctx context.Context, dir string, most int64, args ...string) ([]byte, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("git is not installed, which fetches modules from repositories: install it, or name an archive with --sha256")
	}
	argv := slices.Concat([]string{"git", "-c", "fetch.unpackLimit=1", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "transfer.fsckObjects=true", "-c", "protocol.ext.allow=never"}, args)
	if runtime.GOOS != "windows" { // which has no such bound
		argv = append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$@"`, most/512), "sh"}, argv...)
	}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// A repository around the present folder is none of this one.
	c.Dir = dir
	c.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}, name)
	})
	c.Env = append(c.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file", "LC_ALL=C")
	c.Cancel = func() error { return terminate(c.Process) }
	c.WaitDelay = time.Second // a child that holds the pipes open
	out, said := &limited{left: 2 * maxBytes}, &limited{left: 1 << 16}
	c.Stdout, c.Stderr = out, said
	switch err := c.Run(); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case out.full:
		return nil, errTooBig
	case err != nil && isFull(dir, most): // the words of git differ
		return nil, fmt.Errorf("the repository takes more than %d MiB of the disk: it is too large for a source of modules; name an archive of the module with --sha256", most>>20)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w%s", args[0], err, reason(said.Bytes()))
	}
	return out.Bytes(), nil
}

// isFull reports whether a file of a repository has grown up to its bound.
func isFull(dir string, most int64) bool {
	full := false
	_ = filepath.WalkDir(filepath.Join(dir, "objects"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, err := e.Info()
			full = full || err == nil && info.Size() >= most/512*512
		}
		return nil // git may remove files meanwhile
	})
	return full
}

// terminate ends a program with its children: git leaves those alone that speak with a server. They stay in the group of the terminal, since
// ssh may ask a person there. Where the system does not list children, the program alone ends.
func terminate(p *os.Process) error {
	pids := []int{p.Pid}
	for i := 0; i < len(pids); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list) // of a process that has just ended there is none
			for word := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	for _, pid := range slices.Backward(pids) {
		if child, err := os.FindProcess(pid); err == nil && pid != p.Pid {
			_ = child.Signal(syscall.SIGTERM) // it may have ended
		}
	}
	return p.Signal(syscall.SIGTERM)
}

// reason returns the line in which git says why it failed, as a part of a message. It comes from elsewhere, so its control characters are left
// out.
func reason(said []byte) string {
	text := strings.TrimSpace(string(said))
	if _, why, ok := strings.Cut("\n"+text, "\nfatal: "); ok {
		text = why
	}
	text, _, _ = strings.Cut(text, "\n")
	if text == "" {
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// limited keeps the output of a program, up to a bound. Beyond it, a write fails, which ends the program.
type limited struct {
	bytes.Buffer
	left int
	full bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		l.full = true
		return 0, errTooBig
	}
	return l.Buffer.Write(p)
}

// fromArchive returns an archive and its checksum.
func fromArchive(ctx context.Context, client *http.Client, base, address string) (src []byte, sum string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", err
	}
	var r io.ReadCloser
	if u.Scheme == "http" || u.Scheme == "https" {
		r, err = download(ctx, client, address)
	} else {
		path := address
		if u.Scheme == "file" {
			path = u.Path
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		r, _, err = gapi.Source{}.OpenRegular(path) // a pipe would block, and a device has no end
	}
	if err != nil {
		return nil, "", err
	}
	src, err = io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch err = errors.Join(err, r.Close()); {
	case err != nil:
		return nil, "", err
	case len(src) > maxBytes:
		return nil, "", errTooBig
	}
	return src, fmt.Sprintf("%x", sha256.Sum256(src)), nil
}

// download begins a download. The caller closes the body. Nothing is resumed and no header is trusted: the checksum judges the bytes.
func download(ctx context.Context, client *http.Client, address string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answers %s", address, answer.Status), answer.Body.Close())
	}
	return answer.Body, nil
}
