package wire

import (
	"reflect"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Version is the version of the form that this package writes and reads.
const Version = 1

// The bounds of a text.
const (
	MaxBytes  = 4 << 20
	MaxLevels = 200
)

// document is a whole text.
type document struct {
	Version int   `yaml:"version" json:"version" mgmt:"required,min=1" doc:"The version of the form, 1."`
	Type    *part `yaml:"type" json:"type" mgmt:"required" doc:"The type."`
}

// part is one type. Its keys are written in this order.
type part struct {
	Kind     string   `yaml:"kind" json:"kind" mgmt:"required,enum=any|bool|int|float|string|duration|size|mode|ref|list|map|struct" doc:"The kind of the type."`
	Name     string   `yaml:"name" json:"name,omitempty" doc:"A name, for people and for links."`
	Doc      string   `yaml:"doc" json:"doc,omitempty" doc:"What it is for, in Markdown."`
	Optional bool     `yaml:"optional" json:"optional,omitempty" doc:"Null is a value too, and is not the same as the zero value."`
	Secret   bool     `yaml:"secret" json:"secret,omitempty" doc:"Of a string: it is never shown."`
	Opaque   bool     `yaml:"opaque" json:"opaque,omitempty" doc:"Code of the kind reads the value. It may take other shapes than this one, and may refuse this one."`
	Enum     []string `yaml:"enum" json:"enum,omitempty" doc:"Of a string: the only values; of a map: the only keys. They are in the order in which they are shown."`
	Names    []string `yaml:"names" json:"names,omitempty" doc:"What programs call the values of enum, one name for each."`
	Pattern  string   `yaml:"pattern" json:"pattern,omitempty" doc:"Of a string: a regular expression that matches some part of it. Go and JavaScript read it alike."`
	Format   string   `yaml:"format" json:"format,omitempty" doc:"Of a string: its notation, one of cidr, email, ip, mac, portrange, semver, uri."`
	Target   string   `yaml:"target" json:"target,omitempty" doc:"Of a ref: the kind of the resource that it names."`
	Unit     string   `yaml:"unit" json:"unit,omitempty" doc:"Of a duration: what a bare integer counts, one of ns, us, ms, s, m, h. The unit s is meant where there is none."`
	Bits     int      `yaml:"bits" json:"bits,omitempty" doc:"Of an int: 8, 16 or 32; of a float: 32. There are 64 where it is left out."`
	Unsigned bool     `yaml:"unsigned" json:"unsigned,omitempty" doc:"Of an int: it is not below 0."`
	Min      any      `yaml:"min" json:"min,omitempty" doc:"The least value of an int, a float, a size (bytes) or a duration (text such as 5m), or the least length of a string, a list or a map. It is 0 for a size and a duration where it is left out."`
	Max      any      `yaml:"max" json:"max,omitempty" doc:"The greatest value, or the greatest length."`
	Of       *part    `yaml:"of" json:"of,omitempty" doc:"Of a list or a map: the type of its elements."`
	Fields   []field  `yaml:"fields" json:"fields,omitempty" doc:"Of a struct: its fields, in the order in which they are shown."`
	Link     string   `yaml:"link" json:"link,omitempty" doc:"Of a struct inside of itself: the name of the nearest struct around it whose fields it has."`
}

// field is one key of a struct.
type field struct {
	Key        string   `yaml:"key" json:"key" mgmt:"required,min=1" doc:"The key, made of letters, digits, _ and -."`
	Go         string   `yaml:"go" json:"go,omitempty" doc:"Its name in Go, under which it can be received too."`
	Alias      string   `yaml:"alias" json:"alias,omitempty" doc:"Another key that is read for it."`
	Manifest   string   `yaml:"manifest" json:"manifest,omitempty" doc:"What a manifest calls it, if not by its key."`
	Doc        string   `yaml:"doc" json:"doc,omitempty" doc:"What it means."`
	Role       string   `yaml:"role" json:"role,omitempty" mgmt:"enum=state|identity|param|init|readonly|writeonly" doc:"What it is to the resource. A field without a role is state, which can be read back and compared."`
	Required   bool     `yaml:"required" json:"required,omitempty" doc:"It must be given."`
	Replaces   bool     `yaml:"replaces" json:"replaces,omitempty" doc:"Another value removes the thing and makes it again."`
	Absent     string   `yaml:"absent" json:"absent,omitempty" doc:"The value that takes the thing away, where the word is not absent."`
	Deprecated string   `yaml:"deprecated" json:"deprecated,omitempty" doc:"What to use instead."`
	NoWatch    bool     `yaml:"nowatch" json:"nowatch,omitempty" doc:"A new received value needs no restart of Watch."`
	NoSecret   bool     `yaml:"nosecret" json:"nosecret,omitempty" doc:"Other users of the machine can see it, so no secret is received into it."`
	Lend       string   `yaml:"lend" json:"lend,omitempty" mgmt:"enum=value|name" doc:"Another host may give it, where this host accepts the kind: any value, or names that fit the pattern of the identity. Without it, only this host's own graph gives it."`
	Instead    []string `yaml:"instead" json:"instead,omitempty" doc:"The keys that take a secret instead."`
	Default    any      `yaml:"default" json:"default,omitempty" doc:"What its absence means, where that is not the zero value; in the notation of a graph. Only the fields of the outermost struct have one."`
	Type       *part    `yaml:"type" json:"type" mgmt:"required" doc:"Its type."`
}

// Form returns the type of a text.
func Form() *schema.Type {
	t, err := schema.OfType(reflect.TypeFor[document]())
	if err != nil {
		panic(err) // the structs above are at fault
	}
	return t
}

// kinds are the names of the kinds in the form.
var kinds = [schema.NumKinds]string{
	schema.KindAny: "any", schema.KindBool: "bool", schema.KindInt: "int", schema.KindFloat: "float",
	schema.KindString: "string", schema.KindDuration: "duration", schema.KindSize: "size", schema.KindMode: "mode",
	schema.KindRef: "ref", schema.KindList: "list", schema.KindMap: "map", schema.KindStruct: "struct",
}

// lends are the names of what is lent, in the form.
var lends = []string{schema.LendNone: "", schema.LendValue: "value", schema.LendName: "name"}

// roles are the names of the roles in the form.
var roles = []string{
	schema.RoleState: "", schema.RoleIdentity: "identity", schema.RoleParam: "param",
	schema.RoleInit: "init", schema.RoleReadOnly: "readonly", schema.RoleWriteOnly: "writeonly",
}
