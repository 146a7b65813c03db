package puppet

import (
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// rubyYes and rubyNo are the words that are true and false in YAML 1.1, which Ruby reads.
// Psych, the YAML library of Ruby, follows YAML 1.1; our own reader follows 1.2.
var rubyYes, rubyNo = []string{"yes", "Yes", "YES", "on", "On", "ON"}, []string{"no", "No", "NO", "off", "Off", "OFF"}

// yamlWords are texts that Ruby would read as something else.
// It has the forms of null, booleans, times, dates, symbols, floats, whole numbers, sexagesimal
// ones among them, and octal look-alikes. Psych puts such a text in quotes, so that it comes
// back as text.
var yamlWords = lazyregexp.New(`(?i)^(~|null|yes|true|on|no|false|off|\+?\.inf|-\.inf|\.nan)$` +
	`|^-?\d{4}-\d{1,2}-\d{1,2}([Tt]|\s+)\d{1,2}:\d\d:\d\d(\.\d*)?(\s*(Z|[-+]\d{1,2}:?(\d\d)?))?$` +
	`|^\d{4}-(1[012]|0\d|\d)-([12]\d|3[01]|0\d|\d)$` +
	`|^:.` +
	`|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9]){1,2}(\.[0-9_]*)?$` +
	`|^[-+]?([0-9][0-9_,]*)?\.[0-9]+([eE][-+][0-9]+)?$|^[-+]?[0-9][0-9_,]*\.([eE][-+][0-9]+)?$` +
	`|^[-+]?(0b[0-1_,]+|0[0-7_,]+|0|[1-9]([0-9]|,[0-9]|_[0-9])*|0x[0-9a-fA-F_,]+)$` +
	`|^0[0-7]*[89]`)

// Where Ruby quotes a text: it begins with a sign; it can't stand as it is.
var (
	yamlSign  = lazyregexp.New(`(?m)^[^\pL\pM\pN\p{Pc}][^"]*$`)
	yamlPlain = lazyregexp.New("^[\\[\\]{},#&*!|>'\"%@`]|^[-?:]( |$)|^[ ]|[ ]$|:( |$)| #|^(---|\\.\\.\\.)")
)

// writeYAML writes a value as Ruby does.
// The aim is the same bytes that Puppet writes: a file that Puppet has made then needs no
// change.
func writeYAML(n *schema.Node) string {
	w := &yamlWriter{}
	w.b.WriteString("---")
	w.below(n, 0, false)
	if w.b.WriteByte('\n'); w.open {
		w.b.WriteString("...\n")
	}
	return w.b.String()
}

// yamlWriter writes one document. Levels are two spaces deep, and a list is as far in as its
// key.
type yamlWriter struct {
	b    strings.Builder
	open bool // the ends of lines of a literal may go on, for the later text of the library
}

// below writes a value after a key, a dash or the mark of the document; inline says
// that a dash stands before it.
// Block style is used for everything but an empty list or hash. indent counts spaces.
func (w *yamlWriter) below(n *schema.Node, indent int, inline bool) {
	sep := "\n" + strings.Repeat(" ", indent)
	first := sep
	if inline {
		first = " "
	}
	switch {
	case n.Kind == schema.NodeMap && len(n.Pairs) > 0:
		for _, p := range n.Pairs {
			w.b.WriteString(first + w.scalar(textNode(p.Pos, p.Key), indent, true) + ":")
			next := indent + 2
			if p.Value.Kind == schema.NodeList {
				next = indent
			}
			w.below(p.Value, next, false)
			first = sep
		}
	case n.Kind == schema.NodeList && len(n.Items) > 0:
		for _, item := range n.Items {
			w.b.WriteString(first + "-")
			w.below(item, indent+2, true)
			first = sep
		}
	default:
		if text := w.scalar(n, indent, false); text != "" {
			w.b.WriteString(" " + text)
		}
	}
}

// scalar writes a scalar, and notes whether it ended with open line breaks: Ruby then
// leaves out the next one.
func (w *yamlWriter) scalar(n *schema.Node, indent int, key bool) string {
	text := scalarText(n, indent, key)
	if head, _, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(head, "|") {
		w.open = strings.HasSuffix(head, "+")
	}
	return text
}

// scalarText is the text of a scalar as Psych, Ruby's YAML library, writes it. An empty
// list or hash is a scalar for it.
func scalarText(n *schema.Node, indent int, key bool) string {
	switch n.Kind {
	case schema.NodeNull:
		return ""
	case schema.NodeMap:
		return "{}"
	case schema.NodeList:
		return "[]"
	case schema.NodeFloat:
		return rubyFloat(n.Text)
	case schema.NodeString:
		return yamlText(n.Text, indent, key)
	default:
		return n.Text
	}
}

// yamlText writes a text in the style that Ruby chooses.
// The first case that fits decides. A key never stands in a block.
func yamlText(s string, indent int, key bool) string {
	body := strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\n")
	lines := strings.Contains(body, "\n")
	switch {
	case s == "":
		return "''"
	case special(s), strings.Contains(s, " \n"), lines && strings.HasSuffix(s, " "), key && strings.Contains(s, "\n"):
		return rubyYAMLQuoted(s)
	case lines:
		return literal(s, indent)
	case s == "<<":
		return "!!str '<<'"
	case s == "y", s == "n", yamlSign.MatchString(s):
		return rubyYAMLQuoted(s)
	case strings.HasSuffix(s, "\n"):
		pad := strings.Repeat(" ", max(indent, 2))
		return "'" + strings.ReplaceAll(s, "'", "''") + "\n" + pad + "'"
	case yamlWords.MatchString(s), yamlPlain.MatchString(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	default:
		return s
	}
}

// special reports whether a text can only be quoted with escapes.
// Control characters, DEL, the byte order mark and bytes that are not UTF-8 need escapes.
func special(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f || c == utf8.RuneError || c == 0xfeff })
}

