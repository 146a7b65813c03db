package puppet

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// What types of modules that edit a file become: kinds of ours that edit one.

// fileLineType is of the module stdlib. The type never makes a file, so create is false.
var fileLineType = &kindType{
	name: "file_line", kind: "line", how: convert,
	note: "the line of stdlib; the end of the last line of a file stays as it is",
	attributes: []attribute{
		{name: "name", how: ignored, note: "the title names it"},
		{name: "path", how: rename, to: "file"},
		{name: "line", how: convert, to: "content", note: "the same; with match_for_absence nothing", do: nothing},
		{name: "ensure", how: convert, to: "state", note: "`present`: exists; `absent`", do: wordsTo("state", presence)},
		{name: "match", how: convert, to: "match", note: "an expression of Ruby, without what RE2 has not; it counts for absence with match_for_absence only"},
		{name: "match_for_absence", how: convert, to: "match", note: "a match is removed"},
		{name: "multiple", how: convert, to: "all_matches, one_match", note: "without it several lines that match are an error"},
		{name: "after", how: convert, to: "below", note: "an expression of Ruby; the line goes below the last match"},
		{name: "replace", how: convert, to: "keep", note: "false leaves a line that matches"},
		{name: "replace_all_matches_not_matching_line", how: convert, to: "if_missing", note: "every line that matches is replaced, also if the line is there"},
		{name: "append_on_no_match", how: convert, to: "no_add", note: "false adds nothing where no line matches"},
		{name: "encoding", how: refused, whole: true, note: "mgmt compares bytes; UTF-8 is fine", do: except(true, "mgmt compares bytes", "utf-8")},
		{name: "provider", how: ignored, note: "there is one"},
	},
	finish: finishFileLine,
}

// nothing leaves an attribute to the type's finish.
// The page of the reference has a row for the attribute all the same.
func nothing(*translation, *param) {}

// finishFileLine joins match, line and ensure, whose meanings depend on each other.
// match_for_absence turns the expression from a place for the line into the lines to
// remove.
func finishFileLine(t *translation) {
	t.put("create", boolNode(t.at, false))
	absent := t.text("ensure") == "absent"
	match, several := t.param("match"), t.isTrue("multiple")
	switch {
	case absent && match != nil && t.isTrue("match_for_absence"):
		t.expression("match", match)
		t.flag("one_match", !several)
		return
	case t.param("line") == nil:
		t.found.Add(t.finding(schema.Error, "line", "it is missing"))
		t.out = true
		return
	}
	t.set("content", t.param("line").value, t.param("line"))
	switch {
	case absent:
		return
	case match != nil:
		t.matched(match, several)
	case several && t.param("after") != nil:
		t.refuse("multiple", "mgmt adds a line once, and not below each line that matches", true)
		return
	}
	if after := t.param("after"); after != nil {
		t.expression("below", after)
		t.flag("one_match", match == nil)
	}
}

// matched says what becomes of lines that match.
// With replace false a matching line stays; with append_on_no_match false nothing is added.
func (t *translation) matched(match *param, several bool) {
	t.expression("match", match)
	all := t.isTrue("replace_all_matches_not_matching_line")
	t.flag("if_missing", !all)
	t.flag("all_matches", several || all)
	t.flag("one_match", !several && !all)
	for name, to := range map[string]string{"replace": "keep", "append_on_no_match": "no_add"} {
		if p := t.param(name); p != nil {
			yes, ok := t.boolean(p)
			t.flag(to, ok && !yes)
		}
	}
}

// flag sets a parameter that is false by itself.
func (t *translation) flag(key string, yes bool) {
	if yes {
		t.put(key, boolNode(t.at, true))
	}
}

// expression sets a regular expression of Ruby.
// RE2 has no lookaround and no back references: such an expression is refused with that reason.
func (t *translation) expression(key string, p *param) {
	text, ok := t.scalar(p)
	if !ok {
		return
	}
	re, err := rubyre.New(text)
	if err != nil {
		t.refuse(p.name, err.Error(), true)
		return
	}
	if plain, err := regexp.Compile(text); err == nil && plain.String() == strings.TrimPrefix(re.Compiled().String(), "(?m)") {
		t.set(key, textNode(t.at, text), p) // the flag makes no difference in one line
		return
	}
	t.set(key, textNode(t.at, re.Compiled().String()), p)
}

