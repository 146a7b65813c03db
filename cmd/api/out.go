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
	form cli.Choice
}

// write writes a document in JSON or YAML.
// Both have the digits of each number as they came.
// The JSON is that of the API; YAML is the same value.
// An error is that of standard output, as of a full disk or of a pipe whose reader has gone.
func (p *printer) write(v any) error {
	if p.form.Document() {
		return p.form.Write(p.app.Out, v)
	}
	return render.WriteJSONAsYAML(p.app.Out, v)
}

// object writes one object.
// A table has its fields in the order of their names; long values are cut there, and whole in JSON and YAML.
func (p *printer) object(o api.Object) error {
	if p.form.Word != "table" {
		return p.write(o)
	}
	t := render.Table{{"FIELD", "VALUE"}}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		t.Row(key, shortValue(o[key]))
	}
	return t.Write(p.app.Out)
}

// list writes objects. As JSON they are written as they come.
// A list that ends with an error has no closing bracket, so no program takes it for whole.
func (p *printer) list(objects iter.Seq2[api.Object, error]) error {
	switch p.form.Word {
	case "json":
		return p.listJSON(objects)
	case "yaml":
		all := []api.Object{}
		size := 0
		for o, err := range objects {
			if err == nil {
				err = held(&size, o)
			}
			if err != nil {
				return err
			}
			all = append(all, o)
		}
		// YAML is written whole: the writer needs the list, and an empty list is written as [].
		return p.write(all)
	}
	t := render.Table{{"ID", "TOPIC", "VERSION", "FIELDS"}}
	size := 0
	for o, err := range objects {
		if err == nil {
			err = held(&size, o)
		}
		if err != nil {
			return err
		}
		t.Row(shortValue(o["id"]), shortValue(o["topic"]), shortValue(o["version"]), shortFields(o))
	}
	return t.Write(p.app.Out)
}

// held counts an object of a list that is written as a whole, and says when that is too long.
func held(size *int, o api.Object) error {
	text, err := json.Marshal(o)
	if *size += len(text); err == nil && *size > httpd.MaxAnswer {
		err = fmt.Errorf("the list has more than %d MiB, which only -o json writes as they come; or ask for less by --limit or FIELD=VALUE", httpd.MaxAnswer>>20)
	}
	return err
}

// listJSON writes one object on each line, inside of one JSON list.
// Each object goes out as it comes, so a list of any length needs the memory of one object.
func (p *printer) listJSON(objects iter.Seq2[api.Object, error]) error {
	before := "["
	for o, err := range objects {
		if err != nil {
			return err
		}
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(p.app.Out, "%s%s", before, render.EscapeJSON(string(text))); err != nil {
			return err
		}
		before = ",\n"
	}
	if before == "[" {
		before = "[]" // an empty list is a whole document, too
	} else {
		before = "]"
	}
	_, err := fmt.Fprintln(p.app.Out, before)
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
