package expand

import (
	"maps"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Declared says how a variable is declared.
type Declared struct {
	Pos  schema.Pos
	Word string // its type, in the words of a graph
	Doc  string
}

// Alone returns the computation of the module in a folder by itself, for a caller that asks for its names. An input without a default has an
// empty value of its type. It is nil where there is no module that can be read: the findings of g say why. It is called after Start.
func (g *Graph) Alone(dir string) *Graph {
	doc := g.module(dir, schema.Pos{})
	if doc == nil {
		return nil
	}
	m := g.child(&Instance{Name: doc.Root.Get("module").Text, Doc: doc})
	if n := doc.Root.Get("inputs"); n != nil {
		m.declareInputs(n)
	}
	for _, v := range m.given {
		if !v.known {
			v.value, v.known = standIn(v.word), true
		}
	}
	m.Enter(doc)
	m.ready()
	return m
}

// Members returns the names that may follow a path of names in an expression; see expr.Scope. It is called after Start.
func (g *Graph) Members(path []string) []expr.Member {
	if len(path) == 1 && path[0] == "data" {
		// Data are a map without a type, and their keys are known all the same.
		values := g.names["data"].(map[string]any)
		var all []expr.Member
		for _, key := range g.DataKeys() {
			all = append(all, expr.Member{Name: key, Type: expr.OfValue(values[key])})
		}
		return all
	}
	return g.current().Members(path)
}

// Signatures returns the forms of the functions that an expression may call. It is called after Start.
func (g *Graph) Signatures() []expr.Signature { return g.current().Signatures() }

// SecretKeys returns the keys of the files of secrets with their places, by name. The files are read, and nothing is decrypted. Credentials and
// programs do not tell their keys.
func (g *Graph) SecretKeys() map[string]schema.Pos {
	return g.keys.all()
}

// all returns the keys of the files with their places.
func (k *keyring) all() map[string]schema.Pos {
	keys := map[string]schema.Pos{}
	for _, v := range k.sources {
		if v.file == "" {
			continue
		}
		root := v.root
		if root == nil {
			src, err := k.opts.Read(v.file)
			if err != nil {
				continue // the finding about the file says why
			}
			root, _ = k.opts.Parse(v.file, src)
		}
		secretsBelow(keys, root, "", 0)
		if v.sops { // its own record in the file
			maps.DeleteFunc(keys, func(name string, _ schema.Pos) bool { return strings.HasPrefix(name, "sops/") })
		}
	}
	return keys
}

// maxSecretDepth bounds the maps in maps of a file of secrets.
const maxSecretDepth = 20

// secretsBelow adds the keys of the values below a node. The source that is asked first has the word.
func secretsBelow(keys map[string]schema.Pos, n *schema.Node, prefix string, depth int) {
	if n == nil || n.Kind != schema.NodeMap || depth > maxSecretDepth {
		return
	}
	for _, p := range n.Pairs {
		name := prefix + p.Key
		if p.Value.Kind == schema.NodeMap {
			secretsBelow(keys, p.Value, name+"/", depth+1)
		} else if _, known := keys[name]; !known {
			keys[name] = p.Pos
		}
	}
}

// Variable returns the declaration of a variable. It is called after Start.
func (g *Graph) Variable(name string) (d Declared, ok bool) { return declaredIn(g.vars, name) }

// Input returns the declaration of an input, as Variable does. Only a module has inputs.
func (g *Graph) Input(name string) (d Declared, ok bool) { return declaredIn(g.given, name) }

// declaredIn returns a declaration by its name.
func declaredIn(all map[string]*variable, name string) (d Declared, ok bool) {
	v, ok := all[name]
	if !ok {
		return Declared{}, false
	}
	return Declared{Pos: v.pos, Word: v.typ.String(), Doc: v.doc}, true
}

// Used is a module that a graph uses.
type Used struct {
	Name   string // of the instance
	Pos    schema.Pos
	Folder string // empty where it could not be read
}

// Used returns the modules that the graph itself uses, in the order of the key use. It is called after Start.
func (g *Graph) Used() (all []Used) {
	for _, i := range g.instances {
		u := Used{Name: i.Name, Pos: i.pos}
		if i.Doc != nil {
			u.Folder = i.Doc.Dir
		}
		all = append(all, u)
	}
	return all
}
