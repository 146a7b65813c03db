package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// newSchema makes the verb schema.
func newSchema(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Write the JSON Schema of a graph file, or of the parameters of one kind; or types as programs read them",
		Long: `Schema writes the JSON Schema (draft 2020-12) of a graph file with all kinds of
this program, or of the parameters of one kind. Editors complete and check with
it; the first line of a graph file names it:

  # yaml-language-server: $schema=mgmt.schema.json

With -o wire, it writes the type of one kind, or of every kind on a line of its own, in the
written form that providers and generators of code read (docs/reference/types.md).`,
		Example: `  mgmt schema > mgmt.schema.json
  mgmt schema file
  mgmt schema file -o wire`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKind,
		RunE: func(_ *cobra.Command, args []string) error {
			of := a.schemaOf
			if output.word == "wire" {
				of = a.wireOf
			}
			text, err := of(args)
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	choose(cmd, &output, "output", "o", "what to write", "json-schema", "wire")
	a.typesFlag(cmd)
	return cmd
}

// schemaOf writes the schema of a graph file, or of one kind.
func (a *app) schemaOf(args []string) ([]byte, error) {
	if len(args) == 0 {
		return a.graphSchema()
	}
	k, err := a.kindNamed(args[0])
	if err != nil {
		return nil, err
	}
	return derive.KindSchema(k)
}

// wireOf writes the types of kinds, one on each line.
func (a *app) wireOf(args []string) ([]byte, error) {
	names := args
	if len(args) == 0 {
		names = a.kinds().Kinds()
	}
	var out []byte
	for _, name := range names {
		k, err := a.kindNamed(name)
		if err != nil {
			return nil, err
		}
		t := *k.Type
		if t.Doc == "" {
			t.Doc = k.Doc
		}
		text, err := wire.EncodeAs(k.Name, &t)
		if err != nil {
			return nil, fmt.Errorf("the type of the kind %s has no written form: %w", k.Name, err)
		}
		out = append(append(out, text...), '\n')
	}
	return out, nil
}
