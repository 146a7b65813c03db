package machine

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
)

// readTarget reads a name and parameters as they stand on a command line, and says all
// that is wrong with them at once.
// The caller gets a declaration as a graph would have it, so one code checks both. Secret has the
// keys of parameters that came from files.
func readTarget(a *cli.App, k engine.Kind, name string, args []string) (look.Target, error) {
	t := look.Target{Declaration: gapi.Declaration{Kind: k.Name, Name: name, Value: &schema.Node{Kind: schema.NodeMap}}}
	// The name may be the variable of a script that is not set. No kind has a thing without a
	// name.
	if name == "" {
		return t, fmt.Errorf("the name of the %s is empty", k.Name)
	}
	r := &argReader{app: a, kind: k, given: map[string]bool{}}
	var errs []error
	for _, arg := range args {
		pair, secret, err := r.read(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.Value.Pairs = append(t.Value.Pairs, pair)
		if secret {
			t.Secret = append(t.Secret, pair.Key)
		}
	}
	t.Declaration = dollar(t.Declaration)
	return t, errors.Join(errs...)
}

// dollar allows a name that begins with a dollar sign: here it can't be a forgotten
// variable of a graph.
// The node is the metaparameter dollar of a graph.
func dollar(d gapi.Declaration) gapi.Declaration {
	if strings.HasPrefix(d.Name, "$") {
		yes := &schema.Node{Kind: schema.NodeBool, Text: "true"}
		d.Meta = &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "dollar", Value: yes}}}
	}
	return d
}

// argReader reads parameters of one kind.
// It serves one command line: given refuses a second value of a parameter, and stdin a second
// reader of standard input.
type argReader struct {
	app  *cli.App
	kind engine.Kind
	// given has the keys, not the aliases.
	given map[string]bool
	stdin string // the parameter that standard input is for
}

// read reads one parameter, and says whether it must not be shown.
func (r *argReader) read(arg string) (pair schema.Pair, secret bool, err error) {
	key, form, rest := cli.SplitArg(arg)
	if form == "" || key == "" {
		return pair, false, fmt.Errorf("%q is no parameter: write PARAMETER=VALUE, PARAMETER:=JSON or PARAMETER@FILE", arg)
	}
	f, err := r.field(key)
	if err != nil {
		return pair, false, err
	}
	pair.Key, secret = f.Key, form == cli.FormFile
	switch form {
	case cli.FormText:
		pair.Value, err = r.text(f, rest)
	case cli.FormJSON:
		pair.Value, err = r.json(f, rest)
	case cli.FormFile:
		pair.Value, err = r.secret(f, rest)
	}
	return pair, secret, err
}

// about puts the parameter in front of an error.
func about(f *schema.Field, err error) error { return fmt.Errorf("%s: %w", f.Key, err) }

// field returns the parameter of a key, if it may be set and was not given before.
// An alias is taken for its key, so that both count as one parameter. A typing error gets a hint
// with the nearest key.
func (r *argReader) field(key string) (*schema.Field, error) {
	f := r.kind.Type.Field(key)
	switch {
	case key == "name":
		return nil, errors.New("the name stands before the parameters")
	// Type.Field also takes the name of a field in Go, which no graph has.
	case f == nil || f.Key != key && f.Alias != key:
		keys := r.kind.Type.Keys()
		return nil, fmt.Errorf("the kind %s has no parameter %q%s; %s doc %s has them", r.kind.Name, key, cli.Meant(key, keys), r.app.Program(), r.kind.Name)
	case f.Role == schema.RoleReadOnly:
		return nil, fmt.Errorf("%s can only be read, not set", key)
	case r.given[f.Key]:
		return nil, fmt.Errorf("%s is given twice; a list is written as JSON, %s:='[...]'", key, key)
	}
	r.given[f.Key] = true
	return f, nil
}

// text reads PARAMETER=VALUE.
// An empty text is a value, and not a missing parameter.
// It refuses a secret before anything is altered; the shell has kept it by then, and the error
// says how to avoid that next time.
func (r *argReader) text(f *schema.Field, text string) (*schema.Node, error) {
	if f.Type.HoldsSecret() {
		return nil, about(f, cli.ErrSecret)
	}
	return r.convert(f, text)
}

