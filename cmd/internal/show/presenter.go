package show

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
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/service"
)

// Presenter shows a run on standard error: as lines for people, as JSON, or on a terminal
// as news above a live area with what runs. Secrets are gone from whatever it is told.
// One run has one Presenter. Its owner must call Close; more than once is fine. The methods for
// the observer run one at a time, so troubled needs no lock.
type Presenter struct {
	Logger *slog.Logger
	// screen writes to standard error on a goroutine of its own, so no reader holds the engine
	// up.
	screen  *Screen
	journal *service.Journal // takes all messages, where standard error is the journal
	style   render.Style
	program string // the name of this program
	json    bool
	Level   *slog.LevelVar // of the log; a reload may set it
	began   time.Time

	troubled map[string]string // why resources have failed, by name; only the observer touches it
	watched  bool              // there is a live area; set before the engine runs
	news     news              // for the person who looks at it
	// resting is read by the goroutine of the live area.
	resting atomic.Bool       // the graph has converged, and nothing has failed
	stop    func()            // ends the live area
	engine  chan *mgmt.Engine // of capacity one: the one whose runs the live area shows
	once    sync.Once
}

// Observer connects the presenter with the engine. Its functions run one at a time.
// The goroutine is that of the observer and not the loop, and nothing in them blocks.
func (p *Presenter) Observer() mgmt.Observer {
	return mgmt.Observer{Swapped: p.swapped, Ran: p.Ran, Converged: p.converged, Stopping: p.Stopping, Refused: p.refused, Warned: p.Warned, Paused: p.paused}
}

// Say writes one thing that happened: lines for people, or a record with a
// constant message for programs.
// The texts are a function: below the level of the log they are never made.
// Three receivers are possible: JSON lines, the journal of systemd, or the screen. The message is
// one of a fixed set, by which a program recognises the event; see docs/reference/cli/run.md for its
// keys.
func (p *Presenter) Say(level slog.Level, texts func() []string, msg string, attrs ...slog.Attr) {
	switch {
	case level < p.Level.Level():
	case p.json:
		p.Logger.LogAttrs(context.Background(), level, msg, attrs...)
	case p.journal != nil:
		p.journal.Send(service.Entry{Level: level, Text: strings.Join(texts(), "\n"), Event: msg, Attrs: attrs})
	default:
		now, lines := time.Now(), p.news.takeEnds(p.style)
		for _, text := range texts() {
			lines += p.style.Line(now, level, text)
		}
		p.screen.print(lines)
	}
}

