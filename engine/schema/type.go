package schema

import "reflect"

// Kind is the kind of a Type.
type Kind uint8

// The kinds of type. KindAny takes every value and is checked when it is used.
const (
	KindAny      Kind = iota
	KindBool          // true, false
	KindInt           // a whole number of 64 bits or less
	KindFloat         // a number of 64 bits
	KindString        // text; Type.Secret says that it must not be shown
	KindDuration      // a length of time; a bare integer counts in Type.Unit
	KindSize          // a number of bytes; 10MiB, 64k
	KindMode          // permission bits; octal or symbolic
	KindRef           // a reference to a resource: kind[name], or kind[name].key
	KindList          // a sequence of Type.Elem
	KindMap           // text keys to Type.Elem
	KindStruct        // a fixed set of Type.Fields
	NumKinds     = iota
)

// Type says what a value may be. It is plain data: immutable, comparable by
// Equal, and the source of every derived form.
type Type struct {
	Kind     Kind
	Name     string   // of the Go type or of the resource kind; for people only
	Doc      string   // Markdown, may be empty
	Secret   bool     // with KindString: never shown
	Optional bool     // the Go side is a pointer: null and absence are kept apart from the zero value
	Enum     []string // with KindString: the only values, in the order in which they are shown
	Unit     string   // with KindDuration: what a bare integer means
	Bits     int      // with KindInt and KindFloat: 8, 16, 32 or 64
	Unsigned bool     // with KindInt
	Min, Max *int64   // inclusive bounds of a number (durations in nanoseconds) or of a length; nil for none
	Elem     *Type    // of KindList and KindMap
	Fields   []*Field // of KindStruct, in the order of declaration
	Go       reflect.Type

	byKey map[string]*Field
}

// Role says what a field is to its resource.
type Role uint8

// The roles of a field. State is what can be read back and compared.
const (
	RoleState Role = iota
	RoleIdentity
	RoleParam
	RoleInit
	RoleReadOnly
	RoleWriteOnly
)

// Field is one key of a KindStruct.
type Field struct {
	Key        string // as written in a graph
	GoName     string // as written in Go; an alias of Key in Recv
	Index      []int  // for reflect.Value.FieldByIndex
	Type       *Type
	Role       Role
	Doc        string
	Required   bool
	NoWatch    bool // a new received value needs no restart of Watch
	Default    any  // the value that absence means, as Encode gives it; nil when it is the zero value
	HasDefault bool
}

// ReservedKeys are the keys of a resource's declaration that a kind may not use
// for its own fields. "name" is reserved too, except for an identity.
var ReservedKeys = []string{"meta", "recv", "before", "depend", "notify", "listen"}
