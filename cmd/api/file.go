package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// maxObjectFile, in bytes, bounds a file with objects, as the API bounds a body with objects.
// The daemon refuses a larger body with 413, after it was sent in vain.
const maxObjectFile = 16 << 20

// maxObjects bounds the documents of a file with objects, since each has a cost of its own, however short it is. So many resources a graph may have by default.
const maxObjects = 250_000

// readObjects reads the text of a file with objects; - is standard input.
// The whole text is in memory, since all objects are checked together.
// It closes the file, and leaves standard input open. As root it refuses a file that other users can
// write, see judge.
func readObjects(a *cli.App, path string) (name string, text []byte, err error) {
	name = "standard input"
	if path != "-" {
		name = path
	}
	text, err = cli.ReadBounded(a.Source(), a.In, path, maxObjectFile)
	switch {
	case errors.Is(err, gapi.ErrKernel):
		err = fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, gapi.ErrTooLong):
		err = fmt.Errorf("%s has more than %s: divide it, and begin with the objects that others refer to", name, schema.Size(maxObjectFile))
	}
	return name, text, err
}

// documents reads the documents of a file with objects: those of YAML, with --- between them, or values of JSON one after the other.
// The items of a list count as documents. All findings come at once, with their places in the file. The name stands in the places; a
// name that ends with .json is never read as YAML.
// A fault in JSON is told in the words of JSON, although YAML could read most of it. A file with too many documents is not read beyond them.
func documents(name string, text []byte, most int) ([]*schema.Node, *schema.Findings) {
	read := yamlDocuments
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	bracket := len(trimmed) > 0 && strings.ContainsRune("{[", rune(trimmed[0]))
	if filepath.Ext(name) == ".json" || bracket && startsJSON(trimmed) {
		read = jsonDocuments
	}
	var found schema.Findings
	docs := read(name, text, most, &found)
	var all []*schema.Node
	for _, n := range docs {
		if n.Kind == schema.NodeList {
			all = append(all, n.Items...)
		} else {
			all = append(all, n)
		}
	}
	return all, &found
}

// tooMany is the finding about a document that is one too many, and begins behind so many lines.
func tooMany(name string, lines, most int) schema.Diagnostic {
	return schema.Diagnostic{Pos: schema.Pos{File: name, Line: int32(lines) + 1, Col: 1}, Message: fmt.Sprintf("the file has more than %d documents, and this one is beyond: divide it", most)}
}

// startsJSON reports whether the first value of a text is JSON.
// Text in braces may be YAML, too, so the brace alone decides nothing.
// The rest of the text is not looked at.
func startsJSON(text []byte) bool {
	var first json.RawMessage
	return json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil
}

// jsonDocuments reads values of JSON, which may stand on one line or on many.
// The lines of the values before count for the places.
// It reads until one is broken: the next one has no known beginning then.
func jsonDocuments(name string, text []byte, most int, found *schema.Findings) (docs []*schema.Node) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for count, from, line := 0, int64(0), 0; ; count++ {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if count == most {
			found.Add(tooMany(name, line, most))
			return docs
		}
		// The decoder finds the end of a value, and jsonnode then reads that part again with places.
		part := text[from:dec.InputOffset()]
		if err != nil {
			part = text[from:]
		}
		n, ds := jsonnode.Parse(part, jsonnode.Options{File: name, Strict: true, What: "the object cannot be read"})
		found.Add(moved(ds, line)...)
		if n != nil && ds.Err() == nil {
			docs = append(docs, placed(n, line))
		}
		if err != nil {
			return docs
		}
		// The part begins at the end of the value before, so its line ends include those between the
		// values.
		line += bytes.Count(part, []byte("\n"))
		from = dec.InputOffset()
	}
}

// yamlDocuments reads each document of a stream of YAML by itself, so that a fault in one leaves the others to be looked at.
// A line that begins with --- or ... is never part of a value there.
// Columns stay right, since only the marks at the beginning of a line are replaced by blanks.
func yamlDocuments(name string, text []byte, most int, found *schema.Findings) (docs []*schema.Node) {
	var doc []byte
	first, line, count := 0, 0, 0
	said := false // the document has more than blanks and comments
	end := func() {
		if said {
			count++
			n, ds := yaml.Document(name, doc)
			found.Add(moved(ds, first)...)
			if n != nil && ds.Err() == nil {
				docs = append(docs, placed(n, first))
			}
		}
		doc, first, said = nil, line, false
	}
	for part := range bytes.Lines(text) {
		switch word := strings.TrimRight(string(part[:min(len(part), 4)]), " \t\r\n"); word {
		case "---":
			end()
			// The slice is a new one: text belongs to the caller, who may read it again.
			part = append([]byte("   "), part[3:]...) // a value may stand behind it
		case "...":
			end()
			part = []byte("\n")
		}
		if rest := bytes.TrimLeft(part, " \r\n"); !said && len(rest) > 0 && rest[0] != '#' {
			if said = true; count == most {
				found.Add(tooMany(name, line, most))
				return docs
			}
		}
		// The line of a mark belongs to the document after it, so each line counts once.
		doc = append(doc, part...)
		line++
	}
	end()
	return docs
}

