package protobuf_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/reactivegraph/mgmt/provider/protocol"
	"github.com/reactivegraph/mgmt/provider/protocol/protobuf"
)

var full = protocol.BatchReply{Outcomes: []protocol.Outcome{
	{Result: json.RawMessage(`{"found":true,"properties":{"a":[1,2.5,"x",false,{"b":[]}],"big":9007199254740992}}`)},
	{Error: &protocol.Error{Code: "denied", Message: "no", Failures: []protocol.Failure{{Path: "a", Message: "b"}, {}}, Properties: protocol.Bag{"a": int64(-1)}}},
	{},
}}

// TestRoundTrip: a message comes back as it was.
func TestRoundTrip(t *testing.T) {
	for _, v := range []any{
		&full,
		&protocol.HandshakeRequest{Protocols: protocol.Range{Min: -1, Max: 9001}, Features: []string{"", "list"}, Token: "é"},
		&protocol.CreateRequest{Subject: protocol.Subject{Token: "a:b:C", Key: "k"}, Properties: protocol.Bag{}},
		&protocol.CreateRequest{},
		&protocol.UpdateRequest{Old: protocol.Bag{"n": int64(1 << 53), "m": int64(-1 << 60), "f": 0.1, "z": math.Copysign(0, -1)}, Refresh: true},
	} {
		text, err := protobuf.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := protobuf.Unmarshal(text, back); err != nil || !reflect.DeepEqual(v, back) {
			t.Errorf("%+v, %v comes back for %+v", back, err, v)
		}
	}
}

// TestStruct: a bag is the Struct that the library of Protocol Buffers reads and writes.
func TestStruct(t *testing.T) {
	bag := protocol.Bag{"a": []any{int64(1), 2.5, "x", false, map[string]any{"b": []any{}}}, "": "empty"}
	text, err := protobuf.Marshal(&protocol.ConfigureRequest{Config: bag})
	if err != nil {
		t.Fatal(err)
	}
	var s structpb.Struct
	if err := proto.Unmarshal(text[2:], &s); err != nil { // after the key and the length of the field
		t.Fatal(err)
	}
	want, err := structpb.NewStruct(bag)
	if err != nil || !proto.Equal(&s, want) {
		t.Errorf("%v, %v", &s, want)
	}
	theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	var back protocol.ConfigureRequest
	if err := protobuf.Unmarshal(append(append([]byte{}, text[:2]...), theirs...), &back); err != nil || !reflect.DeepEqual(back.Config, bag) {
		t.Errorf("%v, %v", back.Config, err)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestRefused: a value that gRPC cannot carry is refused, with the key and without the value.
func TestRefused(t *testing.T) {
	for want, v := range map[string]any{
		"beyond 2^53": int64(1<<53 + 1), "not finite": math.Inf(1), "not UTF-8": "a\xff", "no part of a bag": struct{}{},
	} {
		_, err := protobuf.Marshal(&protocol.ConfigureRequest{Config: protocol.Bag{"key": v}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "key: ") || strings.Contains(err.Error(), "9007199254740993") {
			t.Error(want, err)
		}
	}
	deep := any("bottom")
	for range 300 {
		deep = []any{deep}
	}
	if _, err := protobuf.Marshal(&protocol.ConfigureRequest{Config: protocol.Bag{"key": deep}}); err == nil {
		t.Error("a bag without a bottom is taken")
	}
}

// FuzzUnmarshal: no bytes lead to a panic. A message that was read can be written, and reads the same.
func FuzzUnmarshal(f *testing.F) {
	text, err := protobuf.Marshal(&full)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte{0x0a, 0x80})
	f.Fuzz(func(t *testing.T, text []byte) {
		var m protocol.BatchReply
		if protobuf.Unmarshal(text, &m) != nil {
			return
		}
		again, err := protobuf.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		var back protocol.BatchReply
		if err := protobuf.Unmarshal(again, &back); err != nil || !reflect.DeepEqual(m, back) {
			t.Fatalf("%+v, %v comes back for %+v", back, err, m)
		}
	})
}
