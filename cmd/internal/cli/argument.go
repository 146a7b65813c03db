package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// MaxText is how many bytes are read of a file with values to set: 64 MiB. It keeps an endless
// standard input from taking all memory.
const MaxText = 64 << 20

// ReadSource reads a file by a Source, or standard input if path is -.
// It closes the file that it has opened, and leaves standard input open for the next reader.
// A larger text is an error and is not cut: half a value may be a valid one.
func ReadSource(a *App, path string, from gapi.Source) ([]byte, error) {
	text, err := ReadBounded(from, a.In, path, MaxText)
	switch {
	case errors.Is(err, gapi.ErrKernel):
		err = fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, gapi.ErrTooLong):
		err = fmt.Errorf("%s has more than %s", path, schema.Size(MaxText))
	}
	return text, err
}

// The forms of a parameter.
// The forms are those of HTTPie, which many users know from the command line.
// A text is read by the type of the parameter, JSON as it stands, and a file as a secret.
const (
	FormText = "="
	FormJSON = ":="
	FormFile = "@"
)

// SplitArg splits a parameter at its first mark.
// Of the marks the first counts, so a value may have any of them. Without a mark the form is
// empty.
// The file of a JSON value, :=@FILE, is found later: here its form is that of JSON.
func SplitArg(arg string) (key, form, rest string) {
	i := strings.IndexAny(arg, "=@")
	switch {
	case i < 0:
		return arg, "", ""
	case arg[i] == '@':
		return arg[:i], FormFile, arg[i+1:]
	case i > 0 && arg[i-1] == ':':
		return arg[:i-1], FormJSON, arg[i+1:]
	default:
		return arg[:i], FormText, arg[i+1:]
	}
}

// All users of a machine can read the arguments of a process, in /proc or by ps(1). A shell keeps
// them in its history.
var ErrSecret = errors.New("it is a secret, and every user can see arguments: write PARAMETER@FILE, or PARAMETER@- for standard input")
