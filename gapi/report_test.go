package gapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

var said = schema.Diagnostics{
	{Pos: schema.Pos{File: "a,b:c.yaml", Line: 3, Col: 5}, Message: `unknown key "<x>" at 100%`, Suggestion: "y", Resource: "file[/x]", Path: "x"},
	{Severity: schema.Warning, Pos: schema.Pos{File: "g.yaml"}, Message: "two\nlines", Related: []schema.Related{
		{Pos: schema.Pos{File: "g.yaml", Line: 1, Col: 2}, Message: "here"},
		{Message: "nowhere"},
	}},
	{Pos: schema.Pos{File: "site.pp", Line: 7}, Message: "a line"},
	{Message: "from Go"},
}

func TestWriteDiagnostics(t *testing.T) {
	for format, want := range map[string]string{
		"text": `a,b:c.yaml:3:5: unknown key "<x>" at 100% (did you mean "y"?)
g.yaml: warning: two
lines
    g.yaml:1:2: here
    nowhere
site.pp:7: a line
from Go
`,
		"github": `::error file=a%2Cb%3Ac.yaml,line=3,col=5::unknown key "<x>" at 100%25 (did you mean "y"?)
::warning file=g.yaml::two%0Alines%0A    g.yaml:1:2: here%0A    nowhere
::error file=site.pp,line=7::a line
::error::from Go
`,
		"json": `[
  {
    "file": "a,b:c.yaml",
    "line": 3,
    "col": 5,
    "severity": "error",
    "message": "unknown key \"<x>\" at 100%",
    "suggestion": "y",
    "resource": "file[/x]",
    "path": "x"
  },
  {
    "file": "g.yaml",
    "severity": "warning",
    "message": "two\nlines",
    "related": [
      {
        "file": "g.yaml",
        "line": 1,
        "col": 2,
        "message": "here"
      },
      {
        "message": "nowhere"
      }
    ]
  },
  {
    "file": "site.pp",
    "line": 7,
    "severity": "error",
    "message": "a line"
  },
  {
    "severity": "error",
    "message": "from Go"
  }
]
`,
	} {
		var got bytes.Buffer
		if err := gapi.WriteDiagnostics(&got, format, said); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWriteNoDiagnostics(t *testing.T) {
	for _, format := range gapi.Formats {
		var got bytes.Buffer
		if err := gapi.WriteDiagnostics(&got, format, nil); err != nil {
			t.Fatal(err)
		}
		var list []any
		if format == "json" {
			if err := json.Unmarshal(got.Bytes(), &list); err != nil || list == nil {
				t.Errorf("%q: %v", got.String(), err)
			}
		} else if got.Len() > 0 {
			t.Errorf("%s: %q", format, got.String())
		}
	}
	if err := gapi.WriteDiagnostics(&bytes.Buffer{}, "xml", said); err == nil {
		t.Error("xml is known")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriteDiagnosticsFails(t *testing.T) {
	for _, format := range gapi.Formats {
		if err := gapi.WriteDiagnostics(full{}, format, said); err == nil || err.Error() != "the disk is full" {
			t.Errorf("%s: %v", format, err)
		}
	}
}
