package puppet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// The types of the module concat. Their data is all in the catalog, so that a
// concat_file is a file with a content here. A resource of the defined type that made
// them, and that an old catalog may hold by itself, is read the same way.
const (
	concatFile     = "concat_file"
	concatFragment = "concat_fragment"
	concatDefine   = "concat"
	concatPart     = "concat::fragment"
)

const intoFile = "it is a part of the content of its file"

// ofFile returns the rows of the type file with these names.
// The rows are copies, so both types say the same of them.
func ofFile(names ...string) (list []attribute) {
	for _, name := range names {
		if a := fileType.attribute(name); a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// concatRows are the attributes of both names of the type.
// They are made when the package is initialised; Go makes fileType before.
func concatRows() []attribute {
	return append([]attribute{
		{name: "ensure", how: convert, to: "state", note: "`present` and `file`: exists; `absent`"},
		{name: "order", how: convert, to: "content", note: "`alpha` or `numeric`"},
		{name: "ensure_newline", how: convert, to: "content", note: "every fragment ends in an end of line"},
		{name: "format", how: convert, to: "content", note: "`plain`, `yaml`, `json`, `json-pretty`, `json-array` or `json-array-pretty`"},
		{name: "force", how: convert, to: "content", note: "of data, the value of the first fragment that has a key is kept"},
		{name: "tag", how: byEngine, note: "fragments with the same tag belong to it"},
		{name: "warn", how: convert, to: "content", note: "a line above all fragments"},
	}, ofFile("path", "owner", "group", "mode", "replace", "backup", "validate_cmd", "show_diff", "selinux_ignore_defaults",
		"seluser", "selrole", "seltype", "selrange")...)
}

var (
	concatFileType = &kindType{
		name: concatFile, kind: "file", how: convert, finish: finishFile, attributes: concatRows(),
		note: "its content is what the resources `concat_fragment` with its path, its title or its tag are",
	}
	concatType = &kindType{
		name: concatDefine, kind: "file", how: convert, finish: finishFile, attributes: concatRows(),
		note: "where a catalog has it as a resource by itself; otherwise it is a defined type that contains a `concat_file`",
	}
)

// concats finds the fragments of files.
// Each index has the fragments in the order of the catalog. A fragment may be in both.
type concats struct {
	byTarget, byTag map[string][]*resource
	// The reader of fragments of YAML; nil where there is none.
	yaml func([]byte) (*schema.Node, error)
}

// assemble gives every file that is made of fragments its content, as one more
// parameter.
// Catalogs without such files cost one look at each type.
func (c *catalog) assemble(o Options) {
	var x *concats
	for _, r := range c.resources {
		name := identOf(r.typ, "").typ
		if r.container || name != concatFile && name != concatDefine {
			continue
		}
		if x == nil {
			x = c.fragments()
			x.yaml = o.YAML
		}
		if name == concatDefine {
			r.likeDefine()
		}
		x.fill(r)
	}
}

// fragments finds all fragments.
// A fragment that no file takes has no effect.
func (c *catalog) fragments() *concats {
	x := &concats{byTarget: map[string][]*resource{}, byTag: map[string][]*resource{}}
	for _, r := range c.resources {
		if name := identOf(r.typ, "").typ; r.container || name != concatFragment && name != concatPart {
			continue
		}
		if target := r.text("target"); target != "" {
			x.byTarget[target] = append(x.byTarget[target], r)
		}
		if tag := r.text("tag"); tag != "" {
			x.byTag[tag] = append(x.byTag[tag], r)
		}
	}
	return x
}

// likeDefine gives a resource the defaults of the defined type.
// A type has other defaults than the defined type of the same module: the define sets mode 0644
// and sorts as text.
func (r *resource) likeDefine() {
	for name, text := range map[string]string{"mode": "0644", "order": "alpha"} {
		if r.param(name) == nil {
			r.params = append(r.params, param{name: name, value: textNode(r.at, text)})
		}
	}
}

// of returns the fragments of a file, in the order of the catalog.
// A fragment that names the file by its path, by its title and by its tag is in the list once.
func (x *concats) of(r *resource) []*resource {
	list := slices.Clone(x.byTarget[cmp.Or(r.text("path"), r.title)])
	list = append(list, x.byTarget[r.title]...)
	if tag := r.text("tag"); tag != "" {
		list = append(list, x.byTag[tag]...)
	}
	slices.SortFunc(list, func(a, b *resource) int { return cmp.Compare(a.index, b.index) })
	return slices.Compact(list)
}

// fill adds the content, or the paths that it is read from.
// An absent file has no content; a command that checks it has nothing to check.
func (x *concats) fill(r *resource) {
	if ensure := r.text("ensure"); ensure == "absent" {
		r.params = slices.DeleteFunc(r.params, func(p param) bool { return p.name == "validate_cmd" || p.name == "mode" })
		return
	}
	if r.param("ensure") == nil {
		r.params = append(r.params, param{name: "ensure", value: textNode(r.at, "present")})
	}
	r.params = append(r.params, x.content(r))
}

// fragment is one part of a content.
// The order is 10 if nothing is said, as in the module.
type fragment struct {
	*resource
	order, name string
	text        string
	// The path that is read in place of a text. It is empty where there is a text.
	source string
	secret bool
}

// content returns the parameter that says what is in the file.
// A secret in one fragment makes the whole content a secret. The value has the place of the
// file's resource.
func (x *concats) content(r *resource) param {
	out := param{name: "content", made: true, value: &schema.Node{Pos: r.at}}
	parts, err := x.parts(r, &out)
	if out.unread() {
		return out
	}
	if err == nil {
		err = sortFragments(parts, r.text("order") == "alpha")
	}
	if err != nil {
		out.err = err
		return out
	}
	sources := 0
	for _, f := range parts {
		out.secret = out.secret || f.secret
		if f.source != "" {
			sources++
		}
	}
	text, err := "", error(nil)
	switch format := cmp.Or(r.text("format"), "plain"); {
	// The sources are read when the graph runs, so their text can't be merged here.
	case sources > 0 && (sources < len(parts) || format != "plain" || r.text("ensure_newline") == "true"):
		out.foreign = "mgmt joins fragments that have a source only where all have one, and as they are"
	case sources > 0:
		out.name = "fragments"
		paths := make([]string, len(parts))
		for i, f := range parts {
			paths[i] = f.source
		}
		out.value = textsNode(r.at, paths)
		return out
	case format == "plain":
		text = warning(r) + joined(parts)
	default:
		text, err = x.merged(parts, format, r.text("force") == "true")
	}
	if out.err = err; out.secret && err != nil {
		out.err = errors.New("its fragments, of which some are sensitive, can't be merged")
	}
	out.value = textNode(r.at, text)
	return out
}

// parts reads the fragments. Unreadable values are reported in out.
// The first fault ends it, since the content would not be the wanted one.
func (x *concats) parts(r *resource, out *param) ([]fragment, error) {
	newline := r.text("ensure_newline") == "true"
	var list []fragment
	for _, res := range x.of(r) {
		f := fragment{resource: res, order: "10", name: cmp.Or(res.text("name"), res.title)}
		content, source := res.param("content"), res.param("source")
		for _, p := range res.params {
			if p.unread() {
				out.foreign = p.foreign
				if p.err != nil {
					out.err = fmt.Errorf("%s: %s: %w", res.ref(), p.name, p.err)
				}
				return nil, nil
			}
		}
		if order := res.param("order"); order != nil {
			f.order = order.value.Text
		}
		switch {
		case (content == nil) == (source == nil):
			return nil, fmt.Errorf("%s needs a content or a source, and not both", res.ref())
		case content != nil && !isScalar(content.value):
			return nil, fmt.Errorf("the content of %s must be text, not %s", res.ref(), describe(content.value))
		case content != nil:
			f.text, f.secret = content.value.Text, content.secret
			if newline && !strings.HasSuffix(f.text, "\n") {
				f.text += "\n"
			}
		default:
			if f.source = localSource(source); f.source == "" {
				out.foreign = "the source of " + res.ref() + " is no file of this machine"
				return nil, nil
			}
		}
		list = append(list, f)
	}
	return list, nil
}

// localSource returns the path of the one source of a fragment; empty if it is none of
// this machine.
// Puppet takes the first source of a list that is there; only a single one is clear before the
// run.
func localSource(p *param) string {
	list := asList(p.value)
	if p.secret || len(list) != 1 || list[0].Kind != schema.NodeString {
		return ""
	}
	return localPath(list[0].Text)
}

// warning is the line that the defined type puts above all fragments.
// True stands for the module's own line; a text is put there as it is, without a newline of
// ours.
func warning(r *resource) string {
	switch p := r.param("warn"); {
	case p == nil, p.value.Kind == schema.NodeBool && p.value.Text == "false":
		return ""
	case p.value.Kind == schema.NodeBool:
		return "# This file is managed by Puppet. DO NOT EDIT.\n"
	default:
		return p.value.Text
	}
}

// joined puts the fragments together as they are: a newline between them is their own
// matter.
func joined(parts []fragment) string {
	var b strings.Builder
	for _, f := range parts {
		b.WriteString(f.text)
	}
	return b.String()
}

var digits = lazyregexp.New(`^[0-9]+$`)

// sortFragments sorts as the module does. By number, an order that is a number
// comes before the next number, and other orders can't be compared with a number.
func sortFragments(parts []fragment, alpha bool) error {
	if alpha {
		sorted.Stable(parts, func(a, b fragment) int {
			return cmp.Or(strings.Compare(a.order, b.order), strings.Compare(a.name, b.name))
		})
		return nil
	}
	for i := 1; i < len(parts); i++ {
		if digits.MatchString(parts[0].order) != digits.MatchString(parts[i].order) {
			return fmt.Errorf("the orders %s of %s and %s of %s can't be compared as numbers; order => alpha compares them as text",
				quote(parts[0].order), parts[0].ref(), quote(parts[i].order), parts[i].ref())
		}
	}
	sorted.Stable(parts, func(a, b fragment) int {
		return cmp.Or(byNumber(a.order, b.order), byNumber(a.name, b.name))
	})
	return nil
}

// byNumber compares two texts, as numbers where both are.
// Digits of any length are compared without leading zeros: first by their count, then as text.
func byNumber(a, b string) int {
	if digits.MatchString(a) && digits.MatchString(b) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

// merged reads the fragments as data, and writes them as one.
// The format json-array has one item for each fragment; the others merge all into one value.
func (x *concats) merged(parts []fragment, format string, force bool) (string, error) {
	var values []*schema.Node
	for _, f := range parts {
		n, err := readData(format, f.text, x.yaml)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.ref(), err)
		}
		values = append(values, n)
	}
	form, isArray := strings.CutPrefix(format, "json-array")
	if isArray {
		return writeJSON(&schema.Node{Kind: schema.NodeList, Items: values}, form == "-pretty"), nil
	}
	all := &schema.Node{Kind: schema.NodeMap}
	var err error
	for _, v := range values {
		if all, err = mergeData(all, v, force); err != nil {
			return "", err
		}
	}
	switch format {
	case "json", "json-pretty":
		return writeJSON(all, format == "json-pretty"), nil
	case "yaml":
		return writeYAML(all), nil
	default:
		return "", fmt.Errorf("the format is plain, yaml, json, json-pretty, json-array or json-array-pretty, not %s", quote(format))
	}
}

// mergeData puts two values into one: lists are joined, hashes merged key by key.
// With two values of one key the first is kept, by force, or else it is an error.
// An empty value adds nothing, whatever its kind.
func mergeData(a, b *schema.Node, force bool) (*schema.Node, error) {
	switch {
	case hollowData(b):
		return a, nil
	case hollowData(a):
		return b, nil
	case a.Kind == schema.NodeList && b.Kind == schema.NodeList:
		return joinLists(a, b), nil
	case a.Kind == schema.NodeMap && b.Kind == schema.NodeMap:
		return mergeHashes(a, b, force)
	default:
		return nil, errors.New("a fragment is a hash, and another one is none: they can't be merged")
	}
}

// hollowData reports whether a value adds nothing.
func hollowData(n *schema.Node) bool {
	return n.Kind == schema.NodeNull || !isScalar(n) && len(n.Items) == 0 && len(n.Pairs) == 0
}

// joinLists joins two lists without repetitions, in the order of their first places. Items
// are equal where their JSON and their kind are.
// The cost is linear in the size of the lists.
func joinLists(a, b *schema.Node) *schema.Node {
	out := &schema.Node{Kind: schema.NodeList}
	seen := map[string]bool{}
	for _, n := range slices.Concat(a.Items, b.Items) {
		if key := strconv.Itoa(int(n.Kind)) + jsonOf(n); !seen[key] {
			seen[key] = true
			out.Items = append(out.Items, n)
		}
	}
	return out
}

// mergeHashes merges as the type concat_file does: hashes by their keys, lists by joining. Two
// different values of one key are an error, unless force keeps the first one. Neither a nor b
// is altered.
func mergeHashes(a, b *schema.Node, force bool) (*schema.Node, error) {
	out := &schema.Node{Kind: schema.NodeMap, Pairs: slices.Clone(a.Pairs)}
	at := make(map[string]int, len(out.Pairs))
	for i, p := range out.Pairs {
		at[p.Key] = i
	}
	for _, p := range b.Pairs {
		i, both := at[p.Key]
		if !both {
			out.Pairs = append(out.Pairs, p)
			continue
		}
		first := out.Pairs[i].Value
		switch {
		case first.Kind == p.Value.Kind && !isScalar(first) && first.Kind != schema.NodeNull:
			v, err := mergeData(first, p.Value, force)
			if err != nil {
				return nil, err
			}
			out.Pairs[i].Value = v
		case !force && jsonOf(first) != jsonOf(p.Value):
			return nil, fmt.Errorf("two fragments have the key %s with other values; force => true keeps the first one", quote(p.Key))
		}
	}
	return out, nil
}
