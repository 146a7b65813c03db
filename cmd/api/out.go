package api

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// printer writes the answers of a daemon, in the form that was chosen.
type printer struct {
	app  *cli.App
	form cli.Output
}

// write writes a document, or the table t of it.
// A document has the digits of each number as they came. The JSON is that of the API.
// An error is that of standard output, as of a full disk or of a pipe whose reader has gone.
func (p *printer) write(doc any, t render.Table) error { return p.form.Write(p.app.Out, doc, t.Write) }

// object writes one object.
// A table has its fields in the order of their names; long values are cut there, and whole in JSON and YAML.
func (p *printer) object(o api.Object) error {
	t := render.Table{{"FIELD", "VALUE"}}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		t.Row(key, shortValue(o[key]))
	}
	return p.write(o, t)
}

// list writes objects. A form that can, as JSON, has them one on a line as they come, so a list of any length needs the memory of one object.
// A list that ends with an error is not closed, so no program takes it for whole.
func (p *printer) list(objects iter.Seq2[api.Object, error]) error {
	t := render.Table{{"ID", "TOPIC", "VERSION", "FIELDS"}}
	add := func(o api.Object) error {
		t.Row(shortValue(o["id"]), shortValue(o["topic"]), shortValue(o["version"]), shortFields(o))
		return nil
	}
	end, streams := func() error { return t.Write(p.app.Out) }, false
	if p.form.Document() {
		l, err := p.form.List(p.app.Out, true)
		if err != nil {
			return err
		}
		add, end, streams = func(o api.Object) error { return l.Add(o) }, l.Close, l.Streams()
	}
	size := 0
	for o, err := range objects {
		if err == nil && !streams {
			err = held(&size, o)
		}
		if err == nil {
			err = add(o)
		}
		if err != nil {
			return err
		}
	}
	return end()
}

// held counts an object of a list that is written as a whole, and says when that is too long.
func held(size *int, o api.Object) error {
	text, err := json.Marshal(o)
	if *size += len(text); err == nil && *size > httpd.MaxAnswer {
		err = fmt.Errorf("the list has more than %d MiB, which only -o json writes as they come; or ask for less by --limit or FIELD=VALUE", httpd.MaxAnswer>>20)
	}
	return err
}

// maxShort bounds the text of a value in a table.
// It counts characters, with the three points at the end of a text that was cut.
const maxShort = 80

// shortFields shows the fields that have no column.
// It is for people: a program reads JSON.
func shortFields(o api.Object) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if key != "id" && key != "topic" && key != "version" {
			parts = append(parts, key+"="+shortValue(o[key]))
		}
	}
	return strings.Join(parts, " ")
}

// shortValue shows a value on one line: text as it is, all else as JSON.
// The whole value is in JSON and YAML.
func shortValue(v any) string {
	text, ok := v.(string)
	if !ok && v != nil {
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		text = string(data)
	}
	text = render.OneLine(text)
	if runes := []rune(text); len(runes) > maxShort {
		return string(runes[:maxShort-3]) + "..."
	}
	return text
}
