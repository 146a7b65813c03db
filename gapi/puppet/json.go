package puppet

import (
	"bytes"
	"errors"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// catalogStart finds the brace that a line begins with: what Puppet prints before
// the catalog are lines of a log.
var catalogStart = lazyregexp.New(`(?m)^[ \t]*\{`)

// valuesEach bounds the values of a catalog that may have more resources than usual, by their number.
const valuesEach = 16

// mostValues returns how many values a catalog may have.
func mostValues(resources int) int {
	if resources <= gapi.DefaultMaxResources {
		return jsonnode.MaxValues
	}
	return valuesEach * resources
}

// parseJSON returns the tree of a source, nil where there is none; found says why.
// The text before the first line that begins with a brace is skipped.
// A fault of the JSON is one finding, since no parser can go on behind it.
func parseJSON(file string, src []byte, most int, found *schema.Findings) *schema.Node {
	start, err := catalogBegin(src)
	if err != nil {
		found.Errorf(schema.Pos{File: file, Line: 1, Col: 1}, "%v", err)
		return nil
	}
	n, wrong := jsonnode.Parse(src, jsonnode.Options{
		File: file, Start: start, What: "this is no catalog", Rest: "something follows the end of the catalog",
		Values: mostValues(most),
	})
	found.Add(wrong...)
	return n
}

// catalogBegin returns where the JSON begins.
// A brace inside a line counts only where no line begins with one: Puppet may have coloured the
// line.
func catalogBegin(src []byte) (int, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return 0, errors.New("there is no catalog, nothing at all was read")
	}
	at := bytes.IndexByte(src, '{')
	if loc := catalogStart.FindIndex(src); loc != nil {
		at = loc[1] - 1
	}
	if at < 0 {
		return 0, errors.New("there is no catalog: a catalog is the JSON that `puppet catalog compile` prints and begins with {")
	}
	return at, nil
}

// posAt returns the place of an offset, its column in bytes.
func posAt(file string, src []byte, at int) schema.Pos {
	before := src[:at]
	col := at - bytes.LastIndexByte(before, '\n')
	return schema.Pos{File: file, Line: int32(bytes.Count(before, []byte("\n")) + 1), Col: int32(col)}
}
