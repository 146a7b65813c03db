package expand

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// # Secrets that programs give
//
// Two sources of secrets are programs: sops, which decrypts its files, and a command of the author. A program runs when the first secret is asked
// of it, once for each computation. Its output stays in memory, and no finding shows it. The checksum of the output is an input of the graph, so
// other output makes another graph at the next reading.
//
// A verb that only judges or shows a graph runs no program of it: Options.Program is nil there, and the secret counts as one without an
// identity.

// placeholder stands for the name of a secret in a command. A command without one prints all secrets.
const placeholder = "{}"

// isCredentials reports whether a source is the credentials of systemd.
func isCredentials(v vault) bool { return v.file == "" && v.argv == nil }

// sopsTypes are the formats that sops knows by the ending of a file. Any other file is YAML.
var sopsTypes = map[string]string{".json": "json", ".env": "dotenv", ".ini": "ini"}

// askProgram looks a secret up in the output of a program.
func (k *keyring) askProgram(v *vault, name string) (text string, there bool, err error) {
	if slices.ContainsFunc(v.argv, func(arg string) bool { return strings.Contains(arg, placeholder) }) {
		return k.askEach(v, name)
	}
	if v.root == nil {
		src, err := k.once(v, v, "", name)
		if err != nil {
			return "", true, err
		}
		// Places in the output mean nothing to its reader, and a message of the parser may have a part of a secret.
		root, ds := k.opts.Parse(v.program(), src)
		if ds.Err() != nil || root == nil || root.Kind != schema.NodeMap {
			return "", true, fmt.Errorf("%s: the output of %s is no map of secrets in YAML or JSON", v.pos, v.program())
		}
		v.root = root
	}
	n := v.root
	for key := range strings.SplitSeq(name, "/") {
		if n = n.Get(key); n == nil {
			return "", false, nil
		}
	}
	switch n.Kind {
	case schema.NodeList, schema.NodeMap, schema.NodeNull:
		return "", true, fmt.Errorf("%s: the value of %s in the output of %s is not a single one", v.pos, name, v.program())
	}
	return n.Text, true, nil
}

// askEach runs a command for one secret. Its output is the value, without a last line end. The name is one argument, or a part of one: no shell
// reads it, and one that could be an option is refused.
func (k *keyring) askEach(v *vault, name string) (text string, there bool, err error) {
	if strings.HasPrefix(name, "-") {
		return "", true, fmt.Errorf("the secret %q could be an option of the command", name)
	}
	if text, known := v.values[name]; known {
		return text, true, nil
	}
	each := vault{pos: v.pos, dir: v.dir}
	for _, arg := range v.argv {
		each.argv = append(each.argv, strings.ReplaceAll(arg, placeholder, name))
	}
	src, err := k.once(v, &each, name, name)
	if err != nil {
		return "", true, err
	}
	if v.values == nil {
		v.values = map[string]string{}
	}
	v.values[name] = strings.TrimSuffix(string(src), "\n")
	return v.values[name], true, nil
}

// once runs the program of a source, unless it has failed before under this key. A program may take its time before it fails, and a graph may ask
// for many secrets.
func (k *keyring) once(v, run *vault, key, name string) (src []byte, err error) {
	err = v.failed[key]
	if err == nil {
		src, err = k.printed(run, name)
	}
	if err == nil {
		return src, nil
	}
	if v.failed == nil {
		v.failed = map[string]error{}
	}
	v.failed[key] = err
	if _, keyless := errors.AsType[*keylessError](err); keyless {
		return nil, err
	}
	return nil, fmt.Errorf("%s: the secret %s can't be read: %w", v.pos, name, err)
}

// printed runs the program of a source.
func (k *keyring) printed(v *vault, name string) (src []byte, err error) {
	var stdin []byte
	argv, dir := v.argv, v.dir
	if v.sops {
		// The file goes in by standard input: in a deploy it is no file of this machine.
		if stdin, err = k.inputs.read(v.file); err != nil {
			return nil, fmt.Errorf("can't read %s: %w", v.file, safepath.WithoutPath(err))
		}
		kind := sopsTypes[filepath.Ext(v.file)]
		if kind == "" {
			kind = "yaml"
		}
		argv = []string{"sops", "--decrypt", "--input-type", kind, "--output-type", "json", "/dev/stdin"}
	}
	if k.opts.Program == nil {
		return nil, &keylessError{fmt.Errorf("the secret %s can't be read: it comes from %s, which only mgmt run runs", name, v.program())}
	}
	if src, err = k.opts.Program(dir, stdin, argv...); err == nil {
		k.inputs.printed(src)
	}
	return src, err
}

// program names the program of a source in messages.
func (v *vault) program() string {
	if v.sops {
		return "sops for " + v.file
	}
	return "the command " + v.argv[0]
}

// Outputs returns the checksums of the outputs of programs, in the order in which they ran. Equal inputs have equal ones.
func (g *Graph) Outputs() [][32]byte { return g.inputs.outputs }