// swapped tells that a graph took effect.
// It is told also at an identical graph, whose counts are all kept.
func (p *Presenter) swapped(s reactor.Swap) {
	attrs := []slog.Attr{slog.String("graph", s.Name), slog.Int("generation", s.Generation),
		slog.Int("added", s.Added), slog.Int("changed", s.Changed), slog.Int("removed", s.Removed), slog.Int("kept", s.Kept)}
	for _, a := range [][2]string{{"path", s.Origin.Path}, {"digest", s.Origin.Digest}, {"signer", s.Origin.Signer}, {"by", s.Origin.By}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	p.Say(slog.LevelInfo, render.One(render.SwapText(s)), "graph in effect", attrs...)
	for _, l := range s.Leaving {
		delete(p.troubled, l.Resource)
	}
	named, more := control.LeavingOf(s.Leaving)
	for _, l := range named {
		p.Say(slog.LevelInfo, render.One(p.style.Name(render.Visible(l.Resource))+" "+render.LeavingText(l.Undone)), "resource left the graph",
			slog.String("resource", l.Resource), slog.Bool("undone", l.Undone))
	}
	if more > 0 {
		p.Say(slog.LevelInfo, render.One(render.MoreLeaving(more)), "more resources left the graph", slog.Int("resources", more))
	}
}

// brief reports whether what is alike is told together: a person looks at the live area, and has not asked for more.
func (p *Presenter) brief() bool { return p.watched && p.Level.Level() == slog.LevelInfo }

// Ran tells failures, recoveries and changes; runs without news are for --debug.
// A resource that fails at each try is told each time; its recovery is told once.
func (p *Presenter) Ran(r reactor.Run) {
	if p.brief() {
		p.gather(r)
		return
	}
	if r.State == resgraph.StateFailed {
		p.troubled[r.Resource] = render.ErrorText(r.Err)
		p.Say(slog.LevelError, render.One(p.failedText(r)), "failed", render.RunAttrs(r)...)
		return
	}
	if _, failed := p.troubled[r.Resource]; failed {
		delete(p.troubled, r.Resource)
		p.Say(slog.LevelInfo, render.One(p.who(r)+" no longer fails"), "recovered", slog.String("resource", r.Resource))
	}
	// From here on the run has not failed.
	word, lines := p.happened(r)
	level := slog.LevelInfo
	if word == "" {
		level, word, lines = slog.LevelDebug, "ok", func() []string { return p.changeLines(r, "ok") }
	}
	if level >= p.Level.Level() {
		p.Say(level, lines, word, render.RunAttrs(r)...)
	}
}

// happened returns in a word and in lines what a run has changed. The word is empty for nothing.
// A run under noop has the state would-change, and changes nothing.
func (p *Presenter) happened(r reactor.Run) (word string, lines func() []string) {
	switch {
	case r.State == resgraph.StateUnknown:
		return wordUnknown, render.One(p.who(r) + " is unknown until " + render.Visible(render.Awaited(r.Until)))
	case r.State == resgraph.StateWouldChange:
		word = wordWouldChange
	case r.Changed || len(r.Changes) > 0:
		word = wordChanged
	}
	return word, func() []string { return p.changeLines(r, word) }
}

// who is the name of the resource, made visible.
func (p *Presenter) who(r reactor.Run) string { return p.style.Name(render.Visible(r.Resource)) }

// failedText says the error and the time of the next try.
func (p *Presenter) failedText(r reactor.Run) string {
	text := p.who(r) + " " + p.style.Paint(render.Red, "failed") + ": " + render.Visible(render.ErrorText(r.Err))
	if r.Retry {
		text += fmt.Sprintf(" (trying again in %s)", r.RetryIn.Round(time.Millisecond))
	}
	return text
}

// changeLines says what has changed, a line for each change, or one with just
// the verb.
// Under noop the lines are yellow and say what would change.
func (p *Presenter) changeLines(r reactor.Run, verb string) []string {
	color, head, tail := render.Green, p.who(r), ""
	if r.Noop {
		color = render.Yellow
	}
	if by := r.By(); by != nil {
		tail = "; altered by " + render.Visible(by.String())
	}
	if len(r.Changes) == 0 {
		return []string{head + " " + p.style.Paint(color, verb) + tail}
	}
	if r.Noop {
		head += " would change:"
	}
	lines := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		lines[i] = head + " " + p.style.Paint(color, render.ChangeLine(c)) + tail
	}
	return lines
}

// paused says that a user has paused a resource, and until when. A later reader of the
// log shall not wonder why nothing was repaired.
// A pause without an end has a zero Until. Its begin is a warning, its end is not.
func (p *Presenter) paused(pause reactor.Pause, on bool) {
	who := "everything"
	var attrs []slog.Attr
	if pause.Resource != "" {
		who = render.Visible(pause.Resource)
		attrs = append(attrs, slog.String("resource", pause.Resource))
	}
	if !on {
		p.Say(slog.LevelInfo, render.One(p.style.Name(who)+" goes on"), "resumed", attrs...)
		return
	}
	if !pause.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", pause.Until))
	}
	text := p.style.Name(who) + " is " + p.style.Paint(render.Yellow, "paused") + " " + render.Visible(pause.String())
	p.Say(slog.LevelWarn, render.One(text), "paused", append(attrs, slog.String("reason", pause.Reason))...)
}

