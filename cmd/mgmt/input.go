package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// input says where the graph comes from. Every verb that takes a graph takes it
// by these flags.
type input struct{ yaml string }

func (i *input) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.yaml, "yaml", "", "the graph: a YAML `file`, a folder of them, or - for standard input")
}

// frontend returns the one frontend that the flags name.
func (i *input) frontend() (gapi.Frontend, error) {
	if i.yaml == "" {
		return nil, errors.New("no graph is given, use --yaml FILE (or - for standard input)")
	}
	return yaml.New(i.yaml, yaml.Options{}), nil
}
