package expand

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// ModuleFile is the file that makes a folder a module.
const ModuleFile = "module.yaml"

// ModuleKeys are the keys at the top of a module that a graph does not have.
var ModuleKeys = []string{"module", "inputs", "outputs"}

// The bounds of modules that use modules: a few small files can ask for more instances than any machine has room for, and a
// folder may have many names by links, so its path alone does not show a circle.
const (
	maxDepth     = 32
	maxInstances = 10_000
)

// Instance is a module that a graph uses, under a name.
type Instance struct {
	Name  string
	Graph *Graph // of the module, with the inputs of this instance
	Doc   *Document

	pos     schema.Pos     // of the entry of use
	outputs map[string]any // by name
	types   map[string]expr.Type
	taints  map[string]*taint // of the outputs that were made from a secret
	proofs  proofs            // on which the instance depends, its outputs included
	told    schema.Pos        // of a fault, for an instance without outputs; else zero
	leftOut bool              // by its condition: it has neither resources nor outputs
}

// instances are the modules that one graph uses, in the order of the key use.
//
// # Laws
//
//   - An instance sees the outputs of those before it. Its name is unique in its graph.
//   - An instance with a fault has no outputs. The fault is told once: an expression that reads them adds none.
//   - An instance that its condition leaves out has neither resources nor outputs, without a finding.
type instances []*Instance

// Instances returns the modules that a graph uses, each followed by the modules that it uses itself. It is called after Start.
func (g *Graph) Instances() (all []*Instance) {
	for _, i := range g.instances {
		if i.Graph != nil {
			all = append(append(all, i), i.Graph.Instances()...)
		}
	}
	return all
}

// Path returns the name of an instance behind those of the instances around it, such as web.tls; empty for a graph that is none.
func (g *Graph) Path() string {
	if g.parent == nil || g.parent.instance == "" {
		return g.instance
	}
	return g.parent.Path() + "." + g.instance
}

// Instance returns an instance by its name: the graph's own, or else one of the graph around it. If there is none, near is the name that was
// probably meant.
func (g *Graph) Instance(name string) (i *Instance, near string) {
	var known []string
	for at := g; at != nil; at = at.parent {
		for _, i := range at.instances {
			if i.Name == name {
				return i, ""
			}
			known = append(known, i.Name)
		}
	}
	return nil, schema.Nearest(name, known)
}

// useModules makes the instances of the documents, in their order: an instance sees the outputs of those before it.
func (g *Graph) useModules(declared map[string]expr.Type) {
	for _, d := range g.entered {
		n := d.Root.Get("use")
		if n == nil {
			continue
		}
		if n.Kind != schema.NodeList {
			g.errorf(n.Pos, "use must be a list of modules, such as - {module: ./modules/nginx, name: front}")
			continue
		}
		for _, item := range n.Items {
			words := map[string]bool{}
			if wordsOf(item, words); words["module"] {
				g.nameModules(declared, g.among(words))
			}
			g.use(d, item)
		}
	}
	g.nameModules(declared, g.instances)
}

// wordsOf collects the words of the expressions in an entry of use.
func wordsOf(n *schema.Node, words map[string]bool) {
	if expr.Has(n.Text) {
		for w := range strings.FieldsFuncSeq(n.Text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			words[w] = true
		}
	}
	for _, item := range n.Items {
		wordsOf(item, words)
	}
	for _, p := range n.Pairs {
		wordsOf(p.Value, words)
	}
}

// fewInstances is up to how many instances an entry of use gets into its scope without a look at what it names.
const fewInstances = 50

// among returns the instances that an entry of use with these words may read. A scope costs time and memory by the number of what is
// in it, so among many entries each one gets those alone that it names. One that names another gets no suggestion then.
func (g *Graph) among(words map[string]bool) instances {
	if len(g.instances) <= fewInstances {
		return g.instances
	}
	var some instances
	for w := range words {
		some = append(some, g.instancesOf(w)...)
	}
	return some
}

// whole reports whether an expression reads module as a whole.
func (g *Graph) whole(p *expr.Program) bool {
	return slices.ContainsFunc(p.Reads(), func(in expr.Input) bool { return in.Name == "module" && in.Field == "" })
}

