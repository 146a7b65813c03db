package expand

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// # How a secret stays one
//
// The function secret is the only way from a source into an expression. It sets Graph.touched when it is called, so the value in
// hand is known for one that was made from a secret, whatever functions and text are around it. Such a value becomes a node whose
// text findings do not show, and its parameter is marked by the metaparameter secret. The rest of the program hides marked
// parameters. A branch of an expression that does not call the function gives a value without a mark: it has nothing of the secret.
// A condition on a secret calls it, so both outcomes are marked.
//
// Where a value is shown to everybody, Graph.allowed is false, and the function fails.

// IsOwnKey reports whether a key of a resource begins as the ones that Expand adds. No author may write such a key, and OwnKeyText says so.
// Expand refuses it in documents that compute; all other documents are their reader's business.
func IsOwnKey(key string) bool { return strings.HasPrefix(key, "\x00") }

// OwnKeyText is the finding about a key that IsOwnKey names.
const OwnKeyText = `the key of a resource can't begin with the character \0`

// Unread is a key that Expand adds to a resource with a parameter that is made from a secret that can't be read here, or that depends on
// something of the store that can't. Its value names that. The parameter has a text that stands for the value. No author writes this key.
const Unread = "\x00unread"

// Hidden is a key that Expand adds to a resource with a parameter that is made from secrets. Its value is the list of them: the
// parameter may have a secret in the middle of other text, and a command that prints the secret alone must be known. No author
// writes this key.
const Hidden = "\x00hidden"

// unknownText stands for a value that is made from a secret that can't be read here.
const unknownText = "(unknown)"

// vault is one source of secrets, as the key secrets names it.
type vault struct {
	pos    schema.Pos
	file   string            // encrypted values with readable keys, or a file of sops; else empty
	sops   bool              // file is one of sops
	argv   []string          // a program that prints secrets; nil for another source
	dir    string            // where argv runs
	values map[string]string // of a command that prints one secret, by name
	failed map[string]error  // of a program: by name, or for all secrets together by the empty name
	root   *schema.Node      // the content of file, nil where it could not be read
}

// shown are the keys of a resource that everybody sees, so that no secret may stand in them.
var shown = []string{"name", "meta", "before", "depend", "notify", "listen", "recv", whenKey, forEachKey}

// keyring has the sources of secrets of one graph. A module has a keyring of its own.
//
// # Laws
//
//   - The sources are asked in their order, and the first source with the secret answers.
//   - A file is read once, and a program runs once for each question. No error has a part of a clear text.
//   - A test's secrets take the place of all sources.
type keyring struct {
	opts    *Options
	inputs  *inputs
	found   *findings
	sources []vault
}

// declare reads the key secrets of a document. The sources of all documents are asked, in the order of the documents.
func (k *keyring) declare(d *Document, n *schema.Node) {
	if n.Kind != schema.NodeList {
		k.found.errorf(n.Pos, "secrets is a list of sources, such as [{age: secrets.yaml}, {credentials: true}]")
		return
	}
	for _, item := range n.Items {
		if item.Kind != schema.NodeMap || len(item.Pairs) != 1 {
			k.found.errorf(item.Pos, "a source of secrets has one key: age or sops with a file, credentials: true, or command with a list")
			continue
		}
		switch p := item.Pairs[0]; {
		case (p.Key == "age" || p.Key == "sops") && p.Value.Kind == schema.NodeString && p.Value.Text != "":
			k.sources = append(k.sources, vault{pos: p.Value.Pos, file: within(d.Dir, p.Value.Text), sops: p.Key == "sops"})
		case p.Key == "command" && p.Value.Kind == schema.NodeList && len(p.Value.Items) > 0:
			v := vault{pos: p.Value.Pos, dir: d.Dir}
			for _, n := range p.Value.Items {
				v.argv = append(v.argv, n.Text)
			}
			k.sources = append(k.sources, v)
		case p.Key == "credentials" && p.Value.Kind == schema.NodeBool && strings.EqualFold(p.Value.Text, "true"):
			k.sources = append(k.sources, vault{pos: p.Pos})
		default:
			k.found.errorf(p.Pos, "%q is no source of secrets: write age or sops with the path of a file, credentials: true, or command with a list", p.Key)
		}
	}
}

// errShown is the error of a secret where everybody would see it.
var errShown = errors.New("a secret may stand only in a parameter of a resource, or in an input or an output of a module: names, conditions, loops and references are shown")