// literal writes lines below a bar.
// The sign behind the bar keeps the newlines at the end: - for none, nothing for one, + for
// more. The 2 tells the depth where the text itself begins with white space.
func literal(s string, indent int) string {
	head := "|"
	if s[0] == ' ' || s[0] == '\n' {
		head += "2"
	}
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		head += "-"
	case 1:
	default:
		head += "+"
	}
	pad := strings.Repeat(" ", max(indent, 2))
	var b strings.Builder
	b.WriteString(head)
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(pad + line)
		}
	}
	return b.String()
}

// rubyYAMLQuoted writes a text in double quotes.
// Characters beyond ASCII stay as they are.
func rubyYAMLQuoted(s string) string {
	const short = "0......abtnvfr"
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < rune(len(short)) && short[c] != '.':
			b.WriteString(`\` + short[c:c+1])
		case c == 0x1b:
			b.WriteString(`\e`)
		case c < ' ' || c == 0x7f:
			b.WriteString(`\x` + strings.ToUpper(string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15])))
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// asRuby gives words their meaning of YAML 1.1. A quoted text stays a text. The tree is copied:
// the reader's own stays as it is.
func asRuby(n *schema.Node) *schema.Node {
	out := *n
	switch n.Kind {
	case schema.NodeList:
		out.Items = make([]*schema.Node, len(n.Items))
		for i, item := range n.Items {
			out.Items[i] = asRuby(item)
		}
	case schema.NodeMap:
		out.Pairs = make([]schema.Pair, len(n.Pairs))
		for i, p := range n.Pairs {
			out.Pairs[i] = schema.Pair{Key: p.Key, Pos: p.Pos, Value: asRuby(p.Value)}
		}
	case schema.NodeString:
		for word, list := range map[string][]string{"true": rubyYes, "false": rubyNo} {
			for _, text := range list {
				if n.Text == text && !n.Quoted {
					return &schema.Node{Kind: schema.NodeBool, Text: word}
				}
			}
		}
	case schema.NodeBool:
		out.Text = strings.ToLower(n.Text)
	}
	return &out
}
