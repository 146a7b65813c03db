package idl_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// TestFindingN2StubNames: a declaration whose stub would not compile is refused, at its own place and with a class of its own.
func TestFindingN2StubNames(t *testing.T) {
	for text, want := range map[string]string{
		head + "type small struct {\n\tidl.Resource\n\tX string\n}\n":                                     "m/a.go:3:6: small: every graph can have the resource, so its name has a capital letter; write it so, or remove the marker [E_UNEXPORTED_RESOURCE]",
		"package m\ntype error string\nconst A error = \"a\"\n":                                           "m/a.go:2:6: error: Go has this name for something that the stubs need; choose another name [E_PREDECLARED]",
		"package m\nconst nil = \"a\"\n":                                                                  "m/a.go:2:7: nil: Go has this name",
		head + "type R struct {\n\tidl.NamedResource\n\tName string `lumi:\"name=title\"`\n}\n":           "m/a.go:5:2: R.Name: the property \"title\" is there already",
		head + "type R struct {\n\tName string `lumi:\"name=title\"`\n\tidl.NamedResource\n}\n":           "m/a.go:4:2: R.Name: the property \"title\" is there already",
		head + "type r struct {\n\tidl.Resource\n}\ntype S struct {\n\tA *r `lumi:\"optional\"`\n}\n":     "m/a.go:3:6: r: every graph can have the resource",
		"package m\ntype e string\nconst X e = \"x\"\ntype S struct {\n\tA []e\n}\n":                      "m/a.go:5:2: S.A: the type e has a small letter",
		"package m\ntype t struct{ A string }\ntype u struct{ B t }\ntype S struct {\n\tC string\n\tu\n}": "m/a.go:6:2: S.B: the type t has a small letter",
	} {
		p, found := compile(text)
		if p != nil || len(found) != 1 || !strings.Contains(found[0].String(), want) {
			t.Errorf("%s\n%v\nwant %s", text, found, want)
		}
	}
}

// TestFindingN3Constants: a constant is the number that was written, or is refused. So are bounds and defaults.
func TestFindingN3Constants(t *testing.T) {
	for text, want := range map[string]string{
		"1<<60 + 1":                    "float64 does not hold the number 1152921504606846977, and the nearest one that it holds is 1.152921504606847e+18",
		"float64(1<<60 + 1)":           "", // Go itself makes it that number
		"-(1<<53) - 1":                 "float64 does not hold the number -9007199254740993",
		"9007199254740993":             "float64 does not hold the number 9007199254740993",
		"9007199254740993.0":           "float64 does not hold the number 9007199254740993",
		"1e-400":                       "float64 does not hold the number",
		"1e400":                        "the number is beyond float64",
		"1 << 60":                      "",
		"1<<53 + 2":                    "",
		"-1e23":                        "", // not held either, but printed as it was written
		"0.1":                          "",
		"1.0 / 3":                      "",
		"0":                            "",
		"3.14159265358979323846264338": "",
	} {
		p, found := compile("package m\nconst A = " + text + "\n")
		switch {
		case want == "" && p == nil:
			t.Errorf("%s: %v", text, found)
		case want != "" && (p != nil || len(found) != 1 || found[0].Class != idl.EConstType || !strings.Contains(found[0].String(), want)):
			t.Errorf("%s: %v, want %s", text, found, want)
		}
	}
	for text, class := range map[string]string{
		"const A float64 = 1<<60 + 1":                                       idl.EConstType,
		"const (\n\tA = 1<<60 + iota\n\tB\n)":                               idl.EConstType,
		tagged("float64", "min=9007199254740993"):                           idl.EConstraintValue,
		tagged("float64", "max=-9007199254740993"):                          idl.EConstraintValue,
		resource("A *float64 `lumi:\"optional,default=9007199254740993\"`"): idl.EDefault,
		tagged("float64", "min=-9007199254740992,max=1e23"):                 "",
		tagged("float64", "min=-0.1,max=0x1p10"):                            "",
	} {
		p, found := compile(whole(text))
		if (p == nil) != (class != "") || class != "" && found[0].Class != class {
			t.Errorf("%s: %v, want %s", text, found, class)
		}
	}
}

