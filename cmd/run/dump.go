package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon"
)

// dumper writes down what everything waits for: into a file of the state folder, and
// in short into the log. A dump has names and errors of resources but none of their
// values, and functions but not their arguments.
// It answers the question why nothing happens, also when the engine's loop hangs.
type dumper struct {
	p      *show.Presenter
	dir    string                                // the state folder; empty for none
	engine func(context.Context) (string, error) // Engine.Dump
	log    func(texts func() []string, attrs ...slog.Attr)
	end    func()
}

// Bounds of dumps.
// Without bounds a dump of a large graph could fill the disk or the journal.
const (
	dumpsKept     = 5
	dumpWait      = 2 * time.Second // for the engine's loop
	maxDumpEngine = 4 << 20         // bytes
	maxDumpStacks = 4 << 20
	maxDumpLines  = 200 // for each part, in the log
)

// Open implements daemon.Part. A dump is made from now on, also while the other parts are opened.
func (d *dumper) Open(ctx context.Context, to *daemon.Daemon) error {
	d.dir = to.Folder.Dir
	d.engine = func(ctx context.Context) (string, error) {
		if e := to.Running(); e != nil {
			return e.Dump(ctx)
		}
		return "", errors.New("it does not run yet")
	}
	d.log = func(texts func() []string, attrs ...slog.Attr) { d.p.Say(slog.LevelWarn, texts, "dump", attrs...) }
	d.end = d.onQuit(ctx)
	return nil
}

// Start implements daemon.Part.
func (d *dumper) Start(context.Context, *mgmt.Engine) error { return nil }

// Close implements daemon.Part.
func (d *dumper) Close() error {
	d.end()
	return nil
}

// onQuit makes a dump at each SIGQUIT, after which everything goes on. The returned
// function stops listening.
// The Go runtime would end the process at SIGQUIT, with all stacks. The dump outlives ctx, since
// the end of a run may be the part that hangs.
func (d *dumper) onQuit(ctx context.Context) (stop func()) {
	// The returned function ends it. Until then each SIGQUIT is answered, however the run stands.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// One place is enough: signals during a dump are one further dump.
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGQUIT)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ch:
				d.dump(ctx, "SIGQUIT", false)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		signal.Stop(ch)
		cancel()
		wg.Wait()
	}
}

// stalled makes a dump of a loop that hangs.
// It runs on the goroutine of the watchdog. systemd ends the process a quarter of the time later, so
// the dump is its last word.
func (d *dumper) stalled(ctx context.Context) {
	d.dump(ctx, "the scheduler has not gone around for three quarters of the watchdog's time", true)
}

// dump makes a dump. With stacks, those of the goroutines are in the log too, not
// only in the file.
// A dump that can't be written goes to the log in full, up to maxDumpLines for each part.
func (d *dumper) dump(ctx context.Context, reason string, stacks bool) {
	// The wall clock is right here: the name of the file and its head are for people.
	at := time.Now()
	engine, routines := d.ofEngine(ctx), ofGoroutines()
	head := fmt.Sprintf("mgmt %s, pid %d, %s: %s", cli.Version(), os.Getpid(), at.UTC().Format(time.RFC3339Nano), reason)
	path, err := d.write(at, head+"\n\n"+engine+"\n"+routines)
	lines := []string{"dump: " + reason}
	lines = append(lines, firstLines(engine, maxDumpLines)...)
	if stacks || err != nil {
		lines = append(lines, firstLines(routines, maxDumpLines)...)
	}
	attrs := []slog.Attr{slog.String("reason", reason), slog.Any("waiting", lines[1:])}
	switch {
	case err != nil:
		lines = append(lines, "the dump was not written: "+err.Error())
		attrs = append(attrs, slog.String("error", err.Error()))
	// Without a state folder there is no path and no error: then the log has the dump alone.
	case path != "":
		lines = append(lines, "the whole dump is in "+path)
		attrs = append(attrs, slog.String("file", path))
	}
	d.log(func() []string { return lines }, attrs...)
}

// ofEngine is what each resource that is not settled waits for.
// It waits for dumpWait at most; a loop that hangs is then told as such.
func (d *dumper) ofEngine(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, dumpWait)
	defer cancel()
	text, err := d.engine(ctx)
	if err != nil {
		return fmt.Sprintf("the scheduler does not answer: %v\n", err)
	}
	return clip(text, maxDumpEngine)
}

// ofGoroutines is the stacks of all goroutines, equal ones as one.
func ofGoroutines() string {
	var b bytes.Buffer
	// Form 1 counts equal stacks and shows no arguments, so no secret of a call is in it.
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return err.Error() + "\n"
	}
	return clip(b.String(), maxDumpStacks)
}

// clip cuts a text after so many bytes, and says how many are missing.
// A character that the cut has broken is dropped, so the text stays valid UTF-8.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n(%d more bytes)\n", len(text)-most)
}

// firstLines keeps the first lines, and says how many are missing.
func firstLines(text string, most int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > most {
		lines = append(slices.Clip(lines[:most]), fmt.Sprintf("(%d more lines)", len(lines)-most))
	}
	return lines
}

// write writes a dump and removes all but the newest.
// The mode is 0600, since names of resources may be private. Names of files sort by time, so the
// oldest come first.
func (d *dumper) write(at time.Time, text string) (string, error) {
	if d.dir == "" {
		return "", nil
	}
	path := filepath.Join(d.dir, "dump-"+at.UTC().Format("20060102T150405.000000000")+".txt")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	// On a full disk a part of the dump stays. It counts among the kept ones, and the error sends the
	// whole to the log.
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	old, _ := fs.Glob(os.DirFS(d.dir), "dump-*.txt") // sorted, the oldest first
	for _, name := range old[:max(0, len(old)-dumpsKept)] {
		_ = os.Remove(filepath.Join(d.dir, name))
	}
	return path, err
}
