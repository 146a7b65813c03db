package texts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/reactivegraph/mgmt/gapi/expand/texts"
)

// values are what the templates of these tests see.
func values() map[string]any {
	return map[string]any{
		"name": "w1", "n": int64(3), "zero": int64(0), "f": 2.5, "yes": true, "no": false, "nothing": nil, "empty": []any{},
		"list": []any{"a", "b", "c"}, "map": map[string]any{"b": int64(2), "a": int64(1)},
		"sites": []any{map[string]any{"name": "x", "port": int64(80)}, map[string]any{"name": "y", "port": int64(81)}},
	}
}

func known(name string) (ok bool, suggestion, refused string) {
	switch name {
	case "uper":
		return false, "upper", ""
	case "late":
		return false, "", "late comes too late"
	}
	return name == "upper" || name == "broken", "", ""
}

func call(name string, args []any) (any, error) {
	if name == "upper" && len(args) == 1 {
		if s, ok := args[0].(string); ok {
			return strings.ToUpper(s), nil
		}
	}
	return nil, errors.New("it is broken")
}

// theirs executes a template by text/template.
func theirs(text string) (string, error) {
	t, err := template.New("their").Option("missingkey=error").Funcs(template.FuncMap{
		"upper": strings.ToUpper, "broken": func() (string, error) { return "", errors.New("it is broken") },
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, values())
	return b.String(), err
}

// ours executes a template by package texts.
func ours(text string) (string, error) {
	t, faults := texts.Parse(text, known)
	if len(faults) > 0 {
		return "", &faults[0]
	}
	return t.Execute(values(), call)
}

// alike are templates that mean the same in text/template.
var alike = []string{
	"", "plain", "a {{ .name }} b\n", "{{ .n }} {{ .f }} {{ .yes }} {{ .list }} {{ .map }}", "{{- .name -}}  x", "a\n  {{- .name }}\n{{ .name -}}\n b",
	"{{/* a comment */}}x", "x {{- /* c */ -}} y",
	"{{ if .yes }}a{{ else }}b{{ end }}", "{{ if .no }}a{{ else if .n }}b{{ else }}c{{ end }}", "{{ if .zero }}a{{ end }}{{ if .empty }}b{{ end }}{{ if .nothing }}c{{ end }}{{ if .map }}d{{ end }}",
	"{{ range .list }}<{{ . }}>{{ end }}", "{{ range $i, $x := .list }}{{ $i }}{{ $x }}{{ end }}", "{{ range $x := .list }}{{ $x }}{{ $.name }}{{ end }}",
	"{{ range .map }}{{ . }}{{ end }}", "{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "{{ range .empty }}a{{ else }}none{{ end }}", "{{ range 3 }}{{ . }}{{ end }}",
	"{{ range .n }}{{ . }}{{ end }}", "{{ range .nothing }}a{{ else }}b{{ end }}",
	"{{ range .list }}{{ if eq . \"b\" }}{{ break }}{{ end }}{{ . }}{{ end }}", "{{ range .list }}{{ if eq . \"b\" }}{{ continue }}{{ end }}{{ . }}{{ end }}",
	"{{ range .sites }}{{ .name }}:{{ .port }}\n{{ end }}", "{{ with .map }}{{ .a }}{{ end }}", "{{ with .no }}x{{ else }}y{{ end }}", "{{ with $x := .name }}{{ $x }}{{ end }}",
	"{{ with .zero }}x{{ else with .n }}{{ . }}{{ end }}", "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}",
	"{{ $x := 0 }}{{ range $y := .list }}{{ $x = $y }}{{ end }}{{ $x }}", "{{ $i := 5 }}{{ range $i, $v = .list }}{{ end }}",
	"{{ define \"t\" }}[{{ . }}{{ $ }}]{{ end }}{{ template \"t\" .name }}{{ template \"t\" .n }}", "{{ block \"b\" .map }}{{ .a }}{{ end }}", "{{ define \"e\" }}{{ end }}{{ template \"e\" }}",
	"{{ len .list }}{{ len .name }}{{ len .map }}", "{{ index .list 1 }}{{ index .map \"b\" }}{{ index .sites 1 \"name\" }}{{ if index .map \"zz\" }}x{{ end }}", "{{ slice .name 1 }}{{ slice .list 0 2 }}{{ slice .name 0 1 }}",
	"{{ not .yes }}{{ and .yes .name }}{{ or .no .name }}{{ or .no .zero }}{{ and .no .missing }}{{ or .yes .missing }}", "{{ print 1 2 \"x\" \"y\" }}{{ println .n }}{{ printf \"%05d %s %q %v\" .n .name .name .list }}",
	"{{ .name | printf \"%s-%s\" \"x\" }}", "{{ eq .n 3 }}{{ eq .name \"a\" \"w1\" }}{{ ne .n 3 }}{{ lt .n 4 }}{{ le .n 3 }}{{ gt .f 2.0 }}{{ ge \"b\" \"a\" }}", "{{ eq .nothing nil }}", "{{ eq 9007199254740993 9007199254740992 }}",
	"{{ upper .name }}{{ .name | upper }}{{ (upper .name) | printf \"%s!\" }}", "{{ (index .sites 0).port }}", "{{ $m := .map }}{{ $m.a }}", "{{ \"text\" }}{{ `raw` }}{{ 0x10 }}{{ 1.5 }}{{ 'a' }}{{ true }}",
	"{{ if and (gt .n 1) (lt .n 5) }}in{{ end }}", "{{ $x := .n | printf \"%d\" }}{{ $x }}", "{{ 1 | and .yes }}", "{{range .list}}{{- . -}} , {{end}}",
	"{{ .missing }}", "{{ .name.x }}", "{{ if .missing }}{{ end }}", "{{ index .list 7 }}", "{{ index .list \"x\" }}", "{{ len .n }}", "{{ lt .n .name }}", "{{ broken }}", "{{ slice .name 5 }}", "{{ range .name }}{{ end }}",
	"{{ template \"t\" }}", "{{ end }}", "{{ if }}", "{{ .x", "{{ uper .name }}", "{{ .name 1 }}", "{{ printf }}", "{{ not 1 2 }}", "{{ $x }}", "{{ break }}", "{{ define \"r\" }}{{ template \"r\" }}{{ end }}{{ template \"r\" }}x{{ .missing }}",
}

// TestAlike: a template gives the text that text/template gives, or a fault where that gives an error.
func TestAlike(t *testing.T) {
	for _, text := range alike {
		if strings.Contains(text, `"r"`) { // text/template takes 100,000 levels, and much memory
			if _, err := ours(text); err == nil {
				t.Errorf("%s: no fault", text)
			}
			continue
		}
		compare(t, text)
	}
}

// TestFindingJ10Constants: a constant with a point or an exponent is a number with a fraction, as in text/template.
func TestFindingJ10Constants(t *testing.T) {
	for _, text := range []string{
		"{{-0.}}", " {{ -0. }}", "{{ -0.0 }}", "{{ 0. }}", "{{ -0 }}", "{{ 1.0 }}", "{{ 1e3 }}", "{{ 1E21 }}", "{{ 1e-3 }}", "{{ 0x1p4 }}", "{{ 0x1e }}", "{{ -0x1E }}", "{{ 'e' }}", "{{ 1_000.5 }}",
		"{{ printf \"%T\" 1.0 }}", "{{ printf \"%T\" 1e0 }}", "{{ printf \"%v\" -0. }}", "{{ index .list 1.0 }}", "{{ range 2.0 }}x{{ end }}", "{{ eq 1.0 1.0 }}", "{{ lt -0. 1.5 }}",
	} {
		compare(t, text)
	}
}

func compare(t *testing.T, text string) {
	t.Helper()
	want, wantErr := theirs(text)
	got, err := ours(text)
	if (err == nil) != (wantErr == nil) || err == nil && got != want {
		t.Errorf("%s\n got %q, %v\nwant %q, %v", text, got, err, want, wantErr)
	}
}

// TestFaults: a fault has its place in the template, and all unknown functions are told at once.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\n{{ .missing }}", `5 0 there is no key "missing"; index returns nothing for a missing key, as in {{ if index . "missing" }}`},
		{"{{ .name.x }}", `8 0 there is no key "x" in a text, which is no map`},
		{"{{ .nothing }}", "3 0 there is no value here"},
		{"{{ index .map \"zz\" }}", "3 0 there is no value here"},
		{"{{ if .no }}{{ uper 1 }}{{ end }}{{ foo }}", `15 0 there is no function "uper" (upper)|36 0 there is no function "foo"`},
		{"{{ late 1 }}", `3 0 late comes too late`},
		{"a\n{{ template \"t\" }}", `14 0 this template defines no "t"`},
		{"a\nb {{ if }}", "0 2 missing value for if"},
		{"a\n{{ .x", "0 2 unclosed action"},
		{"{{ broken }}", "3 0 broken: it is broken"},
		{"{{ html .name }}", `3 0 there is no function "html"`},
		{"{{ range $i := 2000000 }}{{ end }}", "9 0 the template does too much: it is stopped at its limit"},
		{"{{ range 40000000 }}0123456789012345678901234567890123456789{{ end }}", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			x, faults := texts.Parse(c.text, known)
			if len(faults) == 0 {
				_, err := x.Execute(values(), call)
				f, ok := errors.AsType[*texts.Fault](err)
				if !ok {
					t.Fatal("no fault")
				}
				faults = []texts.Fault{*f}
			}
			var got []string
			for _, f := range faults {
				line := fmt.Sprintf("%d %d %s", f.At, f.Line, f.Message)
				if f.Suggestion != "" {
					line += " (" + f.Suggestion + ")"
				}
				got = append(got, line)
			}
			if c.want != "" && strings.Join(got, "|") != c.want {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "|"), c.want)
			}
		})
	}
}

// FuzzTemplate: no template ends the program, and one without a fault gives the text of text/template, except for numbers that
// it does not compare.
func FuzzTemplate(f *testing.F) {
	for _, text := range alike {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ours(text)
		if err != nil {
			return
		}
		// A whole number is an int64 here, and an int there: the words of printf about a wrong format, which begin with %!, name that type.
		if want, theirErr := theirs(text); theirErr == nil && got != want && !strings.Contains(want, "%!") {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	})
}
