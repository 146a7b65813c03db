package entries

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/inifile"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

func init() { provided.Register("ini_setting", iniKind) }

func iniKind() (*provider.Kind, error) {
	return provider.New(iniDefinition(), func() provider.Provider { return iniSettings{seen: map[iniFile]iniSeen{}} }, provider.Rooted("validate"))
}

// Settings can not be listed, since every file may have some.
// iniDefinition makes the dialect a part of the name. Otherwise two resources could read one line
// in two ways, and both would believe that it is theirs.
func iniDefinition() provider.Definition {
	return provider.Definition{
		Name: "ini_setting",
		Doc: `One setting in a file of sections, as many programs have them, whatever else is in the file.

All other lines stay as they are, byte for byte. A new setting goes below the line that has it commented out, else to the end of its
section; a section that is missing is added at the end of the file. The file is replaced at once, and made if it is missing,
readable by everyone; a ` + "`file`" + ` resource says what its mode is. Where none does, a file that gets a secret is made, or
becomes, one of mode 0600. If the setting stands in its section
several times, the last one counts, and is the only one left when it is altered.

The title is any text where path, section and setting are given, or ` + "`/etc/app.ini [main] port`" + `. A value is one line: it is
written as it is, without quotes.`,
		Attributes: []provider.Attribute{
			{Name: "path", Type: `Pattern[/\A\/[^\n]*\z/]`, Role: provider.Namevar, Doc: "The file."},
			{Name: "section", Lend: schema.LendValue, Type: `Pattern[/\A[^\n\r]*\z/]`, Role: provider.Namevar, Doc: "The section; empty for the part before the first one."},
			{Name: "setting", Lend: schema.LendValue, Type: `Pattern[/\A[^\n\r]+\z/]`, Role: provider.Namevar, Doc: "The name of the setting."},
			{Name: "key_val_separator", Lend: schema.LendValue, Type: "String", Role: provider.Namevar, Doc: "The text between the setting and its value; empty for = with a blank on each side. Blanks around it may differ in the file."},
			{Name: "section_prefix", Lend: schema.LendValue, Type: "String", Role: provider.Namevar, Doc: "The text before the name of a section; empty for [ (and none, if there is a suffix)."},
			{Name: "section_suffix", Lend: schema.LendValue, Type: "String", Role: provider.Namevar, Doc: "The text behind the name of a section; empty for ] (and none, if there is a prefix)."},
			{Name: "ensure", Lend: schema.LendValue, Type: provided.EnsureType, Default: provided.Present, HasDefault: true, Doc: "Whether the setting is there."},
			{Name: "value", Lend: schema.LendValue, Type: `Optional[Pattern[/\A[^\n\r]*\z/]]`, Doc: "The value. A value that is received from a secret is shown nowhere."},
			{Name: "secret", Lend: schema.LendValue, Type: `Optional[String]`, Sensitive: true, Doc: "The value, in place of value, if it must not be shown."},
			{Name: "indent", Lend: schema.LendValue, Type: `Pattern[/\A[ \t]*\z/]`, Role: provider.Parameter, Default: "", HasDefault: true, Doc: "Blanks before a setting that is added."},
			{Name: "validate", Type: "Optional[String[1]]", Role: provider.Parameter, Doc: "Command that checks the new file before it replaces the old one: % in it stands for the path of a copy of the new file, which comes last if there is none. No shell runs it. If it fails, the old file stays."},
		},
		TitlePatterns: []provider.TitlePattern{
			{Pattern: `\A(?<path>\/.*?) \[(?<section>.*)\] (?<setting>[^\]]+) with "(?<key_val_separator>.*)" "(?<section_prefix>.*)" "(?<section_suffix>.*)"\z`},
			{Pattern: `\A(?<path>\/.*?) \[(?<section>.*)\] (?<setting>[^\]]+)(?<key_val_separator>)(?<section_prefix>)(?<section_suffix>)\z`},
			{Pattern: `\A(?<key_val_separator>)(?<section_prefix>)(?<section_suffix>)`, Doc: "Any other text, with path, section and setting as own parameters."},
		},
		Require:  []provider.Relation{{Kind: "file", Titles: []string{"$path"}}},
		Features: provider.Find | provider.CustomInSync | provider.Collectable,
	}
}

// iniSettings is the provider of ini_setting. In its short life it reads each file
// once for each state in which it finds it. The zero value reads each time.
type iniSettings struct{ seen map[iniFile]iniSeen }

// iniFile is a file as a dialect reads it.
// Two dialects of one file are read and written apart.
type iniFile struct {
	path  string
	style inifile.Style
	check string // validate, where it is edited
}

// iniSeen is a parsed text, and the look at its file by which a later change is noticed.
type iniSeen struct {
	stat atomicfile.Stat
	text *inifile.File
}

// iniName is what a Name of an ini_setting holds.
type iniName struct{ path, section, setting, separator, prefix, suffix string }

// iniNameOf expects the values in the order of the definition.
func iniNameOf(n provider.Name) iniName {
	v := n.Values()
	return iniName{v[0], v[1], v[2], v[3], v[4], v[5]}
}

// style is the dialect that the name says.
// Empty attributes mean the usual dialect: [section] and name = value.
func (n iniName) style() inifile.Style {
	s := inifile.Style{Separator: cmp.Or(n.separator, inifile.Usual.Separator), Prefix: n.prefix, Suffix: n.suffix}
	if n.prefix == "" && n.suffix == "" {
		s.Prefix, s.Suffix = inifile.Usual.Prefix, inifile.Usual.Suffix
	}
	return s
}

