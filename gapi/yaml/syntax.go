package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// plainWords are the parser's messages in words for users.
// The keys are the library's own texts. The golden files of broken documents show a change of
// them.
var plainWords = map[string]string{
	"mapping values are not allowed in this context":               "a \": \" is not allowed here; is the line before indented right, or does a text need quotes?",
	"did not find expected key":                                    "expected a key here; is the line indented like its neighbours?",
	"did not find expected '-' indicator":                          "expected a \"- \" here, as in the list above; is the line indented right?",
	"did not find expected ',' or ']'":                             "expected \",\" or \"]\"" + flowWords,
	"did not find expected ',' or '}'":                             "expected \",\" or \"}\"" + flowWords,
	"did not find expected node content":                           "expected a value",
	"found unexpected end of stream":                               "the file ends before the closing quote",
	"could not find expected ':'":                                  "expected a \":\" after the key",
	"found unknown escape character":                               "unknown escape after the backslash; use single quotes, or write \\\\",
	fmt.Sprintf("exceeded max depth of %d", maxDepth):              fmt.Sprintf("nested deeper than %d levels", maxDepth),
	"found incompatible YAML document":                             "this version of YAML is not known",
	"found a tab character that violates indentation":              tabWords,
	"found a tab character where an indentation space is expected": tabWords,
}

const flowWords = "; inside [ ] and { } a text such as exec[x] needs quotes"

// noAnchor begins the finding about an alias without an anchor.
const noAnchor = "no anchor &"

const tabWords = "a tab can't indent, use spaces"

// syntaxError turns the words of the parser into a finding.
// The parser gives up at its first error, so there is one. A message without plain words is
// told as the library has it.
func syntaxError(file string, src []byte, err error) schema.Diagnostic {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return schema.Diagnostic{Pos: schema.Pos{File: file}, Message: err.Error()}
	}
	d := schema.Diagnostic{Pos: markPos(file, e.Mark), Message: e.Message}
	if words, ok := plainWords[e.Message]; ok {
		d.Message = words
	} else if words := badStart(e, src); words != "" {
		d.Message = words
	}
	if anchor, ok := strings.CutPrefix(e.Message, "unknown anchor '"); ok {
		d.Message = fmt.Sprintf(noAnchor+"%s stands before this alias", strings.TrimSuffix(anchor, "' referenced"))
	}
	if bytes.Contains(lineAt(src, e.Mark.Line), []byte(expr.Open)) || bytes.Contains(lineAt(src, e.ContextMark.Line), []byte(expr.Open)) {
		d.Message += quoteWords
	}
	if ctx := markPos(file, e.ContextMark); e.ContextMark.Line > 0 && ctx != d.Pos {
		d.Related = []schema.Related{{Pos: ctx, Message: e.ContextMsg + " that begins here"}}
	}
	return d
}

// quoteWords are added where a line has an expression: YAML may have taken a part of it for its own.
// The hint is given where the parser stopped on such a line, or began there.
const quoteWords = "; an expression in ${{ }} needs quotes where it has \": \" or \" #\", and inside of [ ] and { }"

// lineAt returns a line of a source, which counts from 1; nothing for line 0.
func lineAt(src []byte, line int) []byte {
	for range line - 1 {
		_, src, _ = bytes.Cut(src, []byte("\n"))
	}
	if line < 1 {
		return nil
	}
	text, _, _ := bytes.Cut(src, []byte("\n"))
	return text
}

// The library's marks count from 1, as ours do.
func markPos(file string, m yaml.Mark) schema.Pos {
	return schema.Pos{File: file, Line: int32(m.Line), Col: int32(m.Column)}
}

// badStart explains a character with which no value can begin.
func badStart(e *yaml.LoadError, src []byte) string {
	if e.Message != "found character that cannot start any token" {
		return ""
	}
	for range e.Mark.Line - 1 {
		_, src, _ = bytes.Cut(src, []byte("\n"))
	}
	for range e.Mark.Column - 1 {
		_, size := utf8.DecodeRune(src)
		src = src[size:]
	}
	r, _ := utf8.DecodeRune(src)
	if r == '\t' {
		return tabWords
	}
	return fmt.Sprintf("a value can't begin with %q, put it in quotes", r)
}
