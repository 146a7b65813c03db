package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/service"
)

// presenter shows a run on standard error: as lines for people, as JSON, or on a terminal
// as news above a live area with what runs. Secrets are gone from whatever it is told.
// One run has one presenter. Its owner calls close, which may come twice. The methods for
// the observer run one at a time, so troubled needs no lock.
type presenter struct {
	logger *slog.Logger
	// screen writes to standard error on a goroutine of its own, so no reader holds the engine
	// up.
	screen  *screen
	journal *service.Journal // takes all messages, where standard error is the journal
	style   style
	program string // the name of this program
	json    bool
	level   *slog.LevelVar // of the log; a reload may set it
	began   time.Time

	troubled map[string]string // why resources have failed, by name; only the observer touches it
	watched  bool              // there is a live area; set before the engine runs
	news     news              // for the person who looks at it
	// resting is read by the goroutine of the live area.
	resting atomic.Bool // the graph has converged, and nothing has failed
	stop    func()      // ends the live area
	once    sync.Once
}

// observer connects the presenter with the engine. Its functions run one at a time.
// The goroutine is that of the observer and not the loop, and nothing in them blocks.
func (p *presenter) observer() mgmt.Observer {
	return mgmt.Observer{Swapped: p.swapped, Ran: p.ran, Converged: p.converged, Stopping: p.stopping, Refused: p.refused, Warned: p.warned, Paused: p.paused}
}

// say writes one thing that happened: lines for people, or a record with a
// constant message for programs.
// The texts are a function: below the level of the log they are never made.
// Three receivers are possible: JSON lines, the journal of systemd, or the screen. The message is
// one of a fixed set, by which a program recognises the event; see docs/reference/cli/run.md for its
// keys.
func (p *presenter) say(level slog.Level, texts func() []string, msg string, attrs ...slog.Attr) {
	switch {
	case level < p.level.Level():
	case p.json:
		p.logger.LogAttrs(context.Background(), level, msg, attrs...)
	case p.journal != nil:
		p.journal.Send(service.Entry{Level: level, Text: strings.Join(texts(), "\n"), Event: msg, Attrs: attrs})
	default:
		now, lines := time.Now(), p.news.takeEnds(p.style)
		for _, text := range texts() {
			lines += p.style.line(now, level, text)
		}
		p.screen.print(lines)
	}
}

// one makes a text that is always one line.
func one(text string) func() []string { return func() []string { return []string{text} } }