// mailaliasType edits one line of the file of aliases. The kind line finds it by the name
// before the colon.
var mailaliasType = &kindType{
	name: "mailalias", kind: "line", how: convert, note: "a line of `/etc/aliases`",
	attributes: []attribute{
		{name: "name", how: convert, to: "match", note: "the title if it is not given"},
		{name: "ensure", how: convert, to: "state", note: "`present`: exists; `absent`", do: wordsTo("state", presence)},
		{name: "recipient", how: convert, to: "content", note: "one or a list"},
		{name: "file", how: convert, to: "content", note: "`:include:` and the path"},
		{name: "target", how: convert, to: "file", note: "`/etc/aliases` if it is not given"},
		{name: "provider", how: ignored, note: "there is one"},
	},
	finish: finishMailalias,
}

// quotedAlias is a recipient that has to stand in quotes.
// A pipe, a path and a blank are such characters.
var quotedAlias = lazyregexp.New(`[^-+\w@.]`)

// finishMailalias makes an alias a line of its file, found by the name before the colon.
// The recipients are joined to one line, as newaliases reads them.
func finishMailalias(t *translation) {
	name := cmp.Or(t.text("name"), t.title)
	t.name = t.ref()
	t.put("file", textNode(t.at, cmp.Or(t.text("target"), "/etc/aliases")))
	t.put("match", textNode(t.at, "^"+regexp.QuoteMeta(name)+`\s*:`))
	if t.text("ensure") == "absent" {
		return
	}
	recipient, file := t.param("recipient"), t.param("file")
	switch {
	case (recipient == nil) == (file == nil):
		t.found.Add(t.finding(schema.Error, "recipient", "an alias needs a recipient or a file, and not both"))
		t.out = true
	case file != nil:
		path, _ := t.scalar(file)
		t.set("content", textNode(t.at, name+": :include: "+path), file)
	default:
		list, _ := t.scalars(recipient)
		for i, r := range list {
			if quotedAlias.MatchString(r) {
				list[i] = `"` + r + `"`
			}
		}
		t.set("content", textNode(t.at, name+": "+strings.Join(list, ",")), recipient)
	}
}

// sysctlConf is the file of the type sysctl that has val.
const sysctlConf = "/etc/sysctl.conf"

// The types of sysctl that are about one of the two values: that of the file, which has
// val, and that of the kernel. A resource with value is the kind sysctl, as it is.
var sysctlFileType = &kindType{
	name: "sysctl", kind: "sysctl", how: same,
	note: "with `val` only the file is altered, `/etc/sysctl.conf` if target does not say another one; otherwise its attributes are the parameters of the kind",
	attributes: []attribute{
		{name: "name", how: rename, to: "key"},
		{name: "ensure", how: convert, to: "state", note: "`present`: exists; `absent`", do: wordsTo("state", presence)},
		{name: "val", how: rename, to: "value"},
		{name: "target", how: rename, to: "path"},
		{name: "provider", how: ignored, note: "there is one"},
	},
	finish: func(t *translation) {
		if t.param("val") == nil {
			return
		}
		t.put("runtime", boolNode(t.at, false))
		if t.param("target") == nil {
			t.put("path", textNode(t.at, sysctlConf))
		}
	},
}

// sysctlRuntimeType writes no file, so the value is gone with the next start of the machine
// unless another resource keeps it.
var sysctlRuntimeType = &kindType{
	name: "sysctl_runtime", kind: "sysctl", how: convert, note: "the value in the kernel alone",
	attributes: []attribute{
		{name: "name", how: convert, to: "key", note: "the title if it is not given"},
		{name: "val", how: rename, to: "value"},
	},
	finish: func(t *translation) {
		t.put("key", textNode(t.at, cmp.Or(t.text("name"), t.title)))
		t.name = t.ref()
		t.put("persist", boolNode(t.at, false))
	},
}
