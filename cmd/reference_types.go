package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// typesOfForm returns the page of the written form of types. Its tables are made from the type that
// the form has itself.
// An error means that the form has lost a path that the page shows, which a test finds.
func typesOfForm() (string, error) {
	form := wire.Form()
	pairs := []string{"{{document}}", fieldTable(form)}
	for name, path := range map[string]string{"type": "type", "field": "type.fields[0]"} {
		t, _, err := form.At(path)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, "{{"+name+"}}", fieldTable(t))
	}
	var formats []string
	for _, name := range slices.Sorted(maps.Keys(schema.Formats)) {
		formats = append(formats, fmt.Sprintf("| `%s` | %s |", name, schema.Formats[name].One))
	}
	pairs = append(pairs, "{{formats}}", strings.Join(formats, "\n"))
	return strings.NewReplacer(pairs...).Replace(typesPage), nil
}
