package service

import (
	"bytes"
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

	"github.com/reactivegraph/mgmt/internal/flatlog"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// JournalSocket is where systemd's journal listens.
const JournalSocket = "/run/systemd/journal/socket"

// Journal sends entries to systemd's journal, each with fields by which one can look for it (see
// docs/systemd.md). Its methods may be called from any goroutine. They never block: a goroutine
// sends, from OpenJournal to Close; surplus entries are dropped and counted.
//
// It does not use the journal package of go-systemd. That has one global socket, at a place that a
// test cannot change, and makes a file on disk for an entry that is too long.
type Journal struct {
	conn *net.UnixConn
	addr *net.UnixAddr

	entries chan []byte
	stop    chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	dropped int
}

// Entry is what the journal is sent.
type Entry struct {
	Level slog.Level
	Text  string      // for people; it may have several lines
	Event string      // what happened, in constant words: the field MGMT_EVENT
	Attrs []slog.Attr // each is a field MGMT_KEY, those of a group MGMT_GROUP_KEY
}

const (
	maxEntries = 4096        // that wait to be sent
	lastWait   = time.Second // how long Close waits for a journal that takes nothing
)

// IsJournal reports whether w is the stream to the journal that systemd has set up:
// JOURNAL_STREAM says which file that is.
func IsJournal(w io.Writer) bool {
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

// OpenJournal connects to the journal at a socket, such as JournalSocket. The caller closes it. It is an
// error if there is no such socket.
func OpenJournal(socket string) (*Journal, error) {
	addr := &net.UnixAddr{Name: socket, Net: "unixgram"}
	if _, err := os.Stat(socket); err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"}) // a name of the kernel's choice
	if err != nil {
		return nil, err
	}
	j := &Journal{conn: conn, addr: addr, entries: make(chan []byte, maxEntries), stop: make(chan struct{}), done: make(chan struct{})}
	go j.write()
	return j, nil
}

// Close waits until all is sent, for a second at most. Nothing may be sent after it.
func (j *Journal) Close() {
	close(j.stop)
	select {
	case <-j.done:
	case <-time.After(lastWait):
		_ = j.conn.SetWriteDeadline(time.Now())
		<-j.done
	}
	_ = j.conn.Close()
}

// Send queues an entry.
func (j *Journal) Send(e Entry) {
	select {
	case j.entries <- e.encode():
	default:
		j.mu.Lock()
		j.dropped++
		j.mu.Unlock()
	}
}

func (j *Journal) write() {
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

func (j *Journal) tellDropped() {
	j.mu.Lock()
	n := j.dropped
	j.dropped = 0
	j.mu.Unlock()
	if n > 0 {
		j.transmit(Entry{
			Level: slog.LevelWarn, Event: "dropped",
			Text: strconv.Itoa(n) + " entries were dropped: they came faster than they could be sent",
		}.encode())
	}
}

// transmit sends an entry as a datagram, or as a sealed file in memory where it is too long for
// that. An error is of the journal, and cannot be reported.
func (j *Journal) transmit(entry []byte) {
	_, _, err := j.conn.WriteMsgUnix(entry, nil, j.addr)
	if errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.ENOBUFS) {
		_ = j.transmitFile(entry)
	}
}

func (j *Journal) transmitFile(entry []byte) error {
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

// Handler returns a handler that sends log records from that level on. Text makes the text for people
// of a message and its attributes, whose keys have the names of their groups; nil takes the message alone.
func (j *Journal) Handler(level slog.Leveler, text func(msg string, attrs []slog.Attr) string) slog.Handler {
	if text == nil {
		text = func(msg string, _ []slog.Attr) string { return msg }
	}
	return flatlog.New(level, func(rec slog.Record, attrs []slog.Attr) {
		j.Send(Entry{Level: rec.Level, Text: text(rec.Message, attrs), Event: rec.Message, Attrs: attrs})
	})
}

// encode writes an entry in the journal's native format.
func (e Entry) encode() []byte {
	var b bytes.Buffer
	field(&b, "MESSAGE", e.Text)
	field(&b, "PRIORITY", priority(e.Level))
	field(&b, "SYSLOG_IDENTIFIER", "mgmt")
	field(&b, "MGMT_EVENT", e.Event)
	for _, a := range flatlog.Flat(e.Attrs) {
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

// fieldName turns a key into a name for the journal: A to Z, 0 to 9, _.
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
