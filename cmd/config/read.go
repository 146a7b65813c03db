package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// MaxBytes bounds the length of a configuration file.
const MaxBytes = 1 << 20

// File is what a configuration file gives.
type File struct {
	Path   string
	Given  map[string]Value // by key
	Exists bool
	Err    error // why it could not be read, which is among the findings; nil where it was
}

// Read reads the file at a path. The findings are all that is wrong with it; with an error
// among them the file gives nothing. A missing file gives nothing, and does not make a finding.
// A file that cannot be read is one finding. The device /dev/null is an empty file.
func (t *Table) Read(path string, from gapi.Source) (File, schema.Diagnostics) {
	f := File{Path: path}
	if path == "" || path == "/dev/null" {
		return f, nil
	}
	src, err := read(path, from)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	f.Exists = true
	var found schema.Findings
	if f.Err = err; err != nil {
		found.Errorf(schema.Pos{File: path}, "%v", safepath.WithoutPath(err))
		return f, found.All()
	}
	root, ds := yaml.Document(path, src)
	if gapi.Private(path) {
		root, ds = yaml.Discreet(path, root, ds, gapi.HasWords, "configuration")
	}
	found.Add(ds...)
	given, ds := t.values(root)
	found.Add(ds...)
	if found.Errors() == 0 {
		f.Given = given
	}
	all := found.All()
	all.Sort()
	return f, all
}

// read reads the file.
func read(path string, from gapi.Source) ([]byte, error) {
	src, err := from.ReadRegular(context.Background(), path, MaxBytes, "the file is too big: a configuration")
	switch {
	case errors.Is(err, gapi.ErrFolder):
		return nil, errors.New("it is a folder: the configuration is one file")
	case errors.Is(err, gapi.ErrIrregular):
		return nil, errors.New("it is no regular file: the configuration is read more than once")
	}
	return src, err
}

// values reads the keys of a document, which may be nil.
func (t *Table) values(root *schema.Node) (map[string]Value, schema.Diagnostics) {
	var ds schema.Diagnostics
	if root == nil || root.Kind == schema.NodeNull {
		return nil, nil
	}
	if root.Kind != schema.NodeMap {
		ds.Errorf(root.Pos, "the configuration must be a map of settings, such as: max_changes: 20/5m")
		return nil, ds
	}
	given := map[string]Value{}
	for _, p := range root.Pairs {
		s := t.find(p.Key)
		if s == nil {
			ds = append(ds, t.unknown(p))
			continue
		}
		if _, twice := given[s.Key]; twice {
			ds.Errorf(p.Pos, "%s and %s are two names of one setting: leave %s out", s.Key, s.Was, s.Was)
			continue
		}
		if p.Key != s.Key {
			ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Pos: p.Pos, Message: Renamed(p.Key, s.Key)})
		}
		v, wrong := s.value(p)
		if len(wrong) > 0 {
			ds = append(ds, wrong...)
			continue
		}
		given[s.Key] = v
	}
	return given, append(ds, t.crossed(root, given)...)
}

// unknown is the finding about an unknown key.
func (t *Table) unknown(p schema.Pair) schema.Diagnostic {
	if instead, ok := t.Instead[p.Key]; ok {
		return schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("unknown setting %q: %s", p.Key, instead)}
	}
	keys := make([]string, 0, 2*len(t.Settings))
	named := map[string]string{} // the key of each flag
	for _, s := range t.Settings {
		keys = append(keys, s.Key, s.FlagName())
		named[s.FlagName()] = s.Key
	}
	near := schema.Nearest(p.Key, keys)
	if key, ok := named[near]; ok {
		near = key
	}
	if key, ok := named[p.Key]; ok {
		near = key
	}
	return schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("unknown setting %q", p.Key), Suggestion: near}
}

// value reads the value of one key.
func (s *Setting) value(p schema.Pair) (Value, schema.Diagnostics) {
	pos := p.Pos
	if p.Value != nil {
		pos = p.Value.Pos
	}
	if s.Read != nil {
		return s.read(p)
	}
	plain, ds := schema.Value(s.Type, p.Value)
	for i := range ds {
		ds[i].Path = ""
		ds[i].Message = s.Key + ": " + strings.TrimPrefix(ds[i].Message, "the value ")
	}
	if ds.Err() != nil {
		return Value{}, ds
	}
	v := Value{Texts: texts(plain), Source: SourceFile, Pos: p.Pos}
	for i, text := range v.Texts {
		if err := s.check(text); err != nil {
			ds.Errorf(pos, "%s: %v", s.Key, err)
		}
		switch {
		case !s.Path || pos.File == "" || filepath.IsAbs(text):
		case text == "-":
			ds.Errorf(pos, "%s: standard input is for a flag, name a file or a folder", s.Key)
		default:
			v.Texts[i] = filepath.Join(filepath.Dir(pos.File), text)
		}
	}
	return v, ds
}

// read is value for a setting with Read.
func (s *Setting) read(p schema.Pair) (Value, schema.Diagnostics) {
	text, ds := "", schema.Diagnostics(nil)
	if p.Value != nil {
		text, ds = s.Read(p.Value)
	}
	for i := range ds {
		ds[i].Message = s.Key + ": " + ds[i].Message
	}
	return Value{Texts: []string{text}, Source: SourceFile, Pos: p.Pos}, ds
}

// check says what is wrong with a text.
func (s *Setting) check(text string) error {
	switch {
	case s.Path && text == "":
		return errors.New("it is empty, write a path or omit the setting")
	case s.Check == nil:
		return nil
	}
	return s.Check(text)
}

// texts returns a plain value as flags take it.
func texts(plain any) []string {
	switch v := plain.(type) {
	case nil:
		return nil
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, texts(item)...)
		}
		return list
	case bool:
		return []string{strconv.FormatBool(v)}
	case time.Duration:
		return []string{v.String()}
	default:
		return []string{fmt.Sprint(v)}
	}
}

// crossed refuses settings of a file that exclude each other.
func (t *Table) crossed(root *schema.Node, given map[string]Value) (ds schema.Diagnostics) {
	first := map[string]string{} // by group
	for _, p := range root.Pairs {
		s := t.find(p.Key)
		if s == nil {
			continue
		}
		v, ok := given[s.Key]
		if !ok || s.Group == "" || v.off() {
			continue
		}
		if other, taken := first[s.Group]; taken {
			ds.Errorf(p.Pos, "%s and %s exclude each other", other, p.Key)
			continue
		}
		first[s.Group] = p.Key
	}
	return ds
}

// off reports whether a value asks for nothing: a switch that is off.
func (v Value) off() bool { return len(v.Texts) == 0 || slices.Equal(v.Texts, []string{"false"}) }
