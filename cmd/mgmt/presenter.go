package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// presenter shows a run on standard error: as lines for people, with one live
// line of counts below them on a terminal, or as JSON. Secrets are gone from
// whatever it is told.
type presenter struct {
	logger *slog.Logger
	screen *screen
	style  style
	json   bool
	level  slog.Level
	began  time.Time

	troubled map[string]bool // resources that have failed; only Ran touches it
	stop     func()          // ends the live line
	once     sync.Once
}

func (p *presenter) observer() mgmt.Observer {
	return mgmt.Observer{Swapped: p.swapped, Ran: p.ran, Converged: p.converged, Refused: p.refused, Warned: p.warned}
}

// say writes one thing that happened: a line for people, or a record with a
// constant message for programs.
func (p *presenter) say(level slog.Level, text func() string, msg string, attrs ...slog.Attr) {
	switch {
	case level < p.level:
	case p.json:
		p.logger.LogAttrs(context.Background(), level, msg, attrs...)
	default:
		p.screen.print(p.style.line(time.Now(), level, text()))
	}
}

func (p *presenter) swapped(s mgmt.Swap) {
	p.say(slog.LevelInfo, func() string { return swapText(s) }, "graph in effect",
		slog.String("graph", s.Name), slog.Int("generation", s.Generation),
		slog.Int("added", s.Added), slog.Int("changed", s.Changed), slog.Int("removed", s.Removed), slog.Int("kept", s.Kept))
}

func swapText(s mgmt.Swap) string {
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
		return text + "no resources"
	}
	return text + strings.Join(parts, ", ")
}

func (p *presenter) ran(r mgmt.Run) {
	switch {
	case r.State == engine.StateFailed:
		p.troubled[r.Resource] = true
		p.say(slog.LevelError, func() string { return p.failedText(r) }, "failed", runAttrs(r)...)
		return
	case p.troubled[r.Resource]:
		delete(p.troubled, r.Resource)
		p.say(slog.LevelInfo, func() string { return p.who(r) + " no longer fails" }, "recovered", slog.String("resource", r.Resource))
	}
	switch {
	case r.State == engine.StateUnknown:
		p.say(slog.LevelInfo, func() string { return p.who(r) + " is unknown until " + visible(r.Until) + " has run" }, "unknown", runAttrs(r)...)
	case r.State == engine.StateWouldChange:
		p.say(slog.LevelInfo, func() string { return p.changeText(r, "would change") }, "would change", runAttrs(r)...)
	case r.Changed || len(r.Changes) > 0:
		p.say(slog.LevelInfo, func() string { return p.changeText(r, "changed") }, "changed", runAttrs(r)...)
	default:
		p.say(slog.LevelDebug, func() string { return p.who(r) + " is ok" }, "ok", runAttrs(r)...)
	}
}

func (p *presenter) who(r mgmt.Run) string { return p.style.name(visible(r.Resource)) }

func (p *presenter) failedText(r mgmt.Run) string {
	text := p.who(r) + " " + p.style.paint(red, "failed") + ": " + visible(errorText(r.Err))
	if r.Retry {
		text += fmt.Sprintf(" (trying again in %s)", r.RetryIn.Round(time.Millisecond))
	}
	return text
}

func errorText(err error) string {
	if err == nil {
		return "for no known reason"
	}
	return err.Error()
}

// changeText names a resource and its changes, on one line if there is one.
func (p *presenter) changeText(r mgmt.Run, verb string) string {
	color := green
	if r.Noop {
		color = yellow
	}
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, changeLine(c))
	}
	head := p.who(r)
	if r.Noop {
		head += " would change:"
	}
	switch len(lines) {
	case 0:
		return p.who(r) + " " + p.style.paint(color, verb)
	case 1:
		return head + " " + p.style.paint(color, lines[0])
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(head, ":") + ":")
	for _, line := range lines {
		b.WriteString("\n    " + p.style.paint(color, line))
	}
	return b.String()
}

func (p *presenter) converged(yes bool, c mgmt.Counts) {
	if !yes {
		p.say(slog.LevelDebug, func() string { return "something has happened" }, "not converged")
		return
	}
	since := time.Since(p.began)
	p.say(slog.LevelInfo, func() string {
		return fmt.Sprintf("%s: %s (%s after the start)", p.style.paint(green, "converged"), countsText(c), roundTime(since))
	}, "converged", slog.Any("counts", countsJSON(c)), slog.Float64("seconds", since.Seconds()))
}

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

func (p *presenter) refused(err error) {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		p.say(slog.LevelError, func() string {
			return p.style.paint(red, "graph refused") + ", the last good one goes on: " + visible(err.Error())
		}, "graph refused", slog.String("error", err.Error()))
		return
	}
	p.say(slog.LevelError, func() string {
		return p.style.paint(red, "graph refused") + ", the last good one goes on:" + indented(ds)
	}, "graph refused", diagnosticsAttr(ds))
}

func (p *presenter) warned(ds schema.Diagnostics) {
	p.say(slog.LevelWarn, func() string { return "the graph is used, but:" + indented(ds) }, "graph warning", diagnosticsAttr(ds))
}

func indented(ds schema.Diagnostics) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString("\n  " + visible(d.String()))
	}
	return b.String()
}

const liveEvery = 100 * time.Millisecond

// follow keeps the live line up to date until close.
func (p *presenter) follow(ctx context.Context, e *mgmt.Engine) {
	if p.screen.width == nil || p.level > slog.LevelInfo {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	p.stop = func() {
		cancel()
		wg.Wait()
		p.screen.show("")
	}
	wg.Go(func() { p.live(ctx, e) })
}

func (p *presenter) live(ctx context.Context, e *mgmt.Engine) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		c, err := e.Counts(ctx)
		if err != nil {
			return
		}
		p.screen.show(countsText(c))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// close ends the live line. It may be called more than once.
func (p *presenter) close() {
	p.once.Do(func() {
		if p.stop != nil {
			p.stop()
		}
	})
}
