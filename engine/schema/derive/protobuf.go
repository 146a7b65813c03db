package derive

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Laws of the messages of protobuf:
//
//   - A kind has one message, with its structs inside. A field has the key of the parameter as its name in JSON.
//   - The number of a field follows from its key alone. So a new field, or another order, changes no other number.
//   - Values of a set stay texts: an enum of protobuf would refuse the words of a later version.
//   - Times, sizes and modes are texts too, in the notation of graphs.
//   - What has no form in protobuf, such as a list of lists, is a value of google.protobuf.

// wellKnown is the file of protobuf with values of any shape.
const wellKnown = "google/protobuf/struct.proto"

// Protobuf returns one file of protobuf (proto3) with a message for each kind. The name is that of its package. A name of
// a kind in casing of messages must be free; kinds that differ in signs only are an error.
func Protobuf(name, header string, kinds []Kind) ([]byte, error) {
	var b strings.Builder
	taken := map[string]string{}
	for _, k := range kinds {
		message := messageName(k.Name)
		if other, ok := taken[message]; ok {
			return nil, fmt.Errorf("the kinds %s and %s have one message %s", other, k.Name, message)
		}
		taken[message] = k.Name
		b.WriteString("\n")
		protoDoc(&b, "", k.doc())
		w := protobuf{b: &b, path: []string{message}, names: map[*schema.Type]string{k.Type: message}}
		if err := w.message(message, k.Type, ""); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	head := fmt.Sprintf("%ssyntax = \"proto3\";\n\npackage %s;\n", header, name)
	if strings.Contains(b.String(), " google.protobuf.") { // protoc warns of an import that nothing needs
		head += fmt.Sprintf("\nimport %q;\n", wellKnown)
	}
	return []byte(head + b.String()), nil
}

// protobuf writes the message of one kind.
type protobuf struct {
	b     *strings.Builder
	path  []string                // of the message that is written
	names map[*schema.Type]string // of the structs around, by which others link to them
}

// message writes a struct: first the structs inside it, then its fields. The inner messages are named after the keys that
// hold them, and not after types of Go: a key is a part of the contract, and the name of a type is not.
// Two keys whose numbers are equal are an error. With the few keys of a struct that hardly ever happens. Two keys that differ in
// signs only are an error too, since the messages and the fields of a message share their names.
func (w *protobuf) message(name string, t *schema.Type, indent string) error {
	fmt.Fprintf(w.b, "%smessage %s {\n", indent, name)
	numbers, taken := map[uint32]string{}, map[string]string{}
	for _, f := range t.Fields {
		if s := structIn(f.Type); s != nil && s.Link == nil && !s.Opaque {
			inner := messageName(f.Key)
			if other, ok := taken[inner]; ok {
				return sameName(other, f.Key, inner)
			}
			taken[inner] = f.Key
			w.names[s] = strings.Join(append(w.path, inner), ".")
			w.path = append(w.path, inner)
			if err := w.message(inner, s, indent+"  "); err != nil {
				return err
			}
			w.path = w.path[:len(w.path)-1]
		}
	}
	for _, f := range t.Fields {
		n := fieldNumber(f.Key)
		if other, ok := numbers[n]; ok {
			return fmt.Errorf("the keys %s and %s have one number: give one of them another name", other, f.Key)
		}
		numbers[n] = f.Key
		field := fieldName(f.Key)
		if taken[field] == f.Key {
			field += "_" // the message that the field holds has its name
		}
		if other, ok := taken[field]; ok {
			return sameName(other, f.Key, field)
		}
		taken[field] = f.Key
		protoDoc(w.b, indent+"  ", DocText(f))
		fmt.Fprintf(w.b, "%s  %s %s = %d [json_name = %q];\n", indent, w.labelled(f), field, n, f.Key)
	}
	fmt.Fprintf(w.b, "%s}\n", indent)
	return nil
}

// sameName is the error about two keys of one name. Another name for one of them is the way out, since no number or order could tell
// them apart for a program.
func sameName(one, other, name string) error {
	return fmt.Errorf("the keys %s and %s have one name in protobuf, %s: give one of them another name", one, other, name)
}

// structIn is the struct that a field holds, by itself, in a list or in a map; nil for none.
// A list of lists has no form in protobuf, so only one list or map around a struct counts.
func structIn(t *schema.Type) *schema.Type {
	if (t.Kind == schema.KindList || t.Kind == schema.KindMap) && !t.Opaque {
		t = t.Elem
	}
	if t.Kind == schema.KindStruct {
		return t
	}
	return nil
}

// labelled is the type of a field with its label. Lists and maps have no presence in protobuf: absent and empty are one.
// A field that may be absent keeps absence apart from the zero value.
func (w *protobuf) labelled(f *schema.Field) string {
	t := f.Type
	switch {
	case t.Opaque:
		return "google.protobuf.Value"
	case t.Kind == schema.KindList:
		return "repeated " + w.single(t.Elem)
	case t.Kind == schema.KindMap:
		return "map<string, " + w.single(t.Elem) + ">"
	case f.Required, t.Kind == schema.KindAny, t.Kind == schema.KindStruct:
		return w.single(t)
	}
	return "optional " + w.single(t)
}

// single is the type of one value. What code of a kind reads may have several shapes, so it is a value of any shape.
// A reference is its text, kind[name]. A link is the message around it, by its whole name.
func (w *protobuf) single(t *schema.Type) string {
	switch {
	case t.Opaque:
		return "google.protobuf.Value"
	case t.Kind == schema.KindStruct:
		if t.Link != nil {
			t = t.Link
		}
		return w.names[t]
	case t.Kind == schema.KindList:
		return "google.protobuf.ListValue"
	case t.Kind == schema.KindMap:
		return "google.protobuf.Struct"
	case t.Kind == schema.KindBool:
		return "bool"
	case t.Kind == schema.KindInt && t.Unsigned:
		return "uint64"
	case t.Kind == schema.KindInt:
		return "int64"
	case t.Kind == schema.KindFloat:
		return "double"
	case t.Kind == schema.KindAny:
		return "google.protobuf.Value"
	}
	return "string"
}

// word splits a name at the signs that messages can't have.
var word = lazyregexp.New(`[A-Za-z0-9]+`)

// messageName is a name in the casing of messages: aws:ec2:vpc is AwsEc2Vpc.
func messageName(name string) string {
	var b strings.Builder
	for _, part := range word.FindAllString(name, -1) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if s := b.String(); s != "" && (s[0] < '0' || s[0] > '9') {
		return s
	}
	return "M" + b.String()
}

// fieldName is a key in the letters of protobuf. The key itself is the name in JSON, so the JSON of a message has the form
// that a graph has.
func fieldName(key string) string {
	name := strings.Join(word.FindAllString(key, -1), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "f_" + name
	}
	return name
}

// fieldNumber is the number of a key: a hash, within the numbers that are free in protobuf.
func fieldNumber(key string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(key))
	const reserved = 20000 // the numbers below it hold those that protobuf keeps for itself
	return reserved + h.Sum32()%(1<<29-1-reserved)
}

// protoDoc writes a comment.
func protoDoc(b *strings.Builder, indent, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(indent+"// "+line, " \t\r") + "\n")
	}
}
