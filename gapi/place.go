package gapi

import (
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// flatten returns the errors that errors.Join put together, and schema.Diagnostics
// one by one.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if ds, ok := err.(schema.Diagnostics); ok {
		all := make([]error, len(ds))
		for i, d := range ds {
			all[i] = finding{d}
		}
		return all
	}
	j, ok := err.(interface{ Unwrap() []error })
	if !ok || !isPlainJoin(err, j.Unwrap()) {
		return []error{err}
	}
	var all []error
	for _, e := range j.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// isPlainJoin reports whether err says nothing that its parts do not.
func isPlainJoin(err error, parts []error) bool {
	texts := make([]string, len(parts))
	for i, e := range parts {
		texts[i] = e.Error()
	}
	return err.Error() == strings.Join(texts, "\n")
}

// finding carries a Diagnostic as an error.
type finding struct{ schema.Diagnostic }

func (f finding) Error() string { return f.Message }

// invalid reports one error of Validate where it belongs.
func (b *builder) invalid(it *item, err error) {
	d := schema.Diagnostic{Pos: it.Pos, Resource: it.id, Message: err.Error()}
	if f, ok := errors.AsType[finding](err); ok {
		d = f.Diagnostic
		d.Resource = it.id
	} else {
		d.Path = it.fieldNamed(d.Message)
	}
	if d.Path != "" && it.receives(d.Path) {
		return // it is judged when the value is there
	}
	if n := it.Value.Get(topKey(d.Path)); n != nil && (d.Pos.IsZero() || d.Pos == it.Pos) {
		d.Pos = it.Value.At(d.Path).Pos
	}
	d.Pos = orPos(d.Pos, it.Pos)
	d.Message = it.unsaid(d.Message)
	b.add(d)
}

// fieldNamed returns the key of the parameter that a message begins with, or "".
func (it *item) fieldNamed(msg string) string {
	word := leadingWord(msg)
	if f := it.info.Type.Field(topKey(word)); f != nil && (topKey(word) == f.Key || topKey(word) == f.GoName) {
		return f.Key
	}
	return ""
}

// leadingWord returns the first word of a message, without quotes.
func leadingWord(msg string) string {
	msg = strings.TrimLeft(msg, "`'\"")
	if end := strings.IndexAny(msg, " :,;'`\""); end >= 0 {
		return msg[:end]
	}
	return msg
}

// receives reports whether the parameter at path, or part of it, is received, or would be if
// the wiring were right.
func (it *item) receives(path string) bool {
	return slices.ContainsFunc(it.Recv, func(r RecvDecl) bool {
		f := it.info.Type.Field(topKey(r.Field))
		return f != nil && f.Key == topKey(path)
	})
}

// topKey returns the first key of a path.
func topKey(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}