// convert reads text by the type of a parameter, or has the kind do so.
// A kind that reads its own texts is a TextRes: a definition as data has such types. A panic in
// its code becomes an error.
func (r *argReader) convert(f *schema.Field, text string) (n *schema.Node, err error) {
	defer callsafe.Recover("FromText", &err)
	// The resource is only asked for its texts. It is never initialised, and gets no Cleanup.
	res, err := r.app.Kinds().New(r.kind.Name)
	if err != nil {
		return nil, err
	}
	if own, ok := engine.As[declaration.Text](res); ok {
		v, err := own.FromText(f.Key, text)
		if err != nil {
			return nil, err
		}
		return schema.NodeOf(v)
	}
	switch f.Type.Kind {
	case schema.KindList, schema.KindMap, schema.KindStruct:
		return nil, fmt.Errorf("%s must be %s: write it as JSON, %s:=%s", f.Key, f.Type, f.Key, jsonSample[f.Type.Kind])
	}
	return textNode(f.Type, text), nil
}

// jsonSample is what an error shows for a type that a plain text can't express.
var jsonSample = map[schema.Kind]string{schema.KindList: `'["a", "b"]'`, schema.KindMap: `'{"key": "value"}'`, schema.KindStruct: `'{"key": "value"}'`}

// textNode returns a text as the node that YAML would make of it for that type: a
// number where one is wanted and it is one.
// A number that is too large stays a number here, so that the check of the type names its bounds.
// A text that is neither stays text, and the check of the type says what it wants instead.
func textNode(t *schema.Type, text string) *schema.Node {
	n := &schema.Node{Kind: schema.NodeString, Text: text}
	trimmed := strings.TrimSpace(text)
	switch t.Kind {
	case schema.KindBool:
		if text == "true" || text == "false" {
			n.Kind = schema.NodeBool
		}
	case schema.KindInt, schema.KindFloat:
		if _, err := strconv.ParseInt(trimmed, 0, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			n.Kind, n.Text = schema.NodeInt, trimmed
		} else if _, err := strconv.ParseFloat(trimmed, 64); err == nil {
			n.Kind, n.Text = schema.NodeFloat, trimmed
		}
	case schema.KindDuration, schema.KindSize:
		n.Text = trimmed
	}
	return n
}

// json reads PARAMETER:=JSON and PARAMETER:=@FILE.
// Positions in errors point into the file, and are left out for an argument. Quiet keeps the text
// of a secret out of errors.
func (r *argReader) json(f *schema.Field, text string) (*schema.Node, error) {
	o := jsonnode.Options{Nowhere: true, Quiet: f.Type.HoldsSecret()}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		data, err := r.file(f, path)
		if err != nil {
			return nil, err
		}
		text, o.File, o.Nowhere = string(data), path, false
	} else if f.Type.HoldsSecret() {
		return nil, about(f, fmt.Errorf("%w; JSON with secrets in it is written as %s:=@FILE", cli.ErrSecret, f.Key))
	}
	n, found := jsonnode.Parse([]byte(text), o)
	if len(found) > 0 {
		return nil, about(f, fmt.Errorf("it is no JSON: %s; text stands in double quotes there", found[0].Message))
	}
	return n, nil
}

// secret reads PARAMETER@FILE. Where the type is a secret, the text is it, without the
// line end that an editor has put at the end of the file.
// A value that does not fit the type gives an error without the value.
func (r *argReader) secret(f *schema.Field, path string) (*schema.Node, error) {
	data, err := r.file(f, path)
	if err != nil {
		return nil, err
	}
	if f.Type.Secret {
		return &schema.Node{Kind: schema.NodeString, Text: string(bytes.TrimSuffix(data, []byte("\n")))}, nil
	}
	n, err := r.convert(f, string(data))
	if err == nil {
		_, wrong := schema.Value(f.Type, n)
		err = wrong.Err()
	}
	// The error of the conversion is dropped, since errors of types quote the value.
	if err != nil { // it may repeat the text
		return nil, about(f, fmt.Errorf("what is in the file is not %s", f.Type))
	}
	return n, nil
}

// file reads a file, or standard input once.
// Standard input can be read only once in a process, so a second use is an error and not an empty
// text.
func (r *argReader) file(f *schema.Field, path string) ([]byte, error) {
	switch {
	case path == "":
		return nil, about(f, errors.New("the name of the file is missing"))
	case path == "-" && r.stdin != "":
		return nil, about(f, fmt.Errorf("standard input is read for %s already", r.stdin))
	case path == "-":
		r.stdin = f.Key
	}
	data, err := cli.ReadSource(r.app, path, gapi.Source{})
	if err != nil {
		return nil, about(f, err)
	}
	return data, nil
}
