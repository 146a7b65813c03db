package provider

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// RSAPIText renders an event as the library of the Resource API does, where that has a form
// for it. Other tools read these lines.
//
//	debug: apt_key[t1]: Updating: Start
//	notice: apt_key[t1]: Updating: Finished in 0.000012 seconds
//	notice: apt_key: t1: attribute 'ensure' changed from 'absent' to 'present'
func RSAPIText(e Event) []string {
	return []string{rsapiLevels[e.Level] + ": " + rsapiPrefix(e) + ": " + rsapiBody(e) + noopMark(e)}
}

var rsapiLevels = map[slog.Level]string{
	slog.LevelDebug: "debug", slog.LevelInfo: "info", LevelNotice: "notice", slog.LevelWarn: "warning", slog.LevelError: "err",
}

// rsapiPrefix names the titles of a message or a failure that has some, else the
// context, else the type.
func rsapiPrefix(e Event) string {
	named := e.Named && (e.Phase == PhaseMessage || e.Phase == PhaseStatus && e.Status == Failed)
	switch {
	case named && len(e.Titles) > 0:
		return rsapiTitles(e.Type, e.Titles)
	case named || e.Context == nil:
		return e.Type
	}
	return rsapiTitles(e.Type, e.Context.Titles) + ": " + e.Context.Label
}

func rsapiTitles(typ string, titles []string) string {
	return typ + "[" + strings.Join(titles, ", ") + "]"
}

func rsapiBody(e Event) string {
	switch e.Phase {
	case PhaseStart, PhaseEnd, PhaseAbort:
		return rsapiContext(e)
	case PhaseStatus:
		return rsapiStatus(e)
	case PhaseAttribute:
		text := fmt.Sprintf("%s: attribute '%s' changed from %s to %s", rsapiSubject(e), e.Attribute, rsapiValue(e.From), rsapiValue(e.To))
		if e.Message != "" {
			text += ": " + e.Message
		}
		return text
	case PhaseExecute:
		return "Executing '" + e.Message + "'"
	case PhaseExecuted:
		return specExecuted(e)
	}
	return e.Message
}

func rsapiContext(e Event) string {
	seconds := rsapiSeconds(e.Duration)
	if e.Status == Processed {
		return rsapiProcessing(e, seconds)
	}
	switch {
	case e.Phase == PhaseStart:
		return "Start"
	case e.Phase == PhaseAbort:
		return fmt.Sprintf("Failed after %s seconds: %v", seconds, e.Err)
	case e.Status == Failed:
		return "Finished failing in " + seconds + " seconds"
	}
	return "Finished in " + seconds + " seconds"
}

func rsapiProcessing(e Event, seconds string) string {
	subject := rsapiSubject(e)
	switch e.Phase {
	case PhaseStart:
		return fmt.Sprintf("Starting processing of %s from %s to %s", subject, rsapiRecord(e.From), rsapiRecord(e.To))
	case PhaseAbort:
		return fmt.Sprintf("Failed processing %s after %s seconds: %v", subject, seconds, e.Err)
	}
	return fmt.Sprintf("Finished processing %s in %s seconds: %s", subject, seconds, rsapiRecord(e.To))
}

func rsapiStatus(e Event) string {
	switch e.Status {
	case Failed:
		return messageOr(e, "Updating has failed")
	case Processed:
		return fmt.Sprintf("Processed %s from %s to %s", rsapiSubject(e), rsapiRecord(e.From), rsapiRecord(e.To))
	}
	return messageOr(e, statusWords[e.Status].done) + ": " + rsapiSubject(e)
}

// rsapiSubject is the title, or a list of them.
func rsapiSubject(e Event) string {
	if len(e.Titles) == 1 {
		return e.Titles[0]
	}
	list := make([]any, len(e.Titles))
	for i, t := range e.Titles {
		list[i] = t
	}
	return rubyNotation.value(list)
}

func rsapiRecord(v any) string {
	rec, _ := v.(Record)
	return rubyNotation.value(rec)
}

// rsapiValue quotes all but numbers, and takes false for nil, as the library does.
func rsapiValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoteSingle(v)
	case puppettype.Symbol:
		return quoteSingle(string(v))
	case puppettype.Sensitive, schema.Secret:
		return quoteSingle(schema.Redacted)
	case nil, int, int64, float64:
		return rubyNotation.value(v)
	case bool:
		if !v {
			return rubyNotation.undef
		}
	}
	return quoteSingle(rubyNotation.value(v))
}

// rsapiSeconds writes six digits below one second, two from there on.
func rsapiSeconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.6f", d.Seconds())
	}
	return fmt.Sprintf("%.2f", d.Seconds())
}