// converged tells once that the graph is at rest. The level is that of the worst state.
// The time is that since the program began, which is the start for a person who waits for
// it.
func (p *Presenter) converged(yes bool, c reactor.Counts) {
	p.resting.Store(yes && c[resgraph.StateFailed] == 0)
	if !yes {
		p.Say(slog.LevelDebug, render.One("something has happened"), "not converged")
		return
	}
	p.tell()
	p.screen.show(c.String())
	since := time.Since(p.began)
	word := reactor.Rest{Converged: true, Counts: c}.Word()
	text := fmt.Sprintf("%s: %s (%s after the start)", p.style.Paint(render.WellColor(c), word), c.String(), render.RoundTime(since))
	p.Say(restLevel(c), render.One(text), word, slog.Any("counts", c.Named()), slog.Float64("seconds", since.Seconds()))
}

// restLevel is how loudly to tell of counts: a warning where something has failed or is blocked, which is no error of mgmt.
func restLevel(c reactor.Counts) slog.Level {
	if c[resgraph.StateFailed]+c[resgraph.StateBlocked] > 0 {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// refused tells why a graph is not in effect, and that the last one goes on.
// A graph that is held by the limit of removals is a warning, since a person may let it through.
// Every other refusal is an error.
func (p *Presenter) refused(err error) {
	if held, ok := errors.AsType[*reactor.RemovalsError](err); ok {
		p.Say(slog.LevelWarn, render.One("graph "+render.Visible(held.Error())), "graph held",
			slog.Int("removed", len(held.Removed)), slog.Int("resources", held.Of), slog.String("error", held.Error()))
		return
	}
	text := p.style.Paint(render.Red, "graph refused") + ", the last good one stays in effect: "
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		p.Say(slog.LevelError, render.One(text+render.Visible(err.Error())), "graph refused", slog.String("error", err.Error()))
		return
	}
	p.Say(slog.LevelError, func() []string {
		return append([]string{text + ds.Summary()}, render.DiagnosticLines(p.program, ds)...)
	}, "graph refused", render.DiagnosticsAttr(ds))
}

// Warned tells the warnings and the notes of a graph, each at its level.
func (p *Presenter) Warned(ds schema.Diagnostics) {
	if warnings := render.WithoutNotes(ds); len(warnings) > 0 {
		p.Say(slog.LevelWarn, func() []string { return render.DiagnosticLines(p.program, warnings) }, "graph warning", render.DiagnosticsAttr(warnings))
	}
	// Notes, which ask for nothing, are left out by --quiet.
	notes := slices.DeleteFunc(slices.Clone(ds), func(d schema.Diagnostic) bool { return d.Severity != schema.Note })
	if len(notes) > 0 {
		p.Say(slog.LevelInfo, func() []string { return render.DiagnosticLines(p.program, notes) }, "graph note", render.DiagnosticsAttr(notes))
	}
}

// The live area is written anew at most after liveEvery. News that are alike are gathered for gatherNews, and a run is named
// after longEnough.
const (
	liveEvery  = 250 * time.Millisecond
	gatherNews = 4 // times liveEvery
	longEnough = time.Second
)

// Follow keeps the live area up to date until Close.
// It is called once, before the engine runs, which is handed to Runs then. Where the output is no terminal, or is to have no escapes, and with --quiet, it
// does nothing.
func (p *Presenter) Follow(ctx context.Context) {
	if p.screen.size == nil || p.Level.Level() > slog.LevelInfo {
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
		case e := <-p.engine:
			p.live(ctx, e)
		case <-ctx.Done():
		}
	})
}

// Runs tells Follow which engine runs. It is called once at most, and does not wait.
func (p *Presenter) Runs(e *mgmt.Engine) { p.engine <- e }

