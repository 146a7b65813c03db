package typescript

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/grafana/sobek"
)

// Version is the version of the requests and answers. mgmt and mgmt-ts are of one release, and of one version.
const Version = 2

// Request is the question of mgmt. It comes as one JSON document at standard input. All that the program may read is in it,
// or below its Root: so equal requests over equal files have equal answers.
type Request struct {
	Version int               `json:"version"`
	Main    string            `json:"main"`    // the program; absolute
	Root    string            `json:"root"`    // the folder with all files that may be imported; absolute
	Modules map[string]string `json:"modules"` // the sources of the module mgmt, by the names of their imports
	Inputs  json.RawMessage   `json:"inputs"`  // an object
	Traced  bool              `json:"traced"`  // standard error gets lines with TracePrefix
}

// TracePrefix begins each line of a trace at standard error. mgmt asks for a trace when a process has died of its memory limit
// without an answer: the last line has the place of the statement that took too much.
const TracePrefix = "mgmt-ts-trace: "

// Trace is the rest of a line, as JSON.
type Trace struct {
	Files map[string]string `json:"files,omitempty"` // as in Answer, on the first line
	At    Place             `json:"at,omitzero"`     // of the statement that runs next
}

// Answer is the graph of a program, and its faults.
type Answer struct {
	Version   int               `json:"version"`
	Files     map[string]string `json:"files"` // all that were read, with the sha256 of each in hex
	Graph     json.RawMessage   `json:"graph,omitempty"`
	Resources []*Resource       `json:"-"` // see Write
	Problems  []Problem         `json:"problems"`
}

// Write writes the answer as lines of JSON: itself, and each resource. So mgmt sees by the line which resources are as they were.
func (a *Answer) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	err := enc.Encode(a)
	for _, r := range a.Resources {
		err = errors.Join(err, enc.Encode(r))
	}
	return err
}

// Resource is one resource as the program made it. References to other resources are their ids, kind[name], whether such
// a resource was made or not: mgmt checks them.
type Resource struct {
	Kind   string            `json:"kind"`
	Name   string            `json:"name"`
	At     Place             `json:"at"`
	Value  json.RawMessage   `json:"value"`
	Meta   []json.RawMessage `json:"meta,omitempty"` // the later ones add to the earlier ones
	Recv   []Received        `json:"recv,omitempty"`
	Before []string          `json:"before,omitempty"`
	Depend []string          `json:"depend,omitempty"`
	Notify []string          `json:"notify,omitempty"`
	Listen []string          `json:"listen,omitempty"`
	Calls  []Place           `json:"calls,omitempty"` // if another one has the same kind and name: the calls that led to it, innermost first

	number int                // its place in Answer.Resources
	frames []sobek.StackFrame // when it was made
}

// Received is one value that a resource receives.
type Received struct {
	Field string `json:"field"`
	From  string `json:"from"` // kind[name].key
}

// Place is a position in a source. Line and column count from 1; the column counts bytes.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// Problem is something that is wrong with a program.
type Problem struct {
	Place
	Resource string  `json:"resource,omitempty"` // kind[name]
	Number   *int    `json:"number,omitempty"`   // of the resource in Answer.Resources
	Code     string  `json:"code,omitempty"`     // of a wrong argument, such as V_MISSING
	Path     string  `json:"path,omitempty"`     // of the argument
	Message  string  `json:"message"`
	Warning  bool    `json:"warning,omitempty"`
	Calls    []Place `json:"calls,omitempty"` // of an exception: the calls that led to it, innermost first
}
