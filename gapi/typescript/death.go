package typescript

import (
	"bytes"
	"encoding/json"
	"errors"
)

// tracePrefix begins the lines of a trace, which the package typescript of the helper describes.
const tracePrefix = "mgmt-ts-trace: "

// errMemory is the end of a program that needs too much at once.
var errMemory = errors.New("the program uses more than 512 MiB of memory: a loop may add to a list or a text without an end")

// death reads the standard error of a helper, and recognises that the helper dies for lack of memory.
type death struct {
	said  func(line string) // nil if the words of the program are of no use
	dying bool
	trace answer
	last  place // where the program was
}

// line takes one line. The last words of an interpreter without memory are many, and help no author.
func (d *death) line(text []byte) {
	switch traced, ok := bytes.CutPrefix(text, []byte(tracePrefix)); {
	case ok && d.said == nil:
		d.step(traced)
	case d.dying, bytes.HasPrefix(text, []byte("runtime: out of memory")), bytes.HasPrefix(text, []byte("fatal error: ")):
		d.dying = true
	case d.said != nil:
		d.said(string(text))
	}
}

// step takes the rest of a line of a trace. A line that was cut off by the end of the helper has no place.
func (d *death) step(text []byte) {
	var t struct {
		Files map[string]string `json:"files"`
		At    place             `json:"at"`
	}
	if json.Unmarshal(text, &t) != nil {
		return
	}
	if t.Files != nil {
		d.trace.Files = t.Files
	}
	if t.At.Line > 0 {
		d.last = t.At
	}
}

// answer returns the answer that the helper would have given, with the place of its last step. It is an error if there was none.
func (d *death) answer() ([]byte, error) {
	if d.last.Line == 0 {
		return nil, errMemory
	}
	d.trace.Version, d.trace.Problems = version, []problem{{place: d.last, Message: errMemory.Error()}}
	return json.Marshal(d.trace)
}
