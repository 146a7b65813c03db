package gapi

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Formats are the names that WriteDiagnostics knows.
var Formats = []string{"text", "json", "github"}

// WriteDiagnostics writes findings for people ("text": one on a line, its
// related places indented below it), for programs ("json": one array of objects,
// with a final newline, also when it is empty) or as workflow commands that
// GitHub shows next to the lines of a change ("github"). It is called by the
// verbs of the command line. The error is the writer's, or about the format.
func WriteDiagnostics(w io.Writer, format string, ds schema.Diagnostics) error {
	switch format {
	case "text":
		return writeLines(w, ds, schema.Diagnostic.String)
	case "json":
		return writeJSON(w, ds)
	case "github":
		return writeLines(w, ds, githubLine)
	}
	return fmt.Errorf("unknown format %q, it must be one of %s", format, strings.Join(Formats, ", "))
}

func writeLines(w io.Writer, ds schema.Diagnostics, line func(schema.Diagnostic) string) error {
	for _, d := range ds {
		if _, err := io.WriteString(w, line(d)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// FindingPlace is the position of a Finding.
type FindingPlace struct {
	File string `json:"file,omitempty"`
	Line int32  `json:"line,omitempty"`
	Col  int32  `json:"col,omitempty"`
}

// FindingRelated is another place that a Finding is about.
type FindingRelated struct {
	FindingPlace
	Message string `json:"message"`
}

// Finding is a diagnostic in JSON.
type Finding struct {
	FindingPlace
	Severity   string           `json:"severity"`
	Message    string           `json:"message"`
	Suggestion string           `json:"suggestion,omitempty"`
	Resource   string           `json:"resource,omitempty"`
	Path       string           `json:"path,omitempty"`
	Related    []FindingRelated `json:"related,omitempty"`
}

// Findings returns diagnostics as WriteDiagnostics has them in JSON; never nil.
func Findings(ds schema.Diagnostics) []Finding {
	list := make([]Finding, len(ds))
	for i, d := range ds {
		list[i] = Finding{
			FindingPlace: FindingPlace(d.Pos), Severity: d.Severity.String(), Message: d.Message,
			Suggestion: d.Suggestion, Resource: d.Resource, Path: d.Path,
		}
		for _, r := range d.Related {
			list[i].Related = append(list[i].Related, FindingRelated{FindingPlace(r.Pos), r.Message})
		}
	}
	return list
}

func writeJSON(w io.Writer, ds schema.Diagnostics) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(Findings(ds))
}

var (
	githubText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubValue = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// githubLevel says what the severities are called there.
var githubLevel = map[schema.Severity]string{schema.Error: "error", schema.Warning: "warning", schema.Note: "notice"}

func githubLine(d schema.Diagnostic) string {
	var at []string
	if d.Pos.File != "" {
		at = append(at, "file="+githubValue.Replace(d.Pos.File))
	}
	if d.Pos.Line > 0 {
		at = append(at, fmt.Sprintf("line=%d", d.Pos.Line))
	}
	if d.Pos.Col > 0 {
		at = append(at, fmt.Sprintf("col=%d", d.Pos.Col))
	}
	props := ""
	if len(at) > 0 {
		props = " " + strings.Join(at, ",")
	}
	sev := githubLevel[d.Severity]
	d.Pos, d.Severity = schema.Pos{}, schema.Error
	return "::" + sev + props + "::" + githubText.Replace(d.String())
}