// secret is the function of expressions. It notes that the value in hand has a secret in it, whatever is computed from it.
func (g *Graph) secret(args []any) (any, error) {
	name := args[0].(string)
	if !g.allowed {
		return nil, errShown
	}
	text, known, err := g.late.recalled(secretOf{g, name})
	if err == nil && !known {
		text, err = g.keys.find(name)
	}
	if _, unread := errors.AsType[*unreadError](err); unread {
		g.Lacking = true
	}
	if missing := (*keylessError)(nil); g.opts.Blind && errors.As(err, &missing) {
		g.unread = cmp.Or(g.unread, "the secret "+name)
		text, err = unknownText, nil
	}
	if err != nil {
		return nil, err
	}
	g.late.noteSecret(secretOf{g, name}, text)
	g.touched = true
	if text != unknownText && !slices.Contains(g.hidden, text) {
		g.hidden = append(g.hidden, text)
	}
	return text, nil
}

// find asks the sources for a secret, one after the other.
func (k *keyring) find(name string) (string, error) {
	if k.opts.Secret != nil {
		return known(name, k.opts.Secret)
	}
	if len(k.sources) == 0 {
		return "", fmt.Errorf("there is no secret %q: the graph names no source of secrets, which the key secrets does", name)
	}
	for i := range k.sources {
		v := &k.sources[i]
		text, there, err := k.ask(v, name)
		if there || err != nil {
			return text, err
		}
	}
	if k.opts.Credentials == "" && slices.ContainsFunc(k.sources, isCredentials) {
		return "", &keylessError{fmt.Errorf("there is no secret %q in %s; systemd gives credentials to the daemon only", name, k.names())}
	}
	message := fmt.Sprintf("there is no secret %q in %s", name, k.names())
	if near := schema.Nearest(name, sortedKeys(k.all())); near != "" {
		message += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return "", errors.New(message)
}

// keylessError tells that a secret is there, or may be there, and that this process can't read it.
type keylessError struct{ error }

// Unwrap gives the reason, so that callers find it by its type.
func (e *keylessError) Unwrap() error { return e.error }

// unreadError tells that a file of secrets can't be read, which was reported. So the graph is not whole.
type unreadError struct{ file string }

// Error names the file.
func (e *unreadError) Error() string { return "the secrets of " + e.file + " can't be read" }

// known asks a test for a secret. The sources of the graph are not read then: a test needs no identity.
func known(name string, ask func(string) (string, bool)) (string, error) {
	text, ok := ask(name)
	if !ok {
		return "", fmt.Errorf("the test has no secret %q: write it under secrets", name)
	}
	return text, nil
}

// names names the sources for a message. Where a secret is missing, its author wants to know which files to look into.
func (k *keyring) names() string {
	var names []string
	for _, v := range k.sources {
		switch {
		case v.argv != nil:
			names = append(names, "the command "+v.argv[0])
		case v.file == "":
			names = append(names, "the credentials of systemd")
		default:
			names = append(names, v.file)
		}
	}
	return strings.Join(names, ", ")
}

// ask looks a secret up in one source. The key of a value in a map has the keys on the way to it, with a slash between
// them. A file is read once for each computation, and watched.
func (k *keyring) ask(v *vault, name string) (text string, there bool, err error) {
	switch {
	case v.argv != nil || v.sops:
		return k.askProgram(v, name)
	case v.file == "":
		return k.credential(name)
	}
	if v.root == nil {
		root, ok := k.inputs.document(v.file, v.pos, false, k.found)
		if !ok {
			return "", false, &unreadError{v.file}
		}
		if v.root = root; root == nil {
			return "", false, fmt.Errorf("the secrets of %s can't be read", v.file)
		}
	}
	n := v.root
	for key := range strings.SplitSeq(name, "/") {
		if n = n.Get(key); n == nil {
			return "", false, nil
		}
	}
	switch {
	case n.Kind != schema.NodeString || !strings.HasPrefix(n.Text, "ENC["):
		return "", true, fmt.Errorf("%s: the value of %s is not encrypted: mgmt secret encrypt does that", n.Pos, name)
	case k.opts.Unseal == nil:
		return "", true, &keylessError{fmt.Errorf("the secret %s can't be read: no identity is given, which --identity FILE does", name)}
	}
	if text, err = k.opts.Unseal(n.Text); err != nil {
		return "", true, fmt.Errorf("%s: the secret %s can't be read: %w", n.Pos, name, err)
	}
	return text, true, nil
}

// credential reads a credential of systemd. A name with a folder in it is none.
func (k *keyring) credential(name string) (text string, there bool, err error) {
	if k.opts.Credentials == "" || name != filepath.Base(name) || name == ".." || name == "." {
		return "", false, nil
	}
	path := filepath.Join(k.opts.Credentials, name)
	src, err := k.inputs.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", true, fmt.Errorf("can't read the credential %s: %w", name, safepath.WithoutPath(err))
	}
	return strings.TrimSuffix(string(src), "\n"), true, nil
}

