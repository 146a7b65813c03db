// Package strictjson reads JSON that programs write, and refuses what encoding/json would
// put right without a word. It keeps no state and does no I/O.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Parse reads a text that is one JSON value: an int64 or a float64 for a number, and
// else as encoding/json has it. What that would put right without a word, so that two
// names become one or a value another, is an error: text that is no UTF-8, half of a
// surrogate pair, a key that is there twice. Errors repeat nothing of the text: it may
// hold what is secret.
func Parse(text []byte) (any, error) {
	switch {
	case !utf8.Valid(text):
		return nil, errors.New("it is no UTF-8")
	case halfPair(text):
		return nil, errors.New(`it has half of a surrogate pair (\ud800 to \udfff), which is no character`)
	}
	p := parser{json.NewDecoder(bytes.NewReader(text))}
	p.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.Token(); err != io.EOF {
		return nil, errors.New("it is more than one value")
	}
	return v, nil
}

// escape finds the escapes of JSON one after the other; the group is half of a pair.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|(u[dD][89a-fA-F])|.)`)
})

func halfPair(line []byte) bool {
	if !bytes.Contains(line, []byte(`\ud`)) && !bytes.Contains(line, []byte(`\uD`)) {
		return false
	}
	for _, at := range escape().FindAllSubmatchIndex(line, -1) {
		if at[2] >= 0 {
			return true
		}
	}
	return false
}

// maxLevels bounds how deep a value is.
const maxLevels = 100

// parser reads values from tokens.
type parser struct{ *json.Decoder }

var errNone = errors.New("it is no JSON")

func (p parser) value(level int) (any, error) {
	tok, err := p.Token()
	if err != nil {
		return nil, errNone
	}
	switch tok := tok.(type) {
	case json.Number:
		return number(tok)
	case json.Delim:
		if level++; level > maxLevels {
			return nil, fmt.Errorf("it has more than %d levels", maxLevels)
		}
		if tok == '[' {
			return p.list(level)
		}
		return p.object(level)
	}
	return tok, nil
}

func (p parser) list(level int) (any, error) {
	list := []any{}
	for p.More() {
		v, err := p.value(level)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, p.end()
}

func (p parser) object(level int) (any, error) {
	obj := map[string]any{}
	for p.More() {
		tok, err := p.Token()
		key, isText := tok.(string)
		if err != nil || !isText {
			return nil, errNone
		}
		if _, twice := obj[key]; twice {
			return nil, errors.New("a key is there twice")
		}
		if obj[key], err = p.value(level); err != nil {
			return nil, err
		}
	}
	return obj, p.end()
}

// end reads what closes a list or an object.
func (p parser) end() error {
	if _, err := p.Token(); err != nil {
		return errNone
	}
	return nil
}

func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil || !strings.ContainsAny(n.String(), ".eE") {
		return nil, errors.New("a number is too large")
	}
	return f, nil
}

// IsText reports whether all text in a value that JSON has a form for is UTF-8.
func IsText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !IsText(x) })
	case map[string]any:
		for k, x := range v {
			if !IsText(k) || !IsText(x) {
				return false
			}
		}
	}
	return true
}
