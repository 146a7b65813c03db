package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testDumper returns a dumper and where its lines go.
func testDumper(dir, engine string, err error) (*dumper, *[]string) {
	var lines []string
	return &dumper{
		dir:    dir,
		engine: func(context.Context) (string, error) { return engine, err },
		log:    func(texts func() []string, _ ...slog.Attr) { lines = append(lines, texts()...) },
	}, &lines
}

func TestDump(t *testing.T) {
	dir := t.TempDir()
	d, lines := testDumper(dir, "file[/x]: waiting for exec[y]\n", nil)
	for range dumpsKept + 3 {
		d.dump(t.Context(), "SIGQUIT", false)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != dumpsKept {
		t.Fatalf("%d files are kept, %v", len(list), err)
	}
	newest := list[len(list)-1]
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SIGQUIT", "file[/x]: waiting for exec[y]", "goroutine profile:", "TestDump"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in the file", want)
		}
	}
	if st, err := os.Stat(newest); err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	got := strings.Join(*lines, "\n")
	if !strings.HasSuffix(got, "the whole dump is in "+newest) || !strings.Contains(got, "waiting for exec[y]") || strings.Contains(got, "goroutine") {
		t.Error("in the log:\n" + got)
	}
}

// TestDumpWithoutHelp: neither the loop nor the disk has to work for a dump.
func TestDumpWithoutHelp(t *testing.T) {
	d, lines := testDumper(filepath.Join(t.TempDir(), "none"), "", errors.New("no answer"))
	d.dump(t.Context(), "stalled", true)
	got := strings.Join(*lines, "\n")
	for _, want := range []string{"the scheduler does not answer: no answer", "goroutine profile:", "the dump was not written: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in the log:\n%s", want, got)
		}
	}
	d, lines = testDumper("", "x", nil)
	d.dump(t.Context(), "stalled", false)
	if got := strings.Join(*lines, "\n"); got != "dump: stalled\nx" {
		t.Errorf("without a folder: %q", got)
	}
}

func TestDumpIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 500_000 {
		fmt.Fprintf(&b, "file[/%d]: waiting\n", i)
	}
	dir := t.TempDir()
	d, lines := testDumper(dir, b.String(), nil)
	d.dump(t.Context(), "SIGQUIT", true)
	if n := len(*lines); n > 2*maxDumpLines+5 {
		t.Errorf("%d lines in the log", n)
	}
	list, _ := filepath.Glob(filepath.Join(dir, "*"))
	if st, err := os.Stat(list[0]); err != nil || st.Size() > maxDumpEngine+maxDumpStacks+1000 {
		t.Errorf("%v, %v", st.Size(), err)
	}
}
