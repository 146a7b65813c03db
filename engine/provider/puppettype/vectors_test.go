package puppettype_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// vector is one case seen on Puppet; each file uses some of the keys.
type vector struct {
	Expr       string          `json:"expr"`
	Type       string          `json:"type"`
	General    string          `json:"general"`
	Specific   string          `json:"specific"`
	Value      json.RawMessage `json:"value"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	FromCLI    bool            `json:"from_cli"`
	OK         bool            `json:"ok"`
	Accepted   bool            `json:"accepted"`
	Assignable bool            `json:"assignable"`
	Canonical  string          `json:"canonical"`
	Infer      string          `json:"infer"`
	InferSet   string          `json:"infer_set"`
	ErrorClass string          `json:"error_class"`
	Message    string          `json:"message"`
}

// runner names a case, and says what Puppet and what this package make of it.
type runner struct {
	name string
	key  func(v vector) string
	run  func(t *testing.T, v vector) (puppet, ours string)
}

var runners = []runner{
	{"datatypes_parse", func(v vector) string { return v.Expr }, runParse},
	{"datatypes_instance", func(v vector) string { return v.Type + " ~ " + compact(v.Value) }, runInstance},
	{"datatypes_assignable", func(v vector) string { return v.General + " <- " + v.Specific }, runAssignable},
	{"datatypes_infer", func(v vector) string { return compact(v.Value) }, runInfer},
	{"munge", mungeKey, runMunge},
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func mungeKey(v vector) string {
	how := "catalog"
	if v.FromCLI {
		how = "command line"
	}
	return v.Type + " ~ " + compact(v.Input) + " from the " + how
}

var place = regexp.MustCompile(`\(line: (\d+), column: (\d+)\)`)

func runParse(t *testing.T, v vector) (puppet, ours string) {
	puppet = v.Canonical
	if !v.OK {
		puppet = "refused"
		if strings.Contains(v.Message, "could not be parsed") {
			puppet = "syntax error " + place.FindString(v.Message)
		}
	}
	ty, err := puppettype.Parse(v.Expr)
	if err == nil {
		return puppet, ty.String()
	}
	e := err.(*puppettype.Error)
	switch {
	case v.OK:
		return puppet, "refused: " + e.Message
	case !e.Syntax:
		return puppet, "refused"
	case puppet == "syntax error ":
		return puppet, puppet // Puppet gives no place at the end
	}
	return puppet, fmt.Sprintf("syntax error (line: %d, column: %d)", e.Line, e.Col)
}

func verdict(ok bool, message string) string {
	if ok {
		return "accepted"
	}
	return "refused: " + message
}

func runInstance(t *testing.T, v vector) (puppet, ours string) {
	puppet = verdict(v.Accepted, v.Message)
	ty, err := puppettype.Parse(v.Type)
	if err != nil {
		return puppet, "no type: " + err.Error()
	}
	value := decode(t, v.Value)
	err = ty.Check("typ.attr", value)
	if (err == nil) != ty.Accepts(value) {
		t.Errorf("%s: Check and Accepts differ on %s", v.Type, v.Value)
	}
	if err != nil {
		return puppet, verdict(false, err.Error())
	}
	return puppet, verdict(true, "")
}

func runAssignable(t *testing.T, v vector) (puppet, ours string) {
	general, err := puppettype.Parse(v.General)
	if err != nil {
		return fmt.Sprint(v.Assignable), err.Error()
	}
	specific, err := puppettype.Parse(v.Specific)
	if err != nil {
		return fmt.Sprint(v.Assignable), err.Error()
	}
	return fmt.Sprint(v.Assignable), fmt.Sprint(general.Assignable(specific))
}

func runInfer(t *testing.T, v vector) (puppet, ours string) {
	value := decode(t, v.Value)
	return v.Infer + " and " + v.InferSet, puppettype.Infer(value).String() + " and " + puppettype.InferEach(value).String()
}

func runMunge(t *testing.T, v vector) (puppet, ours string) {
	puppet = "refused: " + v.Message
	if v.OK {
		puppet = fmt.Sprintf("%#v", plainly(decode(t, v.Output)))
	}
	ty, err := puppettype.Parse(v.Type)
	if err != nil {
		return puppet, err.Error()
	}
	clean := ty.Clean
	if v.FromCLI {
		clean = ty.CleanText
	}
	got, err := clean("typ.attr", decode(t, v.Input))
	if err != nil {
		return puppet, "refused: " + err.Error()
	}
	if v.OK && reflect.DeepEqual(got, decode(t, v.Output)) {
		return puppet, puppet
	}
	return puppet, fmt.Sprintf("%#v", plainly(got))
}

// plainly opens what prints redacted, for the comparison.
func plainly(v any) any {
	if s, ok := v.(puppettype.Sensitive); ok {
		return []any{"sensitive", s.Reveal()}
	}
	return v
}

// decode reads a value in the notation of the vectors. A hash keeps its order, in
// which Puppet tells what does not fit.
func decode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return decodeFrom(t, d)
}

func decodeFrom(t *testing.T, d *json.Decoder) any {
	tok, err := d.Token()
	must(t, err)
	switch tok {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, decodeFrom(t, d))
		}
		_, err = d.Token()
		must(t, err)
		return list
	case json.Delim('{'):
		return decodeHash(t, d)
	}
	if n, ok := tok.(json.Number); ok {
		return number(t, n.String())
	}
	return tok
}

// decodeHash reads a hash behind its brace, or the value that it is the tag of.
func decodeHash(t *testing.T, d *json.Decoder) any {
	var hash puppettype.Map
	tag, of := "", any(nil)
	for d.More() {
		key, err := d.Token()
		must(t, err)
		item := decodeFrom(t, d)
		switch {
		case key == "$t":
			tag = item.(string)
		case key == "v" && tag != "":
			of = item
		default:
			hash = append(hash, puppettype.Entry{Key: key, Value: item})
		}
	}
	_, err := d.Token()
	must(t, err)
	if tag != "" {
		return tagged(t, tag, of)
	}
	return hash
}

func number(t *testing.T, text string) any {
	if strings.ContainsAny(text, ".eE") {
		var f float64
		must(t, json.Unmarshal([]byte(text), &f))
		return f
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noValue is the panic of a value that this package cannot make.
type noValue struct{ error }

func value[T any](v T, err error) T {
	if err != nil {
		panic(noValue{err})
	}
	return v
}

// outcome runs one case; a value that cannot be made is an outcome too.
func outcome(t *testing.T, r runner, v vector) (puppet, ours string) {
	defer func() {
		if e, ok := recover().(noValue); ok {
			puppet, ours = "a value", "no value: "+e.Error()
		}
	}()
	return r.run(t, v)
}

func tagged(t *testing.T, tag string, v any) any {
	s, _ := v.(string)
	switch tag {
	case "undef":
		return nil
	case "default":
		return puppettype.Default{}
	case "symbol":
		return puppettype.Symbol(s)
	case "sensitive":
		return puppettype.NewSensitive(v)
	case "uri":
		return puppettype.URI(s)
	case "bigint":
		return number(t, s)
	case "map":
		return pairs(t, v)
	case "float":
		return value(strconv.ParseFloat(s, 64))
	}
	return parsed(t, tag, s)
}

func parsed(t *testing.T, tag, s string) any {
	switch tag {
	case "regexp":
		return value(rubyre.New(s))
	case "timestamp":
		return value(puppettype.ParseTimestamp(s))
	case "timespan":
		return value(puppettype.ParseTimespan(s))
	case "semver":
		return value(puppettype.ParseVersion(s))
	case "semverrange":
		return value(puppettype.ParseVersionRange(s))
	case "binary":
		return value(base64.StdEncoding.DecodeString(s))
	case "type":
		return value(puppettype.Parse(s))
	}
	t.Fatalf("unknown tag %q", tag)
	return nil
}

func pairs(t *testing.T, v any) any {
	var m puppettype.Map
	for _, e := range v.([]any) {
		kv := e.([]any)
		m = append(m, puppettype.Entry{Key: kv[0], Value: kv[1]})
	}
	return m
}

// deviating is the rules of one file, compiled, with how often each was used.
type deviating struct {
	rules []puppettype.Deviation
	used  []int
}

func (d *deviating) reason(file, key, puppet, ours string) string {
	for i, r := range d.rules {
		if r.File == file && regexp.MustCompile(r.Case).MatchString(key) && regexp.MustCompile(r.Puppet).MatchString(puppet) &&
			regexp.MustCompile(r.Ours).MatchString(ours) {
			d.used[i]++
			return r.Reason
		}
	}
	return ""
}

// TestVectors runs every case seen on Puppet: it matches, or deviates for a reason
// that Deviations states. VECTORS names a folder that holds puppet/ with other
// cases of the same form.
func TestVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	rules := puppettype.Deviations()
	d := &deviating{rules, make([]int, len(rules))}
	var listing strings.Builder
	for _, r := range runners {
		runFile(t, filepath.Join(folder, "puppet", r.name+".json"), r, d, &listing)
	}
	if others || t.Failed() {
		return
	}
	for i, rule := range rules {
		if (d.used[i] == 0) != rule.Unseen {
			t.Errorf("%d cases deviate by %+v", d.used[i], rule)
		}
	}
	golden(t, "testdata/deviations.txt", listing.String())
}

// TestMoreVectors runs what was seen on Puppet 7.23 beyond the cases of TestVectors:
// what each word of its language does in a type, expressions that are none, and types
// and values drawn at random.
func TestMoreVectors(t *testing.T) {
	rules := puppettype.Deviations()
	d := &deviating{rules, make([]int, len(rules))}
	for _, r := range runners {
		runFile(t, filepath.Join("testdata", "more", r.name+".json"), r, d, new(strings.Builder))
	}
}

// readVectors reads a file of cases; one that is missing or empty is an error.
func readVectors(path string) ([]vector, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Count   int      `json:"count"`
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Vectors) == 0 || file.Count > 0 && file.Count != len(file.Vectors) {
		return nil, fmt.Errorf("%s: holds %d cases and says %d", path, len(file.Vectors), file.Count)
	}
	return file.Vectors, nil
}

// TestVectorsMustBeThere holds that nothing passes for want of cases.
func TestVectorsMustBeThere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"none": `{"count": 0, "vectors": []}`, "fewer": `{"count": 2, "vectors": [{}]}`, "broken": `{`} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := readVectors(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := readVectors(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

func runFile(t *testing.T, path string, r runner, d *deviating, listing *strings.Builder) {
	vectors, err := readVectors(path)
	must(t, err)
	match, deviate := 0, 0
	for _, v := range vectors {
		key := r.key(v)
		puppet, ours := outcome(t, r, v)
		if puppet == ours {
			match++
			continue
		}
		reason := d.reason(r.name, key, puppet, ours)
		if reason == "" {
			t.Errorf("%s: %s\n puppet: %s\n   ours: %s", r.name, key, puppet, ours)
			continue
		}
		deviate++
		fmt.Fprintf(listing, "%s: %s\n\tpuppet: %q\n\tours:   %q\n\treason: %s\n", r.name, key, puppet, ours, reason)
	}
	t.Logf("%s: %d match, %d deviate", r.name, match, deviate)
}

// golden compares with a file; UPDATE=1 writes it.
func golden(t *testing.T, path, got string) {
	if os.Getenv("UPDATE") != "" {
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if string(want) != got {
		t.Errorf("%s is not what deviates now; look at the difference and run with UPDATE=1", path)
	}
}
