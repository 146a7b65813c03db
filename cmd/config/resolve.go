package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Source is where a value is from, the weakest first.
type Source uint8

// The sources.
const (
	SourceDefault Source = iota
	SourceFile
	SourceEnvironment
	SourceFlag
)

// String returns the word for a source.
func (s Source) String() string {
	return [...]string{"default", "file", "environment", "flag"}[s]
}

// Value is the value of one setting, and where it is from.
type Value struct {
	Texts  []string // as a flag takes it; several for a list
	Source Source
	Name   string     // of the flag with its dashes, or of the variable
	Pos    schema.Pos // of the key in the file
}

// Text returns the value as one text.
func (v Value) Text() string { return strings.Join(v.Texts, ",") }

// From says where the value is from: --debug, MGMT_DEBUG, a place in the file, or default.
func (v Value) From() string {
	switch v.Source {
	case SourceFile:
		return v.Pos.String()
	case SourceEnvironment, SourceFlag:
		return v.Name
	default:
		return v.Source.String()
	}
}

// Resolved has the value of each setting that is given, by key.
type Resolved map[string]Value

// Environment returns the values of the variables of the environment. A variable that is
// empty gives nothing. The findings are the variables with a wrong value or an old name.
func (t *Table) Environment(lookup func(string) string) (Resolved, schema.Diagnostics) {
	out := Resolved{}
	var ds schema.Diagnostics
	for _, s := range t.Settings {
		name := s.EnvName()
		text := lookup(name)
		if old := s.oldEnv(); text == "" && old != "" {
			if text = lookup(old); text != "" {
				ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Message: Renamed(old, name)})
				name = old
			}
		}
		if text == "" {
			continue
		}
		texts, err := s.Parse(text)
		if err != nil {
			ds.Errorf(schema.Pos{}, "%s=%s: %v", name, text, err)
			continue
		}
		out[s.Key] = Value{Texts: texts, Source: SourceEnvironment, Name: name}
	}
	return out, ds
}

// prefix is how the name of the variable of each setting begins.
const prefix = "MGMT_"

// Misspelled returns a warning for each variable of an environment that is not a setting, but
// is spelled much like one. environ has the form of os.Environ.
func (t *Table) Misspelled(environ []string) (ds schema.Diagnostics) {
	var known []string
	for _, s := range t.Settings {
		known = append(known, strings.TrimPrefix(s.EnvName(), prefix))
	}
	old := func(name string) bool {
		return slices.ContainsFunc(t.Settings, func(s *Setting) bool { return s.oldEnv() == name })
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(name, prefix)
		if !ours || slices.Contains(known, word) || old(name) {
			continue
		}
		if near := schema.Nearest(word, known); near != "" {
			ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Message: "the variable " + name + " is no setting", Suggestion: prefix + near})
		}
	}
	return ds
}

// Parse reads a text that stands outside of YAML: of a variable, or of a flag. A list is
// separated by commas. The result is in the form of Value.Texts.
func (s *Setting) Parse(text string) ([]string, error) {
	if s.Read != nil {
		n, ds := yaml.Document("", []byte(text))
		if ds.Err() != nil {
			return nil, ds
		}
		v, ds := s.read(schema.Pair{Key: s.Key, Value: n})
		return v.Texts, ds.Err()
	}
	var n *schema.Node
	switch s.Type.Kind {
	case schema.KindBool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("write true or false")
		}
		return []string{strconv.FormatBool(yes)}, nil
	case schema.KindInt:
		if _, err := strconv.Atoi(text); err != nil {
			return nil, errors.New("write a whole number")
		}
		n = &schema.Node{Kind: schema.NodeInt, Text: text}
	case schema.KindList:
		return strings.Split(text, ","), nil
	default:
		n = &schema.Node{Kind: schema.NodeString, Text: text}
	}
	v, ds := s.value(schema.Pair{Key: s.Key, Value: n})
	if ds.Err() != nil {
		return nil, errors.New(strings.TrimPrefix(ds[0].Message, s.Key+": "))
	}
	return v.Texts, nil
}

// Resolve puts the sources together. flags is what the flags of the command line give.
func (t *Table) Resolve(flags, env Resolved, file File) Resolved {
	out := Resolved{}
	layers := []map[string]Value{flags, env, file.Given}
	own := t.ownFolder(flags) || t.ownFolder(env)
	taken := map[string]Source{} // the strongest source of each group
	for _, layer := range layers {
		for _, s := range t.Settings {
			v, ok := layer[s.Key]
			if _, stronger := out[s.Key]; !ok || stronger {
				continue
			}
			if at, grouped := taken[s.Group]; grouped && s.Group != "" && at > v.Source {
				continue
			}
			if own && s.Own && v.Source == SourceFile {
				continue
			}
			out[s.Key] = v
			if s.Group != "" && !v.off() {
				taken[s.Group] = v.Source
			}
		}
	}
	return out
}

// ownFolder reports whether a source names a state folder.
func (t *Table) ownFolder(given Resolved) bool {
	folder, ok := given[t.Folder]
	scratch, temp := given[t.Scratch]
	return ok && len(folder.Texts) > 0 || temp && !scratch.off()
}

// Shown returns the value of a setting as text: that which is given, or the default.
func (t *Table) Shown(r Resolved, s *Setting) string {
	if v, ok := r[s.Key]; ok {
		return v.Text()
	}
	return s.Default
}

// Apply gives the values to their receivers. set is called for each text of each value whose
// setting it knows; where it refuses one, the finding names the source.
func (t *Table) Apply(r Resolved, set func(key, text string) error) (ds schema.Diagnostics) {
	for _, s := range t.Settings {
		v, ok := r[s.Key]
		if !ok || v.Source == SourceFlag {
			continue
		}
		for _, text := range v.Texts {
			if err := set(s.Key, text); err != nil {
				message := fmt.Sprintf("%s: %v", s.Key, err)
				if v.Source == SourceEnvironment {
					message = fmt.Sprintf("%s=%s: %v", v.Name, text, err)
				}
				ds.Errorf(v.Pos, "%s", message)
			}
		}
	}
	return ds
}
