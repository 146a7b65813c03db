package render

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// PrintError prints the faults of one file; findings have its name.
// Control characters of a name are made visible.
func PrintError(w io.Writer, program, path string, err error) {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		fmt.Fprintf(w, "%s: %s: %s\n", program, Visible(path), Visible(err.Error()))
		return
	}
	for _, d := range ds {
		if d.Pos.File == "" {
			d.Pos.File = path
		}
		fmt.Fprintln(w, Visible(d.String()))
	}
}

// ErrorText is never empty, also for an error that is missing.
func ErrorText(err error) string {
	if err == nil {
		return "for no known reason"
	}
	return err.Error()
}

// WithoutNotes returns the findings that ask for an action.
func WithoutNotes(ds schema.Diagnostics) schema.Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d schema.Diagnostic) bool { return d.Severity == schema.Note })
}

// ChangeLine is a change on one line: texts of several lines are counted, not
// shown.
func ChangeLine(c engine.Change) string {
	if from, to, ok := Texts(c); ok {
		return Visible(c.Field) + ": " + LineCounts(from, to)
	}
	return Visible(c.String())
}

// Texts returns both sides of a change if they are texts best compared line by
// line.
// A missing side counts as the empty text. Other verbs than updated have no two sides.
func Texts(c engine.Change) (from, to string, ok bool) {
	from, a := c.From.(string)
	to, b := c.To.(string)
	ok = c.Verb == engine.Updated && (a || c.From == nil) && (b || c.To == nil)
	return from, to, ok && (manyLines(from) || manyLines(to))
}

// manyLines reports whether a text has more than one line; a line break at its end does
// not count.
func manyLines(s string) bool { return strings.Contains(strings.TrimSuffix(s, "\n"), "\n") }

// PrintDiagnostics writes each finding on a line.
func PrintDiagnostics(w io.Writer, program string, ds schema.Diagnostics) {
	for _, line := range DiagnosticLines(program, ds) {
		fmt.Fprintln(w, line)
	}
}

// DiagnosticLines are findings as lines, with help for the likely mistakes, and control
// characters made visible.
func DiagnosticLines(program string, ds schema.Diagnostics) []string {
	lines := make([]string, len(ds))
	for i, d := range Helped(program, ds) {
		lines[i] = Visible(Called(program, d.String()))
	}
	return lines
}

// Helped returns the findings with a word on where to look.
// The findings of the caller stay as they are: their messages go to programs, too.
func Helped(program string, ds schema.Diagnostics) schema.Diagnostics {
	out := slices.Clone(ds)
	for i, d := range out {
		out[i].Message += wayOut(program, d)
	}
	return out
}

// wayOut says where to look up the existing names, for a finding without a guess at the meaning.
// The program is what this one is called.
// It goes by the words of the finding.
func wayOut(program string, d schema.Diagnostic) string {
	switch kind, _, _ := strings.Cut(d.Resource, "["); {
	// A guess at the meaning helps more than a list.
	case d.Suggestion != "":
	case strings.HasSuffix(d.Message, " at the top of a graph"):
		return "; kinds of resources stand below the key resources"
	case strings.HasPrefix(d.Message, "unknown resource kind ") && strings.Count(kind, ":") == 2 && strings.HasSuffix(d.Message, `"`): // as in aws:ec2:vpc
		return "; a provider has such a kind: --plugins names the folder of its descriptor"
	case strings.HasPrefix(d.Message, "unknown resource kind "):
		return "; " + program + " doc lists the kinds"
	case strings.HasPrefix(d.Message, "unknown key ") && strings.HasPrefix(d.Path, "meta."):
		return "; " + program + " doc meta has the keys"
	case strings.HasPrefix(d.Message, "unknown key ") && kind != "":
		return "; " + program + " doc " + kind + " has the keys"
	}
	return ""
}

// DiagnosticsAttr has findings for the log.
// The texts have no word on where to look, since a program reads them, and each has file:line:col
// in front.
func DiagnosticsAttr(ds schema.Diagnostics) slog.Attr {
	list := make([]string, len(ds))
	for i, d := range ds {
		list[i] = d.String()
	}
	return slog.Any("diagnostics", list)
}

// RunAttrs has a run for the log. The keys are those of the API.
// Seconds are floating numbers, as in the API. A key without a value is left out.
func RunAttrs(r reactor.Run) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("resource", r.Resource),
		slog.String("state", r.State.String()),
		slog.Float64("seconds", r.Duration.Seconds()),
	}
	if r.Changed {
		attrs = append(attrs, slog.String("class", r.Class.String()))
	}
	if by := r.By(); by != nil {
		attrs = append(attrs, slog.String("by", by.String()))
	}
	if len(r.Changes) > 0 {
		attrs = append(attrs, slog.Any("changes", shortened(changesJSON(r.Changes))))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	if r.Until != "" {
		attrs = append(attrs, slog.String("until", r.Until))
	}
	if r.Refreshed {
		attrs = append(attrs, slog.Bool("refreshed", true))
	}
	if r.Noop {
		attrs = append(attrs, slog.Bool("noop", true))
	}
	if r.Retry {
		attrs = append(attrs, slog.Int("attempt", r.Attempt), slog.Float64("retry_in_seconds", r.RetryIn.Seconds()))
	}
	return attrs
}

// maxLogged is how much of a text is logged.
// The unit is bytes. A plan has the whole text.
const maxLogged = 1024

// shortened cuts long texts in changes, which are whole in a plan.
// It alters the list of the caller, who has just made it.
func shortened(cs []changeJSON) []changeJSON {
	for i := range cs {
		cs[i].From, cs[i].To = shorten(cs[i].From), shorten(cs[i].To)
	}
	return cs
}

// shorten cuts a long text for the log; other values stay.
// It cuts at a byte and then drops the half of a character that may be left. The length
// in bytes is added.
func shorten(v any) any {
	if s, ok := v.(string); ok && len(s) > maxLogged {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:maxLogged], ""), len(s))
	}
	return v
}
