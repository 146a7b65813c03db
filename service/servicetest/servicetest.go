// Package servicetest has a socket that keeps a service's messages to systemd or its journal, for
// tests.
package servicetest

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Mailbox is a datagram socket that keeps messages until a test reads them: it has no goroutine and
// no deadline, so it is usable in a bubble of synctest.
type Mailbox struct {
	t    *testing.T
	fd   int
	Path string // of the socket
	buf  [1 << 18]byte
}

// NewMailbox listens at a path of the test's own, until the test ends.
// The socket is in a folder of the test, which removes it. Its buffer holds the largest
// message that systemd takes.
func NewMailbox(t *testing.T) *Mailbox {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	path := filepath.Join(t.TempDir(), "s")
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	return &Mailbox{t: t, fd: fd, Path: path}
}

// Next returns the next datagram and the descriptors that came with it.
// It does not wait: systemd's clients send before they return.
func (m *Mailbox) Next() (text string, fds []int, ok bool) {
	oob := make([]byte, 128)
	n, oobn, _, _, err := unix.Recvmsg(m.fd, m.buf[:], oob, unix.MSG_DONTWAIT)
	if errors.Is(err, unix.EAGAIN) {
		return "", nil, false
	}
	if err != nil {
		m.t.Fatal(err)
	}
	if oobn > 0 {
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err == nil {
			fds, err = unix.ParseUnixRights(&messages[0])
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	return string(m.buf[:n]), fds, true
}

// All returns the datagrams that have come.
func (m *Mailbox) All() []string {
	var list []string
	for {
		text, _, ok := m.Next()
		if !ok {
			return list
		}
		list = append(list, text)
	}
}

// Entry is an entry of the journal as it reads it.
type Entry map[string]string

// journalField is what the journal takes as the name of a field.
var journalField = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// ParseEntry reads the native format, as systemd's documents describe it.
func ParseEntry(t *testing.T, data string) Entry {
	t.Helper()
	e := Entry{}
	for data != "" {
		line, rest, ok := strings.Cut(data, "\n")
		if !ok {
			t.Fatalf("no end of line after %q", line)
		}
		name, value, plain := strings.Cut(line, "=")
		if !plain {
			n := binary.LittleEndian.Uint64([]byte(rest[:8]))
			value, rest = rest[8:8+n], rest[8+n:]
			if rest[0] != '\n' {
				t.Fatalf("no end of line after the %d bytes of %s", n, name)
			}
			rest = rest[1:]
		}
		if !journalField.MatchString(name) {
			t.Errorf("the journal drops a field named %q", name)
		}
		e[name] = value
		data = rest
	}
	return e
}

// Entries returns the entries that have come, also in files.
func (m *Mailbox) Entries() []Entry {
	m.t.Helper()
	var list []Entry
	for {
		text, fds, ok := m.Next()
		if !ok {
			return list
		}
		for _, fd := range fds {
			text += m.sealed(fd)
		}
		list = append(list, ParseEntry(m.t, text))
	}
}

// sealed reads a file that its sender can no longer alter.
func (m *Mailbox) sealed(fd int) string {
	m.t.Helper()
	f := os.NewFile(uintptr(fd), "entry")
	defer f.Close()
	const want = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || seals&want != want {
		m.t.Errorf("seals %#x, %v", seals, err)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}
