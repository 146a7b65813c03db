package expand

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// notation reads and writes YAML for expressions. The frontend has the library for it.
type notation struct {
	parse func(file string, src []byte) (*schema.Node, schema.Diagnostics)
	write func(v any) (string, error) // nil where YAML can't be written
}

// functions are those for other notations, networks and versions.
func (y notation) functions() []expr.Function {
	text := []expr.Type{expr.Text}
	return []expr.Function{
		{Name: "yaml", Params: []expr.Type{{}}, Result: expr.Text, Do: y.toYAML},
		{Name: "fromYAML", Params: text, Do: y.fromYAML},
		{Name: "toml", Params: []expr.Type{{}}, Result: expr.Text, Do: toTOML},
		{Name: "cidrContains", Params: []expr.Type{expr.Text, expr.Text}, Result: expr.Bool, Do: cidrContains},
		{Name: "cidrHost", Params: []expr.Type{expr.Text, expr.Int}, Result: expr.Text, Do: cidrHost},
		{Name: "cidrNetmask", Params: text, Result: expr.Text, Do: cidrNetmask},
		{Name: "semverCompare", Params: []expr.Type{expr.Text, expr.Text}, Result: expr.Int, Do: semverCompare},
	}
}

// toYAML writes a value as a document of YAML.
func (y notation) toYAML(args []any) (any, error) {
	if y.write == nil {
		return nil, errors.New("YAML can't be written here")
	}
	return y.write(args[0])
}

// fromYAML reads a document of YAML, whose place is that of the expression.
func (y notation) fromYAML(args []any) (any, error) {
	// Findings have no file, so the message has the line inside of the text alone.
	n, ds := y.parse("", []byte(args[0].(string)))
	if err := ds.Err(); err != nil {
		return nil, fmt.Errorf("this is no YAML: %w", err)
	}
	var v any
	if err := schema.Decode(n, &v).Err(); err != nil {
		return nil, fmt.Errorf("this is no YAML: %w", err)
	}
	return v, nil
}

// toTOML writes a map as a document of TOML, with its keys in order.
func toTOML(args []any) (any, error) {
	// TOML has no other form for a whole document: a list stands below a key.
	m, ok := args[0].(map[string]any)
	if !ok {
		return nil, errors.New("a document of TOML is a map")
	}
	var b strings.Builder
	if err := tomlTable(&b, m, ""); err != nil {
		return nil, err
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}

// tomlTable writes the keys of a table: first those with values of their own, since a table ends where the next one begins.
func tomlTable(b *strings.Builder, m map[string]any, path string) error {
	for _, key := range sortedKeys(m) {
		if isTables(m[key]) {
			continue
		}
		v, err := tomlValue(m[key])
		if err != nil {
			return fmt.Errorf("%s: %w", path+key, err)
		}
		b.WriteString(tomlKey(key) + " = " + v + "\n")
	}
	for _, key := range sortedKeys(m) {
		if !isTables(m[key]) {
			continue
		}
		name := path + tomlKey(key)
		// Each table of a list has a head of its own, with the same name.
		tables, open, end := []any{m[key]}, "\n[", "]\n"
		if list, ok := m[key].([]any); ok {
			tables, open, end = list, "\n[[", "]]\n"
		}
		for _, t := range tables {
			b.WriteString(open + name + end)
			if err := tomlTable(b, t.(map[string]any), name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTables reports whether a value is a table, or a list of nothing else.
func isTables(v any) bool {
	if _, ok := v.(map[string]any); ok {
		return true
	}
	list, ok := v.([]any)
	for _, item := range list {
		if _, table := item.(map[string]any); !table {
			return false
		}
	}
	return ok && len(list) > 0
}

// tomlKey writes a key, in quotes where it needs them.
func tomlKey(key string) string {
	// A bare key may begin with a digit, which a name may not.
	for _, r := range key {
		if r != '-' && !isName("a"+string(r)) {
			return tomlText(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}

// tomlText writes a text in quotes. The escapes of JSON are escapes of TOML, too.
func tomlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text always has a form in JSON
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// tomlValue writes a value on one line.
func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlText(v), nil
	case bool, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		// Without a point it would be read as a whole number.
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return strings.NewReplacer("+Inf", "inf", "-Inf", "-inf", "NaN", "nan").Replace(s), nil
	case []any:
		items := make([]string, len(v))
		for i := range v {
			s, err := tomlValue(v[i])
			if err != nil {
				return "", err
			}
			items[i] = s
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var items []string
		for _, key := range sortedKeys(v) {
			s, err := tomlValue(v[key])
			if err != nil {
				return "", err
			}
			items = append(items, tomlKey(key)+" = "+s)
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	}
	return "", errors.New("TOML has no null: leave the key out")
}

// network reads a network such as 10.0.0.0/8.
func network(v any) (netip.Prefix, error) {
	// The bits behind the length of the network do not count: an address of a host with its length names the network.
	p, err := netip.ParsePrefix(v.(string))
	if err != nil {
		return p, fmt.Errorf("%q is no network: write one such as 10.0.0.0/8", v)
	}
	return p.Masked(), nil
}

// cidrContains reports whether an address belongs to a network, or a network lies in it.
func cidrContains(args []any) (any, error) {
	p, err := network(args[0])
	if err != nil {
		return nil, err
	}
	if inner, err := netip.ParsePrefix(args[1].(string)); err == nil {
		return inner.Bits() >= p.Bits() && p.Contains(inner.Addr()), nil
	}
	a, err := netip.ParseAddr(args[1].(string))
	if err != nil {
		return nil, fmt.Errorf("%q is no address and no network", args[1])
	}
	return p.Contains(a), nil
}

// cidrHost returns an address of a network by its number.
func cidrHost(args []any) (any, error) {
	p, err := network(args[0])
	if err != nil {
		return nil, err
	}
	// The number is added to the lowest byte, and the rest is carried on to those above it.
	n := args[1].(int64)
	bytes := p.Addr().AsSlice()
	rest := n
	for i := len(bytes) - 1; i >= 0 && rest > 0; i-- {
		rest += int64(bytes[i])
		bytes[i] = byte(rest)
		rest >>= 8
	}
	a, _ := netip.AddrFromSlice(bytes)
	if n < 0 || rest > 0 || !p.Contains(a) {
		return nil, fmt.Errorf("the network %s has no address of the number %d", p, n)
	}
	return a.String(), nil
}

// cidrNetmask returns the mask of a network of IPv4, such as 255.0.0.0.
func cidrNetmask(args []any) (any, error) {
	p, err := network(args[0])
	if err != nil {
		return nil, err
	}
	if !p.Addr().Is4() {
		return nil, fmt.Errorf("%s is a network of IPv6, which has no mask", p)
	}
	// A shift by 32 bits gives no mask at all, which is that of the network 0.0.0.0/0.
	mask := ^uint32(0) << (32 - p.Bits())
	return netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}).String(), nil
}

// semverCompare returns -1, 0 or 1 for a version that is lower than another one, of its rank, or higher.
func semverCompare(args []any) (any, error) {
	a, err := versionOf(args[0].(string))
	if err != nil {
		return nil, err
	}
	b, err := versionOf(args[1].(string))
	if err != nil {
		return nil, err
	}
	return int64(a.Compare(b)), nil
}

// versionOf reads a version in the notation of semver.org. A v in front of it is taken: the notation has none, and
// tags of git have one.
func versionOf(text string) (*semver.Version, error) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
	if err != nil {
		return nil, fmt.Errorf("%q is no version: write one such as 1.4.0 or 2.0.0-rc.1", text)
	}
	return v, nil
}