func (n iniName) record() provider.Record {
	title := fmt.Sprintf("%s [%s] %s", n.path, n.section, n.setting)
	if n.separator+n.prefix+n.suffix != "" {
		title += fmt.Sprintf(` with "%s" "%s" "%s"`, n.separator, n.prefix, n.suffix)
	}
	return provider.Record{"title": title, "path": n.path, "section": n.section, "setting": n.setting,
		"key_val_separator": n.separator, "section_prefix": n.prefix, "section_suffix": n.suffix}
}

// Get is not called: settings can't be listed.
// The feature Find makes the engine ask for one name at a time.
func (iniSettings) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(func(provider.Record, error) bool) {}
}

// Find reads one setting. Where it is there several times with values that differ, it
// has none.
func (i iniSettings) Find(_ context.Context, rt *provider.Runtime, name provider.Name) (provider.Record, bool, error) {
	n := iniNameOf(name)
	file, err := i.load(safepath.Of(rt.Host), iniFile{path: n.path, style: n.style()})
	if err != nil {
		return nil, false, err
	}
	values := file.Values(n.section, n.setting)
	if len(values) == 0 {
		return nil, false, nil
	}
	var found []provider.Record
	for _, v := range values {
		r := n.record()
		r["ensure"], r["value"] = provided.Present, v
		found = append(found, r)
	}
	return provided.Common(found), true, nil
}

// load reads a file, unless it is as it was.
// A file counts as unchanged when size, times and number of its inode are the same.
// A missing file is not remembered. A parsed text is shared between calls of Find, which only read
// it; Set parses its own.
func (i iniSettings) load(by safepath.Walker, of iniFile) (*inifile.File, error) {
	t, err := textfile.By(by, of.path, 0)
	if err != nil {
		return nil, err
	}
	if st, err := t.Lstat(); err == nil && i.seen[of].stat == st {
		return i.seen[of].text, nil
	}
	text, st, err := t.Read()
	if err != nil {
		return nil, err
	}
	file := inifile.Parse(text, of.style)
	if st != nil && i.seen != nil {
		i.seen[of] = iniSeen{*st, file}
	}
	return file, nil
}

// InSync compares a secret with the value, which may or may not be secret: where all values were
// secrets, none would be shown. A secret in a file that others may use is not as it should be.
func (iniSettings) InSync(_ context.Context, rt *provider.Runtime, _ provider.Name, attribute string, is, should provider.Record) (provider.Answer, string, error) {
	secret := attribute == "secret" || attribute == "value" && rt.IsSecret("value")
	switch {
	case !secret:
		return provider.Default, "", nil
	case is["value"] != provided.Reveal(should[attribute]):
		return provider.OutOfSync, "", nil
	}
	t, err := textfile.By(safepath.Of(rt.Host), provided.Str(should, "path"), 0)
	if err != nil {
		return provider.OutOfSync, "", err
	}
	t.Private = !files.OfHost(rt.Host).HasMode(provided.Str(should, "path"))
	if st, err := t.Lstat(); err == nil && t.Open(&st) {
		return provider.OutOfSync, "others may use the file", nil
	}
	return provider.InSync, "", nil
}

// Set edits each file once for each dialect.
// Two dialects of one file make two writes, each with a check by the validator.
func (i iniSettings) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	clear(i.seen) // two writes may fall into one tick of the file's clock
	for of, group := range provided.Groups(changes, func(c provider.Change) iniFile {
		n := iniNameOf(c.Name)
		s := n.style()
		s.Indent = provided.Str(c.Should, "indent")
		return iniFile{n.path, s, provided.Str(c.Should, "validate")}
	}) {
		t, err := textfile.By(safepath.Of(rt.Host), of.path, iniMode(group))
		t.Private = t.Mode == files.PrivateMode && !files.OfHost(rt.Host).HasMode(of.path)
		t.Asked = command.Checking{Validator: command.ValidatorOf(of.check), Context: ctx, Host: rt.Host, Secret: t.Mode == files.PrivateMode}
		parse := func(text string) *inifile.File { return inifile.Parse(text, of.style) }
		provided.EditAll(rt.Log, t, err, group, parse, iniPut)
	}
	return nil
}

// Files says in which file the setting is.
func (iniSettings) Files(wanted provider.Record) []string {
	return []string{provided.Str(wanted, "path")}
}

// iniMode is the mode of a file that is made.
// Mode 0600 is for a file that gets a secret, 0644 for any other.
// A resource that only removes does not make a file private.
func iniMode(changes []provider.Change) int {
	for _, c := range changes {
		if c.Should["ensure"] != provided.Absent && (provided.Manages(c.Should, "secret") || slices.Contains(c.Secret, "value")) {
			return files.PrivateMode
		}
	}
	return 0o644
}

// iniPut makes one change.
// An error leaves the text as it was, for the other changes of the group.
func iniPut(f *inifile.File, c provider.Change) error {
	n := iniNameOf(c.Name)
	if c.Should["ensure"] == provided.Absent {
		f.Remove(n.section, n.setting)
		return nil
	}
	value, err := iniValue(f, n, c.Should)
	if err != nil {
		return err
	}
	return f.Set(inifile.Setting{Section: n.section, Name: n.setting, Value: value})
}

// iniValue is the value that a setting shall have.
// Without a value the present one stays; a new setting is then empty.
func iniValue(f *inifile.File, n iniName, should provider.Record) (string, error) {
	switch {
	case provided.Manages(should, "value") && provided.Manages(should, "secret"):
		return "", fmt.Errorf("value and secret exclude each other")
	case provided.Manages(should, "secret"):
		return provided.Reveal(should["secret"]), nil
	case provided.Manages(should, "value"):
		return provided.Str(should, "value"), nil
	}
	if values := f.Values(n.section, n.setting); len(values) > 0 {
		return values[len(values)-1], nil
	}
	return "", nil
}
