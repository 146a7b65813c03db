package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

func newSchema(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Write the JSON Schema of a graph file, or of the parameters of one kind",
		Long: `Schema writes the JSON Schema (draft 2020-12) of a graph file with all kinds of
this program, or of the parameters of one kind. Editors complete and check with
it; the first line of a graph file names it:

  # yaml-language-server: $schema=mgmt.schema.json`,
		Example: `  mgmt schema > mgmt.schema.json
  mgmt schema file`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKind,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := a.schemaOf(args)
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	a.typesFlag(cmd)
	return cmd
}

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
