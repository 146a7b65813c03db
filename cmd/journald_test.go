package cmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// entry is an entry of the journal as it reads it.
type entry map[string]string

// journalField is what the journal takes as the name of a field.
var journalField = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// parseEntry reads the native format, as systemd's documents describe it.
func parseEntry(t *testing.T, data string) entry {
	t.Helper()
	e := entry{}
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

// entries returns what has come, also in files.
func (m *mailboxSocket) entries() []entry {
	m.t.Helper()
	var list []entry
	for {
		text, fds, ok := m.next()
		if !ok {
			return list
		}
		for _, fd := range fds {
			text += m.sealed(fd)
		}
		list = append(list, parseEntry(m.t, text))
	}
}

// sealed reads a file that its sender can no longer alter.
func (m *mailboxSocket) sealed(fd int) string {
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

// journaled runs the program with standard error as systemd sets it up, and returns
// what has come to the journal and, beside it, to standard error.
func journaled(t *testing.T, args ...string) (list []entry, stderr string) {
	t.Helper()
	m := newMailboxSocket(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", st.Dev, st.Ino))
	a := &app{in: strings.NewReader(""), out: io.Discard, err: f, exit: os.Exit, journal: m.path}
	a.main(t.Context(), args)
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return m.entries(), string(text)
}

// graphFile writes a graph in which $DIR is a folder of its own.
func graphFile(t *testing.T, text string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "g.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

func TestJournal(t *testing.T) {
	path, dir := graphFile(t, `
resources:
  file:
  - {name: $DIR/x, content: "hello\nworld\n"}
  - {name: $DIR/none/x, content: x}
`)
	list, stderr := journaled(t, "run", "--yaml", path, "--tmp-prefix", "--converged-exit")
	if strings.Contains(stderr, "INFO") {
		t.Error("said twice:\n" + stderr)
	}
	find := func(event, resource string) entry {
		for _, e := range list {
			if e["MGMT_EVENT"] == event && e["MGMT_RESOURCE"] == resource {
				return e
			}
		}
		t.Fatalf("no %s of %q in %v", event, resource, list)
		return nil
	}
	for _, c := range []struct{ event, resource, field, want string }{
		{"changed", "file[" + dir + "/x]", "PRIORITY", "6"},
		{"changed", "file[" + dir + "/x]", "MGMT_CLASS", "intended"},
		{"changed", "file[" + dir + "/x]", "MGMT_STATE", "ok"},
		{"changed", "file[" + dir + "/x]", "SYSLOG_IDENTIFIER", "mgmt"},
		{"failed", "file[" + dir + "/none/x]", "PRIORITY", "3"},
		{"failed", "file[" + dir + "/none/x]", "MGMT_STATE", "failed"},
		{"graph in effect", "", "MGMT_GENERATION", "1"},
	} {
		if got := find(c.event, c.resource)[c.field]; got != c.want {
			t.Errorf("%s of %s: %s is %q, not %q", c.event, c.resource, c.field, got, c.want)
		}
	}
	if got := find("changed", "file["+dir+"/x]")["MESSAGE"]; !strings.Contains(got, "/x] state created") || strings.Contains(got, "\x1b") {
		t.Errorf("for people: %q", got)
	}
	if got := find("failed", "file["+dir+"/none/x]")["MGMT_ERROR"]; got == "" {
		t.Error("a failure without its error")
	}
}

// TestJournalSecret: what must not be shown is in no field.
func TestJournalSecret(t *testing.T) {
	path, dir := graphFile(t, `
resources:
  password:
  - {name: app, length: 24}
  file:
  - {name: $DIR/app, recv: {content: "password[app].password"}}
`)
	list, stderr := journaled(t, "run", "--debug", "--yaml", path, "--tmp-prefix", "--converged-exit")
	secret, err := os.ReadFile(filepath.Join(dir, "app"))
	if err != nil || len(bytes.TrimSpace(secret)) < 24 || len(list) == 0 {
		t.Fatalf("%q, %v, %d entries", secret, err, len(list))
	}
	if all := fmt.Sprint(list) + stderr; strings.Contains(all, string(bytes.TrimSpace(secret))) {
		t.Error("the secret is in the journal")
	}
}

// TestFindingA9CanaryJournal: nor is any other thing that the graph of canaries keeps secret.
func TestFindingA9CanaryJournal(t *testing.T) {
	text, err := os.ReadFile("../integration/testdata/canaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path, dir := graphFile(t, strings.ReplaceAll(string(text), "DIR", "$DIR"))
	for _, name := range []string{"was-closed", "closed.ini", "lines"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[a]\nkey=canary-old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, stderr := journaled(t, "run", "--debug", "--yaml", path, "--tmp-prefix", "--converged-exit")
	all := fmt.Sprintf("%s %q", list, list) + stderr
	if i := strings.Index(all, "canary-"); i >= 0 {
		t.Errorf("a secret is in the journal: ...%s...", all[max(0, i-200):i+40])
	}
	for _, want := range []string{"sha256:", "(secret)", "exit status 3", "exit status 4"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is said nowhere: the test sees nothing", want)
		}
	}
}

// TestNoJournal: a standard error that was led elsewhere is written to as always.
func TestNoJournal(t *testing.T) {
	path, _ := graphFile(t, "resources: {noop: [{name: a}]}")
	m := newMailboxSocket(t)
	for _, stream := range []string{"", "1:2", "x"} {
		t.Setenv("JOURNAL_STREAM", stream)
		f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a := &app{in: strings.NewReader(""), out: io.Discard, err: f, exit: os.Exit, journal: m.path}
		a.main(t.Context(), []string{"run", "--yaml", path, "--tmp-prefix", "--converged-exit"})
		if text, err := os.ReadFile(f.Name()); err != nil || !bytes.Contains(text, []byte("converged: 1 ok")) {
			t.Errorf("%q: %v\n%s", stream, err, text)
		}
	}
	if list := m.all(); len(list) > 0 {
		t.Errorf("sent to the journal: %q", list)
	}
}

// TestJournalFormat is what the fields are made of.
func TestJournalFormat(t *testing.T) {
	attrs := []slog.Attr{
		slog.String("resource", "file[/x]"), slog.Float64("retry_in_seconds", 1.5), slog.Any("list", []int{1, 2}),
		slog.Any("error", errors.New("two\nlines")), slog.Group("g", slog.Bool("ünsafe-Key", true)), slog.Duration("d", time.Second), {},
	}
	got := parseEntry(t, string(encodeEntry(slog.LevelWarn, "a\nb\x00=", "what", attrs)))
	want := entry{
		"MESSAGE": "a\nb\x00=", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "mgmt", "MGMT_EVENT": "what",
		"MGMT_RESOURCE": "file[/x]", "MGMT_RETRY_IN_SECONDS": "1.5", "MGMT_LIST": "[1,2]", "MGMT_ERROR": "two\nlines",
		"MGMT_G__NSAFE_KEY": "true", "MGMT_D": "1s",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for level, want := range map[slog.Level]string{slog.LevelDebug: "7", slog.LevelInfo: "6", slog.LevelWarn: "4", slog.LevelError: "3"} {
		if got := priority(level); got != want {
			t.Errorf("%v: %s", level, got)
		}
	}
}

// TestJournalHandler: records of the log have the fields of their logger.
func TestJournalHandler(t *testing.T) {
	m := newMailboxSocket(t)
	j, err := openJournal(m.path)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(&journalHandler{lineHandler{level: slog.LevelInfo}, j})
	log.Debug("not this")
	log.With("resource", "exec[x]").WithGroup("g").Warn("slow", "n", 3)
	j.close()
	list := m.entries()
	if len(list) != 1 {
		t.Fatalf("%d entries", len(list))
	}
	for field, want := range map[string]string{
		"MESSAGE": "exec[x]: slow g.n=3", "MGMT_EVENT": "slow", "MGMT_RESOURCE": "exec[x]", "MGMT_G_N": "3", "PRIORITY": "4",
	} {
		if got := list[0][field]; got != want {
			t.Errorf("%s is %q, not %q", field, got, want)
		}
	}
}

// TestJournalLong: what is too long for a datagram arrives whole.
func TestJournalLong(t *testing.T) {
	m := newMailboxSocket(t)
	j, err := openJournal(m.path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("0123456789\n", 100_000)
	j.send(slog.LevelInfo, long, "long", nil)
	j.send(slog.LevelInfo, "after", "short", nil)
	j.close()
	list := m.entries()
	if len(list) != 2 || list[0]["MESSAGE"] != long || list[1]["MESSAGE"] != "after" {
		t.Errorf("%d entries", len(list))
	}
}

// TestJournalThatHangs: nobody waits for a journal that takes nothing, and what was
// dropped is counted.
func TestJournalThatHangs(t *testing.T) {
	m := newMailboxSocket(t)
	j, err := openJournal(m.path)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := range 3 * maxEntries {
		j.send(slog.LevelInfo, strconv.Itoa(i), "x", nil)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	dropped, got := "", 0
	for deadline := time.Now().Add(time.Minute); dropped == "" && time.Now().Before(deadline); {
		for _, e := range m.entries() {
			got++
			if e["MGMT_EVENT"] == "dropped" {
				dropped = e["MESSAGE"]
			}
		}
	}
	j.close()
	if want := fmt.Sprintf("%d entries were dropped", 3*maxEntries-got+1); !strings.HasPrefix(dropped, want) {
		t.Errorf("%d have come, and %q", got-1, dropped)
	}
	m = newMailboxSocket(t)
	if j, err = openJournal(m.path); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxEntries {
		j.send(slog.LevelInfo, "x", "x", nil)
	}
	begin = time.Now()
	j.close()                                          // nobody reads
	if took := time.Since(begin); took > 30*lastWait { // the machine may be busy
		t.Errorf("the end took %s", took)
	}
}