// moved adds lines to the places of findings, and returns the same slice.
// A document is read by itself, so its first line is line 1 before.
func moved(ds schema.Diagnostics, lines int) schema.Diagnostics {
	for i := range ds {
		if ds[i].Pos.Line > 0 {
			ds[i].Pos.Line += int32(lines)
		}
	}
	return ds
}

// placed returns a tree whose places are some lines further down.
// The tree that it is given stays as it is, since nodes never change.
// A part that two parents share is copied for each.
func placed(n *schema.Node, lines int) *schema.Node {
	if n == nil || lines == 0 {
		return n
	}
	c := *n
	c.Pos.Line += int32(lines)
	c.Items, c.Pairs = nil, nil
	for _, item := range n.Items {
		c.Items = append(c.Items, placed(item, lines))
	}
	for _, p := range n.Pairs {
		p.Pos.Line += int32(lines)
		p.Value = placed(p.Value, lines)
		c.Pairs = append(c.Pairs, p)
	}
	return &c
}

// declaredObject is one object of a file.
// It is not altered after objectOf has made it; its nodes are shared with the document.
type declaredObject struct {
	// The id is text, also where the file has a number.
	table, id string
	at        *schema.Node // the document
	fields    *schema.Node // the object in it
}

// String names the object as a person does.
// The table is as the file has it, which may be the name of a model.
func (o *declaredObject) String() string { return o.table + "[" + o.id + "]" }

// objectOf reads a document: table, and the fields of the object next to it, or below object where a field is called table.
// The daemon tells all other faults of the object.
// It returns the object and no finding, or findings and no object.
// The nodes stay those of the document.
func objectOf(n *schema.Node) (*declaredObject, schema.Diagnostics) {
	fail := func(pos schema.Pos, message string) (*declaredObject, schema.Diagnostics) {
		return nil, schema.Diagnostics{{Severity: schema.Error, Pos: pos, Message: message}}
	}
	if n.Kind != schema.NodeMap {
		return fail(n.Pos, "an object is a map: table, id and the fields")
	}
	table := n.Get("table")
	if table == nil || table.Kind != schema.NodeString || table.Text == "" {
		return fail(n.Pos, "table is required: it names the kind of the object, such as file")
	}
	o := &declaredObject{table: table.Text, at: n, fields: n.Get("object")}
	// Only a document of exactly table and object has its fields below object. So a field called
	// object is not taken for the form.
	if o.fields == nil || o.fields.Kind != schema.NodeMap || len(n.Pairs) != 2 {
		fields := *n
		fields.Pairs = nil
		for _, p := range n.Pairs {
			if p.Key != "table" {
				fields.Pairs = append(fields.Pairs, p)
			}
		}
		o.fields = &fields
	}
	id := o.fields.Get("id")
	if id == nil || id.Kind == schema.NodeList || id.Kind == schema.NodeMap || id.Text == "" {
		return fail(n.Pos, "id is required: it names the object")
	}
	o.id = id.Text
	return o, nil
}

// appendJSON writes a tree as JSON, without its places.
// The daemon gets the text of each number as it was written.
// A scalar that JSON has not, such as 0644, is written as its text.
func appendJSON(b []byte, n *schema.Node) []byte {
	switch {
	case n == nil || n.Kind == schema.NodeNull:
		return append(b, "null"...)
	case n.Kind == schema.NodeMap:
		b = append(b, '{')
		for i, p := range n.Pairs {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(appendText(b, p.Key), ':'), p.Value)
		}
		return append(b, '}')
	case n.Kind == schema.NodeList:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case n.Kind != schema.NodeString && json.Valid([]byte(n.Text)):
		return append(b, n.Text...)
	}
	return appendText(b, n.Text)
}

// appendText writes text as JSON, in quotes.
// Keys and values are written alike.
// A string can always be written; bytes that UTF-8 does not have become the replacement character.
func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, text...)
}

// placeOf turns the place in the body, which this program has made, into that in the file of the user.
// It returns the place in the file of a finding about operations[3].object.a.b[0], and the object. It is nil for a finding about
// something else.
func placeOf(objects []*declaredObject, f httpd.Finding) (*declaredObject, schema.Pos) {
	rest, ok := strings.CutPrefix(f.Field, "operations[")
	number, path, ok2 := strings.Cut(rest, "]")
	// The number comes from the daemon, so a place outside of the list causes no panic here.
	i, err := strconv.Atoi(number)
	if !ok || !ok2 || err != nil || i < 0 || i >= len(objects) {
		return nil, schema.Pos{}
	}
	o := objects[i]
	path = strings.TrimPrefix(path, ".")
	if inner, ok := strings.CutPrefix(path, "object."); ok {
		return o, o.fields.At(inner).Pos
	}
	if at := o.at.Get(path); path == "table" && at != nil {
		return o, at.Pos
	}
	return o, o.at.Pos
}