// nameModules puts instances and the inputs of the graph into its scope.
func (g *Graph) nameModules(declared map[string]expr.Type, some instances) {
	g.some = len(some) < len(g.instances)
	// A graph has no name and no inputs, so an instance may not take these words: see wrongInstance.
	values, fields := map[string]any{}, map[string]expr.Type{}
	if g.parent != nil {
		inputs, types := map[string]any{}, map[string]expr.Type{}
		for name, v := range g.given {
			inputs[name], types[name] = v.value, v.typ
		}
		values["name"], fields["name"] = g.instance, expr.Text
		values["inputs"], fields["inputs"] = inputs, expr.Object("inputs of the module", types)
	}
	for _, i := range some {
		values[i.Name], fields[i.Name] = i.outputs, expr.Object("module."+i.Name, i.types)
		// Of an instance with a fault that was told, and of one that is left out, anything may be asked.
		if !i.told.IsZero() || i.leftOut {
			fields[i.Name] = expr.Type{}
		}
	}
	if len(fields) == 0 && !g.some {
		return
	}
	g.names["module"], declared["module"] = values, expr.Object("module", fields)
	g.scoped(declared)
}

// use makes the instances of one entry: one, or one for each turn of a loop.
func (g *Graph) use(d *Document, n *schema.Node) {
	if n.Kind != schema.NodeMap {
		g.errorf(n.Pos, "an entry of use is a map with the key module, not %s", n.Describe())
		return
	}
	// Unknown keys are told with everything else: a wrong one may stand for any of these.
	keys := []string{"module", "name", "with", whenKey, forEachKey}
	for _, p := range n.Pairs {
		if !slices.Contains(keys, p.Key) {
			g.add(schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("unknown key %q in use", p.Key), Suggestion: schema.Nearest(p.Key, keys)})
		}
	}
	folder := n.Get("module")
	if folder == nil || folder.Kind != schema.NodeString || folder.Text == "" || expr.Has(folder.Text) {
		g.errorf(n.Pos, "an entry of use names the folder of a module, such as module: ./modules/nginx")
		return
	}
	loop := n.Get(forEachKey)
	if loop == nil {
		g.turnOfUse(g.top(), d, n, nil)
		return
	}
	var turns []turnOf
	var each expr.Type
	var ok bool
	read := g.apart(func() { turns, each, ok = g.top().turns(loop) })
	scope, err := g.current().With(map[string]expr.Type{"each": each})
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	// A loop may have no turn at all, and its expressions are checked nevertheless.
	for _, key := range keys[1:4] {
		if v := n.Get(key); v != nil {
			(&frame{g, scope, nil}).checkNode(v, ownTypes[key], key)
		}
	}
	g.Lacking = g.Lacking || !ok
	for _, t := range turns {
		names := maps.Clone(g.names)
		names["each"] = t.each
		g.turnOfUse(&frame{g, scope, names}, d, n, read)
	}
}

// turnOfUse makes one instance of an entry, which f computes. read are the proofs that its loop has read.
func (g *Graph) turnOfUse(f *frame, d *Document, n *schema.Node, read proofs) {
	g.apart(func() {
		g.proved = read
		g.instanceOf(f, d, n)
	})
}

// instanceOf is turnOfUse, and reads further proofs.
func (g *Graph) instanceOf(f *frame, d *Document, n *schema.Node) {
	wanted, decided := f.condition(n.Get(whenKey))
	folder := n.Get("module")
	dir := within(d.Dir, folder.Text)
	i := &Instance{Name: filepath.Base(dir), pos: n.Pos, told: folder.Pos, leftOut: decided && !wanted}
	if doc := g.module(dir, folder.Pos); doc != nil {
		if name := doc.Root.Get("module"); name != nil {
			i.Name = name.Text
		}
		i.Doc = doc
	}
	at := folder.Pos
	if name := n.Get("name"); name != nil {
		out, ok := f.needed(name, "name")
		if !ok {
			g.Lacking = true
			return
		}
		i.Name, at = out.Text, out.Pos
	}
	if g.wrongInstance(i.Name, at) {
		return
	}
	g.instances = append(g.instances, i)
	if g.named == nil {
		g.named = map[string]*Instance{}
	}
	g.named[i.Name] = i
	switch {
	case i.leftOut: // nothing of it is computed: its inputs may not even be there
		i.told = schema.Pos{}
	case i.Doc != nil && decided && g.roomFor(folder):
		g.enterModule(f, i, n)
	}
	g.Lacking = g.Lacking || !i.told.IsZero()
}

