package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

// noPassword refuses an address that would put a password into the lock file and into the arguments of a program. The user of a web address is
// most often a token. The text is looked at, and not a parsed address: git takes addresses that package url does not.
func noPassword(address string) error {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil // a path, or host:path
	}
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if at < 0 || !strings.HasPrefix(strings.ToLower(scheme), "http") && !strings.Contains(host[:at], ":") {
		return nil
	}
	return errors.New("the address has a password or a token, which everybody would see in the lock file: let git or the file .netrc of curl ask for it")
}

// fromGit returns the commit that a revision names, and its files. An empty revision is the default branch.
func fromGit(ctx context.Context, address, rev string) (commit string, b *builder, err error) {
	dir, err := os.MkdirTemp("", "mgmt-module-")
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := git(ctx, dir, "init", "-q", "--bare", "--template=", "."); err != nil {
		return "", nil, err
	}
	if rev == "" {
		rev = "HEAD"
	}
	wanted := "FETCH_HEAD"
	_, err = git(ctx, dir, "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address, rev)
	if isCommit.MatchString(rev) {
		wanted = rev
		if err != nil { // some servers give branches and tags alone: the commit is somewhere in their history
			_, err = git(ctx, dir, "fetch", "-q", "--no-recurse-submodules", "--", address, "+refs/*:refs/fetched/*")
		}
	}
	if err != nil {
		return "", nil, err
	}
	out, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted+"^{commit}")
	if err != nil {
		return "", nil, fmt.Errorf("%s has no commit %s", address, rev)
	}
	commit = strings.TrimSpace(string(out))
	text, err := git(ctx, dir, "archive", "--format=tar", commit)
	if err != nil {
		return "", nil, err
	}
	b = newBuilder()
	return commit, b, b.tar(bytes.NewReader(text))
}

// git runs the program in a folder. It asks no questions on a terminal, and runs no hooks. Credentials come from the helpers and agents that
// the settings of git name.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", slices.Concat([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "transfer.fsckObjects=true", "-c", "protocol.ext.allow=never"}, args)...)
	// A repository around the present folder is none of this one.
	c.Dir = dir
	c.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}, name)
	})
	c.Env = append(c.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file", "LC_ALL=C")
	c.WaitDelay = time.Second // a child that holds the pipes open
	out, said := &limited{left: 2 * maxBytes}, &limited{left: 1 << 16}
	c.Stdout, c.Stderr = out, said
	switch err := c.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed, which fetches modules from repositories: install it, or name an archive with --sha256")
	case out.full:
		return nil, errTooBig
	case err != nil:
		return nil, fmt.Errorf("git %s: %w%s", args[0], err, reason(said.Bytes()))
	}
	return out.Bytes(), nil
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
		r, err = os.Open(path)
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
