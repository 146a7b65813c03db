package inputs

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// ReadInput reads a file or standard input, up to the bound of a graph file. A verb that acts refuses a file that another user
// could have written.
func ReadInput(a *cli.App, path string) ([]byte, error) {
	src, err := cli.ReadBounded(a.Source(), a.In, path, yaml.DefaultMaxBytes)
	if errors.Is(err, gapi.ErrTooLong) {
		err = fmt.Errorf("it has more than %d bytes", yaml.DefaultMaxBytes)
	}
	return src, err
}

// ReadNamed is ReadInput with the name of the file in the error.
func ReadNamed(a *cli.App, path string) ([]byte, error) {
	src, err := ReadInput(a, path)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, safepath.WithoutPath(err))
	}
	return src, err
}