// roomFor counts one more instance of a module. One too many is a fault, which is told once.
func (g *Graph) roomFor(folder *schema.Node) bool {
	if g.entries++; g.entries == maxInstances+1 {
		g.errorf(folder.Pos, "the graph has more than %d instances of modules, counted with those that modules use: "+
			"let %s be used once and hand its outputs on, instead of by each module again", maxInstances, folder.Text)
	}
	return g.entries <= maxInstances
}

// wrongInstance reports the name of an instance that can't be one.
func (g *Graph) wrongInstance(name string, pos schema.Pos) bool {
	twice := g.named[name]
	switch {
	case name == "name" || name == "inputs":
		g.errorf(pos, "a module can't be called %s here: module.%s has another meaning", name, name)
	case !isName(name):
		g.errorf(pos, "%q can't be the name of a module: write letters, digits and _ in the key name", name)
	case twice != nil:
		g.add(schema.Diagnostic{
			Pos: pos, Message: fmt.Sprintf("the module %s is there twice: give one of them another name", name),
			Related: []schema.Related{{Pos: twice.pos, Message: "first used here"}},
		})
	default:
		return false
	}
	g.Lacking = true
	return true
}

// module reads the file of a module, nil where there is none that can be used.
func (g *Graph) module(dir string, from schema.Pos) *Document {
	depth := 0
	for at := g; at != nil; at = at.parent {
		if at.folder == dir {
			g.errorf(from, "the module %s uses itself", dir)
			return nil
		}
		if depth++; depth > maxDepth {
			g.errorf(from, "the module %s is in %d modules, each used by the one before: more than %d are probably a circle of links", dir, maxDepth, maxDepth)
			return nil
		}
	}
	path := filepath.Join(dir, ModuleFile)
	before := g.found.Errors()
	root := g.yaml(path, from, true)
	if g.found.Errors() > before {
		return nil
	}
	if root == nil {
		g.errorf(from, "there is no module in %s: its file %s is missing or empty; mgmt module get fetches the modules of a lock file", dir, ModuleFile)
		g.Lacking = true
		return nil
	}
	if root.Kind != schema.NodeMap || root.Get("module") == nil || root.Get("module").Kind != schema.NodeString {
		g.errorf(root.Pos, "a module is a map with the keys module, inputs, outputs and those of a graph: module gives its name")
		return nil
	}
	if n := root.Get("include"); n != nil {
		g.errorf(n.Pos, "a module takes no include: it may use other modules")
	}
	doc := g.inputs.docs[path]
	doc.Dir, doc.Root = dir, root
	return doc
}

// enterModule computes the variables, the data, the modules and the outputs of an instance.
func (g *Graph) enterModule(f *frame, i *Instance, entry *schema.Node) {
	before := g.found.Errors()
	m := g.child(i)
	if n := i.Doc.Root.Get("inputs"); n != nil {
		m.declareInputs(n)
	}
	f.fillInputs(m, entry)
	if g.found.Errors() > before { // an input with a fault has no value, so the expressions of the module have none
		i.told = entry.Get("module").Pos
		return
	}
	m.proofs = g.proofs.with(g.proved...)
	m.Enter(i.Doc)
	m.ready()
	i.Graph, i.told = m, schema.Pos{}
	i.outputs, i.types, i.taints = map[string]any{}, map[string]expr.Type{}, map[string]*taint{}
	if n := i.Doc.Root.Get("outputs"); n != nil {
		for _, p := range m.pairs(n, "outputs must be a map from names to values") {
			m.output(i, p)
		}
	}
	i.proofs = m.proofs.with(g.proved...)
}

// child returns the graph of an instance: it shares files, findings and resources with its parent, and sees no variable of that.
func (g *Graph) child(i *Instance) *Graph {
	opts := g.opts
	opts.Vars, opts.VarFiles, opts.Memory = nil, nil, nil
	// Facts and files that a module reads wake the graph as its own do, so both share them.
	m := opts.with(g.common)
	m.parent, m.instance, m.folder = g, i.Name, i.Doc.Dir
	return m
}

// declareInputs reads the key inputs of a module: each one is declared as a variable is.
func (g *Graph) declareInputs(n *schema.Node) {
	for _, p := range g.pairs(n, "inputs must be a map from names to declarations, such as port: {type: int, default: 80}") {
		if !isName(p.Key) {
			g.errorf(p.Pos, "%q can't be the name of an input: write letters, digits and _", p.Key)
			continue
		}
		g.given[p.Key] = g.found.variable(p)
	}
}