// TestFindingN4Folders: what only one system would take, and what only the module could use, is refused. Tags of other tools are not.
func TestFindingN4Folders(t *testing.T) {
	for name, taken := range map[string]bool{
		"m/disk_windows.go": false, "m/disk_arm64.go": false, "m/disk_linux_amd64.go": false, "m/a.b_plan9.go": true, "m/a_linux.b.go": false,
		"m/windows.go": true, "m/windows_disk.go": true, "m/security_group.go": true, "m/disk_unix.go": true, "linux/disk.go": true,
	} {
		p, found := idl.Compile(context.Background(), fstest.MapFS{name: {Data: []byte("package m\n")}}, idl.Options{Package: "demo"})
		if taken != (p != nil) || !taken && (len(found) != 1 || found[0].Class != idl.EBuildConstraint || found[0].Pos.File != name) {
			t.Errorf("%s: %v", name, found)
		}
	}
	for text, want := range map[string]string{
		"package m\ntype t struct{ A string }\ntype S struct{ B t }\n": "m/a.go:3:16: S.B: the type t has a small letter, so only its module can use it; write it with a capital letter, as its user S [E_UNEXPORTED_TYPE]",
		"package m\ntype t struct{ A string }\ntype S struct{ t }\n":   "",
		"package m\ntype s struct{ A string }\ntype u struct{ B s }\n": "",
		field("string `json:\"x\"`"):                                   "",
		field("string `json:\"x\" yaml:\"y,omitempty\"`"):              "",
		field("string ``"): "",
		field("*string `json:\"x\" lumi:\"optional\"`"):         "",
		field("string `optional`"):                              "E_TAG_SYNTAX",
		field("string `lumi: \"optional\"`"):                    "E_TAG_SYNTAX",
		field("string `Lumi:\"secret\"`"):                       "E_TAG_SYNTAX",
		field("string `json:\"x\" lunmi:\"secret\"`"):           "E_TAG_SYNTAX",
		"type R struct {\n\tidl.Resource `json:\",inline\"`\n}": "",
	} {
		p, found := compile(whole(text))
		if want == "" && p == nil || want != "" && (p != nil || len(found) != 1 || !strings.Contains(found[0].String(), want)) {
			t.Errorf("%s: %v, want %q", text, found, want)
		}
	}
}

// TestFindingN8Language: assets, archives, inputs alone, and names at the begin of a tag, as the original language has them.
func TestFindingN8Language(t *testing.T) {
	for text, want := range map[string]string{
		resource("A *idl.Asset"):                                                  "map min 1 max 1 of string",
		resource("A *idl.Archive `lumi:\"optional,replaces\"`"):                   "map min 1 max 1 optional of string",
		resource("A []*idl.Asset `lumi:\"in,minItems=1\"`"):                       "list min 1 of map min 1 max 1 of string",
		"type S struct {\n\tA map[string]*idl.Archive\n}":                         "map of map min 1 max 1 of string",
		resource("A *idl.Asset `lumi:\"out\"`"):                                   "map min 1 max 1 optional of string",
		resource("VPCID string `lumi:\"vpcID,in\"`"):                              "string",
		resource("GroupDescriptoin *string `lumi:\"groupDescription,optional\"`"): "string optional",
	} {
		p, found := compile(whole(text))
		if p == nil {
			t.Errorf("%s: %v", text, found)
			continue
		}
		if got := wordsOf(p.Decls()[0].Type.Fields[0].Type); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	p, found := compile(whole(resource("VPCID string `lumi:\"vpcID,in\"`")))
	if p == nil {
		t.Fatal(found)
	}
	if f := p.Decls()[0].Type.Fields[0]; f.Key != "vpcID" || f.Role != schema.RoleWriteOnly || !f.Required {
		t.Errorf("%+v", f)
	}
	if p.Decls()[0].Sends() != nil {
		t.Error("an input alone is sent")
	}
	for text, want := range map[string]string{
		"type S struct {\n\tA idl.Asset\n}":                    "m/a.go:4:2: S.A: it is referred to with a pointer: *idl.Asset [E_RESOURCE_BY_VALUE]",
		"type S struct {\n\tidl.Asset\n}":                      "E_BAD_TYPE",
		"type S struct {\n\t*idl.Archive\n}":                   "E_EMBED_POINTER",
		tagged("string", "in"):                                 "m/a.go:3:2: S.A: only an input of a resource is kept from its outputs; remove in, or mark the property that holds the struct [E_IN]",
		resource("A string `lumi:\"in,out\"`"):                 "E_IN",
		resource("A *idl.Asset `lumi:\"minItems=2\"`"):         "E_CONSTRAINT_TYPE",
		resource("A *idl.Asset `lumi:\"secret\"`"):             "E_CONSTRAINT_TYPE",
		resource("A *idl.Asset `lumi:\"optional,default=x\"`"): "E_DEFAULT",
		resource("A string `lumi:\"replace, b\"`"):             "E_TAG_UNKNOWN",
		resource("Color string `lumi:\"replacse\"`"):           "did you mean replace?",
		resource("Color string `lumi:\"shade\"`"):              "E_TAG_UNKNOWN",
		resource("Color string `lumi:\"optional,color\"`"):     "E_TAG_UNKNOWN",
	} {
		p, found := compile(whole(text))
		if p != nil || len(found) != 1 || !strings.Contains(found[0].String(), want) {
			t.Errorf("%s: %v, want %s", text, found, want)
		}
	}
}

// TestFindingN8Diff: an asset that becomes another type breaks graphs, and an output that is not given back any more breaks its readers.
func TestFindingN8Diff(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"A *idl.Asset", "A *idl.Archive", "breaking m.R.a: its type was *idl.Asset, and is *idl.Archive"},
		{"A string", "A string `lumi:\"in\"`", "breaking m.R.a: the provider does not give it back any more"},
		{"A string `lumi:\"in\"`", "A string", "compatible m.R.a: the provider gives it back now"},
	} {
		old, _ := compile(whole(resource(c.old)))
		now, _ := compile(whole(resource(c.now)))
		var got []string
		for _, change := range idl.Diff(old, now) {
			got = append(got, change.Level.String()+" "+change.Path+": "+change.Message)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s to %s: %s", c.old, c.now, got)
		}
	}
}