// tainted returns the node of a value that was computed from a secret. Findings do not show its texts.
func tainted(v any, pos schema.Pos) (*schema.Node, error) {
	switch v := v.(type) {
	case string:
		n, err := schema.NodeOf(schema.NewSecret(v))
		if err != nil {
			return nil, err
		}
		hidden := *n
		hidden.Pos = pos
		return &hidden, nil
	case []any:
		out := &schema.Node{Kind: schema.NodeList, Pos: pos}
		for _, item := range v {
			n, err := tainted(item, pos)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, n)
		}
		return out, nil
	case map[string]any:
		out := &schema.Node{Kind: schema.NodeMap, Pos: pos}
		for _, key := range sortedKeys(v) {
			n, err := tainted(v[key], pos)
			if err != nil {
				return nil, err
			}
			out.Pairs = append(out.Pairs, schema.Pair{Key: key, Pos: pos, Value: n})
		}
		return out, nil
	}
	return nil, errors.New("a value that is made from a secret must be text, or a list or a map of texts: write string(...)")
}

// hiddenFault stands for the error of an expression that has read a secret: its words may have a part of that.
const hiddenFault = "the value can't be computed from the secret; the reason is not shown, since it may have a part of the secret"

// parameters computes the parameters of a resource. Those that were made from a secret are marked by the metaparameter secret, so
// that no log, plan, status or history shows them.
func (f *frame) parameters(item *schema.Node) *schema.Node {
	out := *item
	out.Pairs = make([]schema.Pair, 0, len(item.Pairs))
	var marks []*schema.Node
	outer, unread, hidden := f.g.touched, f.g.unread, f.g.hidden
	f.g.unread, f.g.hidden = "", nil
	same := true
	for _, p := range item.Pairs {
		if IsOwnKey(p.Key) {
			f.g.errorf(p.Pos, OwnKeyText)
			same = false
			continue
		}
		if expr.Has(p.Key) {
			f.g.errorf(p.Pos, "an expression can't stand in a key: a map as a whole may be one")
		}
		f.g.allowed, f.g.touched = !slices.Contains(shown, p.Key), false
		sent := f.sentParameter(p)
		var v *schema.Node
		ok := true
		if sent == nil {
			v, ok = f.node(p.Value)
		}
		if f.g.touched {
			marks = append(marks, &schema.Node{Kind: schema.NodeString, Quoted: true, Text: p.Key, Pos: p.Pos})
		}
		same = same && v == p.Value
		switch {
		case sent != nil:
			out.Pairs = append(out.Pairs, *sent)
		case ok:
			p.Value = v
			out.Pairs = append(out.Pairs, p)
		}
	}
	if f.g.unread != "" {
		out.Pairs = append(out.Pairs, schema.Pair{Key: Unread, Pos: item.Pos, Value: &schema.Node{Kind: schema.NodeString, Quoted: true, Text: f.g.unread, Pos: item.Pos}})
	}
	if n, err := tainted(anyTexts(f.g.hidden), item.Pos); err == nil && len(n.Items) > 0 {
		out.Pairs = append(out.Pairs, schema.Pair{Key: Hidden, Pos: item.Pos, Value: n})
	}
	f.g.allowed, f.g.touched, f.g.unread, f.g.hidden = false, outer, unread, hidden
	if same {
		return item
	}
	if len(marks) > 0 {
		out.Pairs = withMarks(out.Pairs, marks, item.Pos)
	}
	return &out
}

// anyTexts returns texts as a list of plain values.
func anyTexts(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// withMarks adds marks to the metaparameter secret. Marks of the author stay in front. The metaparameter may be one text
// or a list, and meta may be missing.
func withMarks(pairs []schema.Pair, marks []*schema.Node, pos schema.Pos) []schema.Pair {
	secret := schema.Pair{Key: "secret", Pos: pos, Value: &schema.Node{Kind: schema.NodeList, Pos: pos, Items: marks}}
	at := slices.IndexFunc(pairs, func(p schema.Pair) bool { return p.Key == "meta" })
	if at < 0 {
		return append(pairs, schema.Pair{Key: "meta", Pos: pos, Value: &schema.Node{Kind: schema.NodeMap, Pos: pos, Pairs: []schema.Pair{secret}}})
	}
	meta := *pairs[at].Value
	meta.Pairs = slices.Clone(meta.Pairs)
	i := slices.IndexFunc(meta.Pairs, func(p schema.Pair) bool { return p.Key == "secret" })
	switch {
	case i < 0:
		meta.Pairs = append(meta.Pairs, secret)
	case meta.Pairs[i].Value.Kind == schema.NodeList:
		list := *meta.Pairs[i].Value
		list.Items = slices.Concat(list.Items, marks)
		meta.Pairs[i].Value = &list
	default:
		list := *secret.Value
		list.Items = append([]*schema.Node{meta.Pairs[i].Value}, marks...)
		meta.Pairs[i].Value = &list
	}
	pairs[at].Value = &meta
	return pairs
}