// live shows on a terminal what runs, while the graph is not at rest or something fails.
// It asks the engine only then: a daemon at rest costs nothing.
func (p *Presenter) live(ctx context.Context, e *mgmt.Engine) {
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
		now, err := e.Snapshot(ctx)
		if err != nil {
			return
		}
		runs := slices.DeleteFunc(now.Ongoing, func(r reactor.Ongoing) bool { return r.For < longEnough })
		_, rows := p.screen.size()
		p.screen.show(liveText(now.Rest.Counts, runs, rows)...)
	}
}

// tellSome tells what was gathered, and of changes those that are few.
func (p *Presenter) tellSome() {
	p.screen.print(p.news.takeEnds(p.style) + p.news.takeChanges(p.style, false))
}

// tell tells all that was gathered.
func (p *Presenter) tell() {
	p.screen.print(p.news.takeEnds(p.style) + p.news.takeChanges(p.style, true))
}

// Close tells the rest, and takes the live area away. It may be called more
// than once.
// It waits for a terminal and a journal that hang, a second at most for each. Nothing may be
// said after it.
func (p *Presenter) Close() {
	p.once.Do(func() {
		if p.stop != nil {
			p.stop()
		}
		p.tell()
		p.screen.Close()
		if p.journal != nil {
			p.journal.Close()
		}
	})
}

// Signalled says what a signal has led to.
func (p *Presenter) Signalled(sig os.Signal, what string) {
	p.Say(slog.LevelWarn, render.One(sig.String()+": "+what), "signal", slog.String("signal", sig.String()), slog.String("effect", what))
}

// Reloading says that the graph is read again on request.
func (p *Presenter) Reloading() {
	p.Say(slog.LevelInfo, render.One("hangup: reading the graph again"), "reloading")
}

// Rereading says that the graph is read again because a verb asked for it.
func (p *Presenter) Rereading(by string) {
	text, attrs := "asked over the socket: reading the graph again", []slog.Attr(nil)
	if by != "" {
		text, attrs = "asked over the socket by "+render.Visible(by)+": reading the graph again", []slog.Attr{slog.String("by", by)}
	}
	p.Say(slog.LevelInfo, render.One(text), "reloading", attrs...)
}

// maxNamed is how many resources a line names.
// The rest is counted, so a line has a bounded length whatever the graph.
const maxNamed = 5

// named names a few of some resources.
func named(resources []string) string {
	names := strings.Join(resources[:min(maxNamed, len(resources))], ", ")
	if more := len(resources) - maxNamed; more > 0 {
		names += " and " + render.Plural(more, "other")
	}
	return render.Visible(names)
}

// Stopping says for whom the end waits.
// It is called once, a second after the end was asked for.
func (p *Presenter) Stopping(resources []string) {
	text := "still waiting for " + named(resources) + "; once more to stop waiting"
	p.Say(slog.LevelWarn, render.One(text), "still waiting", slog.Any("resources", resources))
}

// Ended says how things stood when a signal has ended the run. Other ends say so
// themselves.
func (p *Presenter) Ended(why error, r mgmt.Report) {
	sig, ok := errors.AsType[cli.SignalError](why)
	if !ok {
		return
	}
	p.tell()
	// A resource whose change was cut off counts as failed in the report.
	text := fmt.Sprintf("%s: ended after %s, %s", sig.Signal, render.RoundTime(time.Since(p.began)), reactor.Rest{Converged: r.Converged, Counts: r.Counts})
	attrs := []slog.Attr{slog.String("signal", sig.Signal.String()), slog.Bool("converged", r.Converged),
		slog.Any("counts", r.Counts.Named()), slog.Float64("seconds", time.Since(p.began).Seconds())}
	if len(r.Cut) > 0 {
		text += "; cut off in the middle of a change: " + named(r.Cut)
		attrs = append(attrs, slog.Any("cut_off", r.Cut))
	}
	p.Say(restLevel(r.Counts), render.One(text), "stopped", attrs...)
}
