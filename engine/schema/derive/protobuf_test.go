package derive_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// site is a type with every form that messages have.
func site() derive.Kind {
	text := &schema.Type{Kind: schema.KindString}
	rule := &schema.Type{Kind: schema.KindStruct, Name: "Rule", Fields: []*schema.Field{{Key: "port", Required: true, Type: &schema.Type{Kind: schema.KindInt, Bits: 64}}}}
	rule.Fields = append(rule.Fields, &schema.Field{Key: "inner", Type: &schema.Type{Kind: schema.KindStruct, Link: rule}})
	list := func(t *schema.Type) *schema.Type { return &schema.Type{Kind: schema.KindList, Elem: t} }
	return derive.Kind{Name: "aws:ec2:site", Doc: "A site.", Type: &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{
		{Key: "title", Required: true, Doc: "Its title.", Type: text},
		{Key: "note", Type: text},
		{Key: "ratio", Type: &schema.Type{Kind: schema.KindFloat, Bits: 64}},
		{Key: "size", Required: true, Type: &schema.Type{Kind: schema.KindInt, Bits: 64, Unsigned: true}},
		{Key: "rules", Type: list(rule)},
		{Key: "table", Type: list(list(text))},
		{Key: "env-vars", Type: &schema.Type{Kind: schema.KindMap, Elem: text}},
		{Key: "data", Type: &schema.Type{Kind: schema.KindAny}},
	}}}
}

// messages are the parts of a file of protobuf, without the numbers, which follow from the keys.
const messages = `// made
syntax = "proto3";
package aws;
import "google/protobuf/struct.proto";
// A site.
message AwsEc2Site {
message Rules {
int64 port [json_name = "port"];
AwsEc2Site.Rules inner [json_name = "inner"];
}
// Its title.
string title [json_name = "title"];
optional string note [json_name = "note"];
optional double ratio [json_name = "ratio"];
uint64 size [json_name = "size"];
repeated AwsEc2Site.Rules rules [json_name = "rules"];
repeated google.protobuf.ListValue table [json_name = "table"];
map<string, string> env_vars [json_name = "env-vars"];
google.protobuf.Value data [json_name = "data"];
}`

// TestProtobuf: each form of a type has its form in protobuf.
func TestProtobuf(t *testing.T) {
	text, err := derive.Protobuf("aws", "// made\n", []derive.Kind{site()})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(parts(string(text)), "\n"); got != messages {
		t.Errorf("%s\nwant\n%s", got, messages)
	}
}

// parts are the lines of a file of protobuf without their numbers.
func parts(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if before, after, ok := strings.Cut(line, " = "); ok && strings.Contains(after, " [") {
			_, after, _ = strings.Cut(after, " [")
			line = before + " [" + after
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestProtobufNumbers: another order, and further fields, change no number.
func TestProtobufNumbers(t *testing.T) {
	first, err := derive.Protobuf("aws", "", []derive.Kind{site()})
	if err != nil {
		t.Fatal(err)
	}
	k := site()
	more := &schema.Field{Key: "more", Type: &schema.Type{Kind: schema.KindBool}}
	k.Type.Fields = append([]*schema.Field{more, k.Type.Fields[1], k.Type.Fields[0]}, k.Type.Fields[2:]...)
	second, err := derive.Protobuf("aws", "", []derive.Kind{k})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(first)) {
		if !strings.Contains(string(second), line) {
			t.Errorf("lost or altered: %s", line)
		}
	}
}

// TestProtobufClash: two kinds of one message are refused.
func TestProtobufClash(t *testing.T) {
	a, b := site(), site()
	b.Name = "aws:ec2_site"
	if _, err := derive.Protobuf("aws", "", []derive.Kind{a, b}); err == nil || !strings.Contains(err.Error(), "the kinds aws:ec2:site and aws:ec2_site have one message AwsEc2Site") {
		t.Errorf("error %v", err)
	}
}