// swapped tells that a graph took effect.
// It is told also at an identical graph, whose counts are all kept.
func (p *presenter) swapped(s reactor.Swap) {
	attrs := []slog.Attr{slog.String("graph", s.Name), slog.Int("generation", s.Generation),
		slog.Int("added", s.Added), slog.Int("changed", s.Changed), slog.Int("removed", s.Removed), slog.Int("kept", s.Kept)}
	for _, a := range [][2]string{{"path", s.Origin.Path}, {"digest", s.Origin.Digest}, {"signer", s.Origin.Signer}, {"by", s.Origin.By}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	p.say(slog.LevelInfo, one(swapText(s)), "graph in effect", attrs...)
	for _, l := range s.Leaving {
		delete(p.troubled, l.Resource)
	}
	named, more := control.LeavingOf(s.Leaving)
	for _, l := range named {
		p.say(slog.LevelInfo, one(p.style.name(visible(l.Resource))+" "+leavingText(l.Undone)), "resource left the graph",
			slog.String("resource", l.Resource), slog.Bool("undone", l.Undone))
	}
	if more > 0 {
		p.say(slog.LevelInfo, one(moreLeaving(more)), "more resources left the graph", slog.Int("resources", more))
	}
}

// leavingText says what becomes of the work of a resource that leaves the graph.
func leavingText(undone bool) string {
	if undone {
		return "has left the graph: what it changed is undone"
	}
	return "has left the graph: its work stays as it is"
}

func moreLeaving(n int) string { return fmt.Sprintf("%d more resources have left the graph", n) }

// swapText counts the differences of a new graph in words.
func swapText(s reactor.Swap) string {
	text := fmt.Sprintf("graph %s, generation %d: ", visible(s.Name), s.Generation)
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{s.Added, "added"}, {s.Changed, "changed"}, {s.Removed, "removed"}, {s.Kept, "kept"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no resources"}
	}
	text += strings.Join(parts, ", ")
	if s.Origin.By != "" || s.Origin.Signer != "" { // else it is the graph of the command line
		text += ";" + visible(s.Origin.String())
	}
	return text
}

// brief reports whether what is alike is told together: a person looks at the live area, and has not asked for more.
func (p *presenter) brief() bool { return p.watched && p.level.Level() == slog.LevelInfo }

// ran tells failures, recoveries and changes; runs without news are for --debug.
// A resource that fails at each try is told each time; its recovery is told once.
func (p *presenter) ran(r reactor.Run) {
	if p.brief() {
		p.gather(r)
		return
	}
	if r.State == engine.StateFailed {
		p.troubled[r.Resource] = errorText(r.Err)
		p.say(slog.LevelError, one(p.failedText(r)), "failed", runAttrs(r)...)
		return
	}
	if _, failed := p.troubled[r.Resource]; failed {
		delete(p.troubled, r.Resource)
		p.say(slog.LevelInfo, one(p.who(r)+" no longer fails"), "recovered", slog.String("resource", r.Resource))
	}
	// From here on the run has not failed.
	word, lines := p.happened(r)
	level := slog.LevelInfo
	if word == "" {
		level, word, lines = slog.LevelDebug, "ok", func() []string { return p.changeLines(r, "ok") }
	}
	if level >= p.level.Level() {
		p.say(level, lines, word, runAttrs(r)...)
	}
}

// happened returns in a word and in lines what a run has changed. The word is empty for nothing.
// A run under noop has the state would-change, and changes nothing.
func (p *presenter) happened(r reactor.Run) (word string, lines func() []string) {
	switch {
	case r.State == engine.StateUnknown:
		return wordUnknown, one(p.who(r) + " is unknown until " + visible(awaited(r.Until)))
	case r.State == engine.StateWouldChange:
		word = wordWouldChange
	case r.Changed || len(r.Changes) > 0:
		word = wordChanged
	}
	return word, func() []string { return p.changeLines(r, word) }
}

// who is the name of the resource, made visible.
func (p *presenter) who(r reactor.Run) string { return p.style.name(visible(r.Resource)) }

// failedText says the error and the time of the next try.
func (p *presenter) failedText(r reactor.Run) string {
	text := p.who(r) + " " + p.style.paint(red, "failed") + ": " + visible(errorText(r.Err))
	if r.Retry {
		text += fmt.Sprintf(" (trying again in %s)", r.RetryIn.Round(time.Millisecond))
	}
	return text
}

// errorText is never empty, also for an error that is missing.
func errorText(err error) string {
	if err == nil {
		return "for no known reason"
	}
	return err.Error()
}

// changeLines says what has changed, a line for each change, or one with just
// the verb.
// Under noop the lines are yellow and say what would change.
func (p *presenter) changeLines(r reactor.Run, verb string) []string {
	color, head, tail := green, p.who(r), ""
	if r.Noop {
		color = yellow
	}
	if by := r.By(); by != nil {
		tail = "; altered by " + visible(by.String())
	}
	if len(r.Changes) == 0 {
		return []string{head + " " + p.style.paint(color, verb) + tail}
	}
	if r.Noop {
		head += " would change:"
	}
	lines := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		lines[i] = head + " " + p.style.paint(color, changeLine(c)) + tail
	}
	return lines
}

// paused says that a user has paused a resource, and until when. A later reader of the
// log shall not wonder why nothing was repaired.
// A pause without an end has a zero Until. Its begin is a warning, its end is not.
func (p *presenter) paused(pause reactor.Pause, on bool) {
	who := "everything"
	var attrs []slog.Attr
	if pause.Resource != "" {
		who = visible(pause.Resource)
		attrs = append(attrs, slog.String("resource", pause.Resource))
	}
	if !on {
		p.say(slog.LevelInfo, one(p.style.name(who)+" goes on"), "resumed", attrs...)
		return
	}
	if !pause.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", pause.Until))
	}
	text := p.style.name(who) + " is " + p.style.paint(yellow, "paused") + " " + visible(pause.String())
	p.say(slog.LevelWarn, one(text), "paused", append(attrs, slog.String("reason", pause.Reason))...)
}

