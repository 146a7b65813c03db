package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Setting is one setting. A setting has the same meaning as a flag, as a variable of the
// environment and as a key of the configuration file.
type Setting struct {
	Key   string // of the file, as max_changes
	Flag  string // without dashes; the key with - for _ when empty
	Short string // the one letter of the flag of a bool; empty for none
	Env   string // MGMT_ and the key in capitals when empty

	// Was is the key that the setting had before; empty for none. That key, its flag and its variable still count, and
	// each use of them is a warning.
	Was string

	// Doc is one sentence without a final stop. Its word in backquotes is the flag's argument.
	Doc string
	// Type is what the file may hold: a bool, a number, a duration, a text or a list of texts.
	Type *schema.Type
	// Default is the value of a setting that is not given, as a flag takes it; empty for none,
	// or where the machine decides.
	Default string
	// Alone is the value of the flag without one; empty where the flag needs a value.
	Alone string
	// Example is a value for the example file, as YAML.
	Example string

	// Path says that the text names a file or a folder. A relative one in the file counts from
	// the folder of the file.
	Path bool
	// Group is a name that settings share which exclude each other.
	Group string
	// Live says that a reload puts a new value into effect. Others wait for a restart.
	Live bool
	// Own says that the value belongs to the daemon of this configuration, such as its socket.
	// It does not count for a run to which a stronger source gives a state folder of its own.
	Own bool
	// Check says what is wrong with a text, beyond its type; nil for nothing.
	Check func(text string) error
	// Read reads a value that is more than words, and returns it as one text in JSON, in which relative paths count from the folder of
	// the file; nil for any other setting. A flag and a variable have the value as YAML.
	Read func(*schema.Node) (text string, ds schema.Diagnostics)
	// Whole returns the type of what Read reads, for the schema of the file: a type made of a Go type takes time at each start.
	Whole func() *schema.Type
}

// FlagName returns the name of the flag, without dashes.
func (s *Setting) FlagName() string {
	return cmp.Or(s.Flag, strings.ReplaceAll(s.Key, "_", "-"))
}

// EnvName returns the name of the variable of the environment.
func (s *Setting) EnvName() string { return cmp.Or(s.Env, prefix+strings.ToUpper(s.Key)) }

// OldFlag returns the name of the flag of the key before, without dashes; empty for none.
func (s *Setting) OldFlag() string { return strings.ReplaceAll(s.Was, "_", "-") }

// oldEnv returns the name of the variable of the key before; empty for none.
func (s *Setting) oldEnv() string {
	if s.Was == "" {
		return ""
	}
	return prefix + strings.ToUpper(s.Was)
}

// Renamed says that a name of a setting has given way to another one.
func Renamed(was, is string) string {
	return was + " is called " + is + " now; the old name still counts"
}

// Table is all settings of a program, in the order in which they are shown.
type Table struct {
	Settings []*Setting
	// Instead maps unknown keys that people may try to the settings to use.
	Instead map[string]string
	// Folder is the key of the setting that names the state folder, and Scratch the key of the
	// setting that asks for a temporary one; see Setting.Own.
	Folder, Scratch string
}

// Get returns the setting of a key, or nil.
func (t *Table) Get(key string) *Setting {
	i := slices.IndexFunc(t.Settings, func(s *Setting) bool { return s.Key == key })
	if i < 0 {
		return nil
	}
	return t.Settings[i]
}

// find returns the setting of a key in a file, or nil. The key before counts too.
func (t *Table) find(key string) *Setting {
	if s := t.Get(key); s != nil {
		return s
	}
	i := slices.IndexFunc(t.Settings, func(s *Setting) bool { return s.Was != "" && s.Was == key })
	if i < 0 {
		return nil
	}
	return t.Settings[i]
}

// Type returns the type of the whole file.
func (t *Table) Type() *schema.Type {
	out := &schema.Type{Kind: schema.KindStruct, Name: "mgmt.yaml", Doc: "The configuration of mgmt."}
	for _, s := range t.Settings {
		typ := *s.Type
		if s.Whole != nil {
			typ = *s.Whole()
		}
		out.Fields = append(out.Fields, &schema.Field{Key: s.Key, Type: &typ, Doc: s.Sentence()})
	}
	return out
}

// Sentence returns the meaning of the setting as a sentence, without the marks of
// flags.
func (s *Setting) Sentence() string {
	text := strings.ReplaceAll(s.Doc, "`", "")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
