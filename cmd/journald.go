package cmd

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// journalSocket is where systemd's journal listens.
const journalSocket = "/run/systemd/journal/socket"

// journal sends entries to systemd's journal, each with fields by which one can look
// for it (see docs/systemd.md). Like a screen nobody waits for it: a goroutine sends,
// from start to close, and what is too much for it is dropped and counted.
//
// It does not use the journal package of go-systemd, whose one socket is global and
// at a place that a test cannot change, and which makes a file for what is too long
// for a datagram.
type journal struct {
	conn *net.UnixConn
	addr *net.UnixAddr

	entries chan []byte
	stop    chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	dropped int
}

const maxEntries = 4096 // that wait to be sent

// isJournal reports whether w is the stream to the journal that systemd has set up:
// JOURNAL_STREAM says which file that is.
func isJournal(w io.Writer) bool {
	var dev, ino uint64
	if n, err := fmt.Sscanf(os.Getenv("JOURNAL_STREAM"), "%d:%d", &dev, &ino); n != 2 || err != nil {
		return false
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Dev == dev && st.Ino == ino
}

// openJournal connects to the journal at a socket.
func openJournal(socket string) (*journal, error) {
	addr := &net.UnixAddr{Name: socket, Net: "unixgram"}
	if _, err := os.Stat(socket); err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"}) // a name of the kernel's choice
	if err != nil {
		return nil, err
	}
	j := &journal{conn: conn, addr: addr, entries: make(chan []byte, maxEntries), stop: make(chan struct{}), done: make(chan struct{})}
	go j.write()
	return j, nil
}

// close waits until all is sent, but not for ever.
func (j *journal) close() {
	close(j.stop)
	select {
	case <-j.done:
	case <-time.After(lastWait):
		_ = j.conn.SetWriteDeadline(time.Now())
		<-j.done
	}
	_ = j.conn.Close()
}

// send queues an entry: text for people, and what it is in fields.
func (j *journal) send(level slog.Level, text, msg string, attrs []slog.Attr) {
	select {
	case j.entries <- encodeEntry(level, text, msg, attrs):
	default:
		j.mu.Lock()
		j.dropped++
		j.mu.Unlock()
	}
}

func (j *journal) write() {
	defer close(j.done)
	for {
		select {
		case e := <-j.entries:
			j.transmit(e)
			continue
		default:
		}
		j.tellDropped()
		select {
		case e := <-j.entries:
			j.transmit(e)
		case <-j.stop:
			if len(j.entries) == 0 {
				return
			}
		}
	}
}

func (j *journal) tellDropped() {
	j.mu.Lock()
	n := j.dropped
	j.dropped = 0
	j.mu.Unlock()
	if n > 0 {
		j.transmit(encodeEntry(slog.LevelWarn, strconv.Itoa(n)+" entries were dropped: they came faster than they could be sent", "dropped", nil))
	}
}

// transmit sends an entry as a datagram, or as a sealed file in memory where it is
// too long for that. An error is of the journal, and there is nobody to tell.
func (j *journal) transmit(entry []byte) {
	_, _, err := j.conn.WriteMsgUnix(entry, nil, j.addr)
	if errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.ENOBUFS) {
		_ = j.transmitFile(entry)
	}
}

func (j *journal) transmitFile(entry []byte) error {
	fd, err := unix.MemfdCreate("mgmt-journal", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "entry")
	defer f.Close()
	if _, err := f.Write(entry); err != nil {
		return err
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return err
	}
	_, _, err = j.conn.WriteMsgUnix(nil, unix.UnixRights(fd), j.addr)
	return err
}

// encodeEntry writes an entry in the journal's native format.
func encodeEntry(level slog.Level, text, msg string, attrs []slog.Attr) []byte {
	var b bytes.Buffer
	field(&b, "MESSAGE", text)
	field(&b, "PRIORITY", priority(level))
	field(&b, "SYSLOG_IDENTIFIER", "mgmt")
	field(&b, "MGMT_EVENT", msg)
	for _, a := range appendFlat(nil, "", slog.Attr{Value: slog.GroupValue(attrs...)}) {
		if name := fieldName(a.Key); name != "" {
			field(&b, "MGMT_"+name, fieldValue(a.Value))
		}
	}
	return b.Bytes()
}

// priority is that of syslog for a level.
func priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "3"
	case l >= slog.LevelWarn:
		return "4"
	case l >= slog.LevelInfo:
		return "6"
	default:
		return "7"
	}
}

// fieldName turns a key into what the journal takes as a name: A to Z, 0 to 9, _.
func fieldName(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, key)
	return name[:min(len(name), 50)]
}

// fieldValue is text as it is, and everything else in JSON.
func fieldValue(v slog.Value) string {
	if v.Kind() != slog.KindAny {
		return v.String()
	}
	switch x := v.Any().(type) {
	case error:
		return x.Error()
	case fmt.Stringer:
		return x.String()
	}
	out, err := json.Marshal(v.Any())
	if err != nil {
		return v.String()
	}
	return string(out)
}

// field writes a field: NAME=value, or with the length in front where the value has
// more than one line.
func field(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	if strings.Contains(value, "\n") {
		b.WriteByte('\n')
		_ = binary.Write(b, binary.LittleEndian, uint64(len(value)))
	} else {
		b.WriteByte('=')
	}
	b.WriteString(value)
	b.WriteByte('\n')
}

// journalHandler sends log records to the journal. Their text is what a lineHandler
// writes.
type journalHandler struct {
	lineHandler
	journal *journal
}

// Handle implements slog.Handler.
func (h *journalHandler) Handle(_ context.Context, rec slog.Record) error {
	attrs := h.all(rec)
	h.journal.send(rec.Level, h.text(rec.Message, attrs), rec.Message, attrs)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{*h.with(attrs), h.journal}
}

// WithGroup implements slog.Handler.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{*h.within(name), h.journal}
}