// converged tells once that the graph is at rest. The level is that of the worst state.
// The time is that since the program began, which is the start for a person who waits for
// it.
func (p *presenter) converged(yes bool, c reactor.Counts) {
	p.resting.Store(yes && c[engine.StateFailed] == 0)
	if !yes {
		p.say(slog.LevelDebug, one("something has happened"), "not converged")
		return
	}
	p.tell()
	p.screen.show(c.String())
	since := time.Since(p.began)
	word := reactor.Rest{Converged: true, Counts: c}.Word()
	text := fmt.Sprintf("%s: %s (%s after the start)", p.style.paint(wellColor(c), word), c.String(), roundTime(since))
	p.say(restLevel(c), one(text), word, slog.Any("counts", c.Named()), slog.Float64("seconds", since.Seconds()))
}

// restLevel is how loudly to tell of counts: a warning where something has failed or is blocked, which is no error of mgmt.
func restLevel(c reactor.Counts) slog.Level {
	if c[engine.StateFailed]+c[engine.StateBlocked] > 0 {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// wellColor is green where every resource is as wanted.
func wellColor(c reactor.Counts) string {
	if c.Well() {
		return green
	}
	return yellow
}

// roundTime keeps the digits of a duration that a reader can use.
func roundTime(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	default:
		return d.Round(100 * time.Microsecond)
	}
}

// refused tells why a graph is not in effect, and that the last one goes on.
// A graph that is held by the limit of removals is a warning, since a person may let it through.
// Every other refusal is an error.
func (p *presenter) refused(err error) {
	if held, ok := errors.AsType[*reactor.RemovalsError](err); ok {
		p.say(slog.LevelWarn, one("graph "+visible(held.Error())), "graph held",
			slog.Int("removed", len(held.Removed)), slog.Int("resources", held.Of), slog.String("error", held.Error()))
		return
	}
	text := p.style.paint(red, "graph refused") + ", the last good one goes on: "
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		p.say(slog.LevelError, one(text+visible(err.Error())), "graph refused", slog.String("error", err.Error()))
		return
	}
	p.say(slog.LevelError, func() []string {
		return append([]string{text + ds.Summary()}, diagnosticLines(p.program, ds)...)
	}, "graph refused", diagnosticsAttr(ds))
}

// warned tells the warnings and the notes of a graph, each at its level.
func (p *presenter) warned(ds schema.Diagnostics) {
	if warnings := withoutNotes(ds); len(warnings) > 0 {
		p.say(slog.LevelWarn, func() []string { return diagnosticLines(p.program, warnings) }, "graph warning", diagnosticsAttr(warnings))
	}
	// Notes, which ask for nothing, are left out by --quiet.
	notes := slices.DeleteFunc(slices.Clone(ds), func(d schema.Diagnostic) bool { return d.Severity != schema.Note })
	if len(notes) > 0 {
		p.say(slog.LevelInfo, func() []string { return diagnosticLines(p.program, notes) }, "graph note", diagnosticsAttr(notes))
	}
}

// withoutNotes returns the findings that ask for an action.
func withoutNotes(ds schema.Diagnostics) schema.Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d schema.Diagnostic) bool { return d.Severity == schema.Note })
}

// The live area is written anew at most after liveEvery. News that are alike are gathered for gatherNews, and a run is named
// after longEnough.
const (
	liveEvery  = 250 * time.Millisecond
	gatherNews = 4 // times liveEvery
	longEnough = time.Second
)

// follow keeps the live area up to date until close.
// It is called once, before the engine runs. Where the output is no terminal, or is to have no escapes, and with --quiet, it
// does nothing.
func (p *presenter) follow(ctx context.Context, e *mgmt.Engine) {
	if p.screen.size == nil || p.level.Level() > slog.LevelInfo {
		return
	}
	p.watched = true
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	p.stop = func() {
		cancel()
		wg.Wait()
	}
	wg.Go(func() {
		select {
		case <-e.Ready():
			p.live(ctx, e)
		case <-ctx.Done():
		}
	})
}