// fillInputs gives the inputs of a module the values of an entry, whose expressions belong to the graph that uses it.
func (f *frame) fillInputs(m *Graph, entry *schema.Node) {
	g := f.g
	// An input that is given with a fault is not missing.
	given := map[string]bool{}
	if with := entry.Get("with"); with != nil {
		for _, p := range g.pairs(with, "with must be a map from inputs to values") {
			given[p.Key] = true
			f.fillInput(m, p)
		}
	}
	for _, name := range sortedKeys(m.given) {
		if v := m.given[name]; !v.known && !given[name] {
			g.add(schema.Diagnostic{
				Pos: entry.Pos, Message: fmt.Sprintf("the module %s needs the input %s, which is %s: write with: {%s: ...}", m.instance, name, v.word, name),
				Related: []schema.Related{{Pos: v.pos, Message: "declared here, without a default"}},
			})
		}
	}
}

// fillInput gives one input its value.
func (f *frame) fillInput(m *Graph, p schema.Pair) {
	g := f.g
	v := m.given[p.Key]
	if v == nil {
		var list []string
		for _, name := range sortedKeys(m.given) {
			list = append(list, name+" ("+m.given[name].word+")")
		}
		message := fmt.Sprintf("the module %s has no input %q, it has %s", m.instance, p.Key, strings.Join(list, ", "))
		if len(list) == 0 {
			message = fmt.Sprintf("the module %s has no inputs", m.instance)
		}
		g.add(schema.Diagnostic{Pos: p.Pos, Message: message, Suggestion: schema.Nearest(p.Key, sortedKeys(m.given))})
		return
	}
	value, t, ok := f.secretly(p.Value, "")
	if !ok { // an empty optional leaves the default
		return
	}
	fitting, ok := fit(v.word, value)
	if !ok && t != nil && t.unread != "" {
		fitting, ok = standIn(v.word), true
	}
	if !ok {
		g.add(schema.Diagnostic{
			Pos: f.placeOf(p.Value), Message: fmt.Sprintf("the input %s is %s, not %s", p.Key, v.word, wordOf(value)),
			Related: []schema.Related{{Pos: v.pos, Message: "declared here"}},
		})
		return
	}
	if v.taint = t; t != nil {
		g.tainted = true
	}
	v.take(fitting)
}

// output computes one output. A map with the key value is a declaration, which may have a type and a doc.
func (g *Graph) output(i *Instance, p schema.Pair) {
	if !isName(p.Key) {
		g.errorf(p.Pos, "%q can't be the name of an output: write letters, digits and _", p.Key)
		return
	}
	n, word := p.Value, "any"
	if n.Kind == schema.NodeMap && n.Get("value") != nil {
		if t := n.Get("type"); t != nil {
			if word = t.Text; !slices.Contains(slices.Collect(maps.Keys(varTypes)), word) {
				g.add(schema.Diagnostic{Pos: t.Pos, Message: fmt.Sprintf("%q is no type of an output: write %s", word, strings.Join(sortedKeys(varTypes), ", "))})
				word = "any"
			}
		}
		n = n.Get("value")
	}
	i.types[p.Key] = varTypes[word]
	v, t, ok := g.top().secretly(n, "an output")
	if !ok {
		i.told = n.Pos
		return
	}
	if t != nil {
		i.taints[p.Key], g.tainted = t, true
	}
	fitting, ok := fit(word, v)
	if !ok && t != nil && t.unread != "" {
		fitting, ok = standIn(word), true
	}
	if !ok {
		g.errorf(g.top().placeOf(n), "the output %s is %s, not %s", p.Key, word, wordOf(v))
	}
	i.outputs[p.Key] = fitting
	if word == "any" || word == "list" || word == "map" {
		i.types[p.Key] = expr.OfValue(fitting)
	}
}

// lacking returns the place of the fault that has left an expression without a value that it reads: of an instance or of a variable.
func (g *Graph) lacking(p *expr.Program) (told schema.Pos, lacks bool) {
	if told, lacks = g.vars.lacking(p); lacks {
		return told, true
	}
	for _, in := range p.Reads() {
		if in.Name != "module" {
			continue
		}
		for _, i := range g.instancesOf(in.Field) {
			if !i.told.IsZero() {
				return i.told, true
			}
		}
	}
	return schema.Pos{}, false
}

// leftOutOf names the instance that an expression reads and that its condition leaves out, empty for none.
func (g *Graph) leftOutOf(p *expr.Program) string {
	for _, in := range p.Reads() {
		if i := g.named[in.Field]; in.Name == "module" && i != nil && i.leftOut {
			return i.Name
		}
	}
	return ""
}
