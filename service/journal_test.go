package service

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/service/servicetest"
)

// TestJournalFormat is what the fields are made of.
func TestJournalFormat(t *testing.T) {
	attrs := []slog.Attr{
		slog.String("resource", "file[/x]"), slog.Float64("retry_in_seconds", 1.5), slog.Any("list", []int{1, 2}),
		slog.Any("error", errors.New("two\nlines")), slog.Group("g", slog.Bool("ünsafe-Key", true)), slog.Duration("d", time.Second), {},
	}
	got := servicetest.ParseEntry(t, string(Entry{slog.LevelWarn, "a\nb\x00=", "what", attrs}.encode()))
	want := servicetest.Entry{
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
	m := servicetest.NewMailbox(t)
	j, err := OpenJournal(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(j.Handler(slog.LevelInfo, func(msg string, attrs []slog.Attr) string { return fmt.Sprint(msg, attrs) }))
	log.Debug("not this")
	log.With("resource", "exec[x]").WithGroup("g").Warn("slow", "n", 3)
	j.Close()
	list := m.Entries()
	if len(list) != 1 {
		t.Fatalf("%d entries", len(list))
	}
	for field, want := range map[string]string{
		"MESSAGE": "slow[resource=exec[x] g.n=3]", "MGMT_EVENT": "slow", "MGMT_RESOURCE": "exec[x]", "MGMT_G_N": "3", "PRIORITY": "4",
	} {
		if got := list[0][field]; got != want {
			t.Errorf("%s is %q, not %q", field, got, want)
		}
	}
}

// TestJournalLong: what is too long for a datagram arrives whole.
func TestJournalLong(t *testing.T) {
	m := servicetest.NewMailbox(t)
	j, err := OpenJournal(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("0123456789\n", 100_000)
	j.Send(Entry{Level: slog.LevelInfo, Text: long, Event: "long"})
	j.Send(Entry{Level: slog.LevelInfo, Text: "after", Event: "short"})
	j.Close()
	list := m.Entries()
	if len(list) != 2 || list[0]["MESSAGE"] != long || list[1]["MESSAGE"] != "after" {
		t.Errorf("%d entries", len(list))
	}
}

// TestJournalThatHangs: nobody waits for a journal that takes nothing, and what was
// dropped is counted.
func TestJournalThatHangs(t *testing.T) {
	m := servicetest.NewMailbox(t)
	j, err := OpenJournal(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxEntries {
		j.Send(Entry{Level: slog.LevelInfo, Text: strconv.Itoa(i), Event: "x"})
	}
	dropped, got := "", 0
	await.Until(t, "the journal tells of what was dropped", func() bool {
		for _, e := range m.Entries() {
			got++
			if e["MGMT_EVENT"] == "dropped" {
				dropped = e["MESSAGE"]
			}
		}
		return dropped != ""
	})
	j.Close()
	if want := fmt.Sprintf("%d entries were dropped", 3*maxEntries-got+1); !strings.HasPrefix(dropped, want) {
		t.Errorf("%d have come, and %q", got-1, dropped)
	}
	m = servicetest.NewMailbox(t)
	if j, err = OpenJournal(m.Path); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxEntries {
		j.Send(Entry{Level: slog.LevelInfo, Text: "x", Event: "x"})
	}
	j.Close() // nobody reads
}
