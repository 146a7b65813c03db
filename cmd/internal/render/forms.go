package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// form is a form of documents. Each verb with a document writes all of them, by package cli.
type form struct {
	name string
	// write writes a whole document.
	write func(w io.Writer, doc any) error
	// item writes a document of a stream, which has a reader that takes one after the other.
	item func(w io.Writer, doc any) error
	// begin stands before each document that follows another one.
	begin string
	// list writes a list whose elements come one after the other. It is nil for a form that needs the whole list.
	list *brackets
}

// forms are the forms of documents. The tests hold them to the same values: see cmd.TestDocuments.
var forms = []form{
	{name: "json", write: WriteJSON, item: func(w io.Writer, doc any) error { return encodeJSON(w, doc, "") }, list: &brackets{"[", ",", "]", "[]"}},
	{name: "yaml", write: writeJSONAsYAML, item: writeJSONAsYAML, begin: "---\n"},
}

// Forms returns the names of the forms of documents.
func Forms() []string {
	names := make([]string, len(forms))
	for i := range forms {
		names[i] = forms[i].name
	}
	return names
}

// formOf returns a form by its name.
func formOf(name string) (*form, error) {
	if i := slices.IndexFunc(forms, func(f form) bool { return f.name == name }); i >= 0 {
		return &forms[i], nil
	}
	return nil, fmt.Errorf("no document has the form %q", name)
}

// WriteDocument writes a document in the form of this name. With again, others stand before it.
func WriteDocument(w io.Writer, name string, doc any, again bool) error {
	f, err := formOf(name)
	if err == nil && again {
		_, err = io.WriteString(w, f.begin)
	}
	if err != nil {
		return err
	}
	return f.write(w, doc)
}

// WriteItem writes one document of a stream: JSON on a line of its own, YAML behind the line that begins a document.
func WriteItem(w io.Writer, name string, doc any) error {
	f, err := formOf(name)
	if err == nil {
		_, err = io.WriteString(w, f.begin)
	}
	if err != nil {
		return err
	}
	return f.item(w, doc)
}

// brackets are what a form has around and between the elements of a list.
type brackets struct{ open, between, end, empty string }

// List writes a list whose elements come one after the other. Only Close ends it, so a reader never takes half of it for the whole.
type List struct {
	w    io.Writer
	form *form
	// lines has each element on a line, in place of an indented one.
	lines bool
	n     int
	whole []any // for a form without brackets
}

// NewList returns a list in the form of this name. With lines, an element has one line where the form has such.
func NewList(w io.Writer, name string, lines bool) (*List, error) {
	f, err := formOf(name)
	return &List{w: w, form: f, lines: lines, whole: []any{}}, err
}

// Streams reports whether the elements are written as they come. Otherwise they are held until Close.
func (l *List) Streams() bool { return l.form.list != nil }

// Add writes an element.
func (l *List) Add(doc any) error {
	if !l.Streams() {
		l.whole = append(l.whole, doc)
		return nil
	}
	var buf bytes.Buffer
	write, before := l.form.write, l.form.list.open
	if l.lines {
		write = l.form.item
	}
	if l.n > 0 {
		before = l.form.list.between + "\n"
	}
	if err := write(&buf, doc); err != nil {
		return err
	}
	text := strings.TrimSuffix(buf.String(), "\n")
	if !l.lines {
		if l.n == 0 {
			before += "\n"
		}
		before, text = before+"  ", strings.ReplaceAll(text, "\n", "\n  ")
	}
	l.n++
	_, err := io.WriteString(l.w, before+text)
	return err
}

// Close ends the list.
func (l *List) Close() error {
	if !l.Streams() {
		return l.form.write(l.w, l.whole)
	}
	text := l.form.list.end
	switch {
	case l.n == 0:
		text = l.form.list.empty
	case !l.lines:
		text = "\n" + text
	}
	_, err := io.WriteString(l.w, text+"\n")
	return err
}

// WriteJSON writes one indented document. The names of its fields are part of
// the command line: docs/reference/cli lists them.
func WriteJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// encodeJSON writes a document without a character that could do something to a terminal.
func encodeJSON(w io.Writer, v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	// The escapes are for HTML. Paths and commands have <, > and & in them, which people read here.
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, EscapeJSON(b.String()))
	return err
}

// writeJSONAsYAML writes in YAML the JSON of a value.
// Numbers keep their digits.
func writeJSONAsYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// The way over JSON gives YAML the same keys and leaves the same fields out.
	var plain any
	if err := Unmarshal(text, &plain); err != nil {
		return err
	}
	return WriteYAML(w, plain)
}

// Unmarshal reads JSON and keeps the digits of numbers.
// A float64 would lose those above 2^53.
func Unmarshal(text []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(out)
}
