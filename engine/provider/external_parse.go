package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// parseJSON reads a line that is one JSON value: an int64 or a float64 for a number, and
// else as encoding/json has it. What that would put right without a word, so that two
// names become one or a value another, is an error: text that is no UTF-8, half of a
// surrogate pair, a key that is there twice. Errors repeat nothing of the line: it may
// hold what is secret.
func parseJSON(line []byte) (any, error) {
	switch {
	case !utf8.Valid(line):
		return nil, errors.New("it is no UTF-8")
	case halfPair(line):
		return nil, errors.New(`it has half of a surrogate pair (\ud800 to \udfff), which is no character`)
	}
	p := jsonParser{json.NewDecoder(bytes.NewReader(line))}
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

// jsonEscape finds the escapes of JSON one after the other; the group is half of a pair.
var jsonEscape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|(u[dD][89a-fA-F])|.)`)
})

func halfPair(line []byte) bool {
	if !bytes.Contains(line, []byte(`\ud`)) && !bytes.Contains(line, []byte(`\uD`)) {
		return false
	}
	for _, at := range jsonEscape().FindAllSubmatchIndex(line, -1) {
		if at[2] >= 0 {
			return true
		}
	}
	return false
}

// maxLevels bounds how deep a value is.
const maxLevels = 100

// jsonParser reads values from tokens.
type jsonParser struct{ *json.Decoder }

var errNoJSON = errors.New("it is no JSON")

func (p jsonParser) value(level int) (any, error) {
	tok, err := p.Token()
	if err != nil {
		return nil, errNoJSON
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

func (p jsonParser) list(level int) (any, error) {
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

func (p jsonParser) object(level int) (any, error) {
	obj := map[string]any{}
	for p.More() {
		tok, err := p.Token()
		key, isText := tok.(string)
		if err != nil || !isText {
			return nil, errNoJSON
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
func (p jsonParser) end() error {
	if _, err := p.Token(); err != nil {
		return errNoJSON
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
