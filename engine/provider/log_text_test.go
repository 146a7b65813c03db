package provider

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// SpecText renders an event as the specification does: one line, and for processed
// ones one more for each attribute that differs.
//
//	Debug: Apt_key[F1D2D2F9]: Started updating
//	Notice: Apt_key[F1D2D2F9]: Updating content: Replaced with content hash E242ED3B
//	Notice: Apt_key[F1D2D2F9]: Successfully updated
func SpecText(e Event) []string {
	head := specLevels[e.Level] + ": " + specSubject(e) + ": "
	lines := append(specChanges(e), specBody(e))
	for i := range lines {
		lines[i] = head + lines[i] + noopMark(e)
	}
	return lines
}

// noopMark follows an action that would have been done. A logged line stays logged.
func noopMark(e Event) string {
	if e.Noop && e.Phase != PhaseMessage {
		return " (noop)"
	}
	return ""
}

var specLevels = map[slog.Level]string{
	slog.LevelDebug: "Debug", slog.LevelInfo: "Info", LevelNotice: "Notice", slog.LevelWarn: "Warning", slog.LevelError: "Error",
}

func specSubject(e Event) string {
	if len(e.Titles) == 0 {
		return e.Type
	}
	name := e.Type
	if name != "" {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return name + "[" + strings.Join(e.Titles, ", ") + "]"
}

func specBody(e Event) string {
	switch e.Phase {
	case PhaseStart:
		return specOwn(e) + "Started " + strings.ToLower(statusWords[e.Status].doing)
	case PhaseEnd:
		if e.Status == Failed {
			return specOwn(e) + "Failed"
		}
		return specOwn(e) + "Successfully " + e.Status.String()
	case PhaseAbort:
		return fmt.Sprintf("%s failed: %v", e.Context.Label, e.Err)
	case PhaseStatus:
		return messageOr(e, statusWords[e.Status].done)
	case PhaseAttribute:
		return specAttribute(e, e.Attribute, e.From, e.To, e.Message)
	case PhaseExecute:
		return "Executing '" + e.Message + "'"
	case PhaseExecuted:
		return specExecuted(e)
	}
	if label := specLabel(e); label != "" {
		return label + ": " + e.Message
	}
	return e.Message
}

// specOwn begins the lines of a context that has words of its own.
func specOwn(e Event) string {
	if label := e.Context.Label; label != statusWords[e.Status].doing {
		return label + ": "
	}
	return ""
}

func messageOr(e Event, otherwise string) string {
	if e.Message != "" {
		return e.Message
	}
	return otherwise
}

// specLabel returns the present action on the titles, if that is known.
func specLabel(e Event) string {
	if e.Context == nil || len(e.Titles) == 0 || slices.ContainsFunc(e.Titles, func(t string) bool { return !slices.Contains(e.Context.Titles, t) }) {
		return ""
	}
	return e.Context.Label
}

func specAttribute(e Event, attribute string, from, to any, message string) string {
	if message == "" {
		message = "changed " + manifestNotation.short(from) + " to " + manifestNotation.short(to)
	}
	if label := specLabel(e); label != "" {
		attribute = label + " " + attribute
	}
	return attribute + ": " + message
}

// specChanges returns a line for each attribute that was processed.
func specChanges(e Event) (lines []string) {
	to, ok := e.To.(Record)
	if !ok || e.Phase != PhaseEnd && e.Phase != PhaseStatus {
		return nil
	}
	from, _ := e.From.(Record)
	for _, k := range slices.Sorted(maps.Keys(to)) {
		if !equal(from[k], to[k]) {
			lines = append(lines, specAttribute(e, k, from[k], to[k], ""))
		}
	}
	return lines
}

func specExecuted(e Event) string {
	if e.Err != nil {
		return fmt.Sprintf("Executing '%s' failed: %v", e.Message, e.Err)
	}
	return "Successfully executed '" + e.Message + "'"
}
