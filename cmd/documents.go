package cmd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// documentsSchema returns the JSON Schema of what the verbs write with -o json, and as the same values with -o yaml: the properties are the verbs, by
// their names without the name of the program. A verb whose document is a value of the user's own has none.
func documentsSchema(root *cobra.Command) (string, error) {
	types := derive.NewGoTypes("#/$defs/")
	verbs := map[string]any{}
	var walk func(cmd *cobra.Command) error
	walk = func(cmd *cobra.Command) error {
		for _, sub := range cmd.Commands() {
			if err := walk(sub); err != nil {
				return err
			}
		}
		of, err := documentsOf(cmd, types)
		if err != nil || of == nil {
			return err
		}
		_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
		verbs[verb] = of
		return nil
	}
	if err := walk(root); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"description": "What each verb of mgmt writes with --output json. A later version may add fields.",
		"properties":  verbs,
		"$defs":       types.Schemas,
	}, "", "  ")
	return string(text) + "\n", err
}

// documentsOf returns the schema of the documents of one verb, nil for none.
func documentsOf(cmd *cobra.Command, types *derive.GoTypes) (map[string]any, error) {
	var all []any
	for _, name := range []string{"output", "format"} {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			continue
		}
		d, ok := f.Value.(interface{ Documents() []reflect.Type })
		if !ok {
			continue
		}
		for _, t := range d.Documents() {
			doc := reflect.Zero(t).Interface()
			if known, ok := doc.(cli.Described); ok {
				all = append(all, known.JSONSchema())
				continue
			}
			s, err := types.Schema(doc)
			if err != nil {
				return nil, fmt.Errorf("the document of %s: %w", cmd.CommandPath(), err)
			}
			all = append(all, s)
		}
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0].(map[string]any), nil
	}
	return map[string]any{"anyOf": all}, nil
}