// live shows on a terminal what runs, while the graph is not at rest or something fails.
// It asks the engine only then: a daemon at rest costs nothing.
func (p *presenter) live(ctx context.Context, e *mgmt.Engine) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if n%gatherNews == 0 {
			p.tellSome()
		}
		if p.resting.Load() {
			continue // the line says how
		}
		// An error means that the run is over, or about to be.
		c, err := e.Counts(ctx)
		if err != nil {
			return
		}
		runs, err := e.Ongoing(ctx, longEnough)
		if err != nil {
			return
		}
		_, rows := p.screen.size()
		p.screen.show(liveText(c, runs, rows)...)
	}
}

// tellSome tells what was gathered, and of changes those that are few.
func (p *presenter) tellSome() {
	p.screen.print(p.news.takeEnds(p.style) + p.news.takeChanges(p.style, false))
}

// tell tells all that was gathered.
func (p *presenter) tell() {
	p.screen.print(p.news.takeEnds(p.style) + p.news.takeChanges(p.style, true))
}

// close tells the rest, and takes the live area away. It may be called more
// than once.
// It waits for a terminal and a journal that hang, a second at most for each. Nothing may be
// said after it.
func (p *presenter) close() {
	p.once.Do(func() {
		if p.stop != nil {
			p.stop()
		}
		p.tell()
		p.screen.close()
		if p.journal != nil {
			p.journal.Close()
		}
	})
}

// signalled says what a signal has led to.
func (p *presenter) signalled(sig os.Signal, what string) {
	p.say(slog.LevelWarn, one(sig.String()+": "+what), "signal", slog.String("signal", sig.String()), slog.String("effect", what))
}

// reloading says that the graph is read again on request.
func (p *presenter) reloading() {
	p.say(slog.LevelInfo, one("hangup: reading the graph again"), "reloading")
}

// rereading says that the graph is read again because a verb asked for it.
func (p *presenter) rereading(by string) {
	text, attrs := "asked over the socket: reading the graph again", []slog.Attr(nil)
	if by != "" {
		text, attrs = "asked over the socket by "+visible(by)+": reading the graph again", []slog.Attr{slog.String("by", by)}
	}
	p.say(slog.LevelInfo, one(text), "reloading", attrs...)
}

// maxNamed is how many resources a line names.
// The rest is counted, so a line has a bounded length whatever the graph.
const maxNamed = 5

// named names a few of some resources.
func named(resources []string) string {
	names := strings.Join(resources[:min(maxNamed, len(resources))], ", ")
	if more := len(resources) - maxNamed; more > 0 {
		names += " and " + plural(more, "other")
	}
	return visible(names)
}

// stopping says for whom the end waits.
// It is called once, a second after the end was asked for.
func (p *presenter) stopping(resources []string) {
	text := "still waiting for " + named(resources) + "; once more to stop waiting"
	p.say(slog.LevelWarn, one(text), "still waiting", slog.Any("resources", resources))
}

// ended says how things stood when a signal has ended the run. Other ends say so
// themselves.
func (p *presenter) ended(why error, r mgmt.Report) {
	sig, ok := errors.AsType[signalError](why)
	if !ok {
		return
	}
	p.tell()
	// A resource whose change was cut off counts as failed in the report.
	text := fmt.Sprintf("%s: ended after %s, %s", sig.Signal, roundTime(time.Since(p.began)), reactor.Rest{Converged: r.Converged, Counts: r.Counts})
	attrs := []slog.Attr{slog.String("signal", sig.Signal.String()), slog.Bool("converged", r.Converged),
		slog.Any("counts", r.Counts.Named()), slog.Float64("seconds", time.Since(p.began).Seconds())}
	if len(r.Cut) > 0 {
		text += "; cut off in the middle of a change: " + named(r.Cut)
		attrs = append(attrs, slog.Any("cut_off", r.Cut))
	}
	p.say(restLevel(r.Counts), one(text), "stopped", attrs...)
}
