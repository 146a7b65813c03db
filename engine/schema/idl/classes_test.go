package idl_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// refused has, for each class of findings, definitions that have this finding and no other one. A definition is the body of m/a.go,
// behind the import of the markers; one that begins with "package" is the whole file.
var refused = map[string][]string{
	idl.EGo: {
		"package m\ntype S struct {", "package m\ntype S struct{ A Nope }", "package m\ntype S struct{ A, A string }", "package m\ntype S struct{ S }", "package m\nconst A = B",
		"package m\nimport \"github.com/reactivegraph/mgmt/idl\"\nconst A = 1", "package m\nconst A = 1\nconst A = 2", "package m\nconst A float64 = \"x\"",
	},
	idl.EImport:          {"package m\nimport \"time\"\ntype S struct{ A time.Duration }", "package m\nimport \"demo/idl/nope\"\ntype S struct{ A nope.T }"},
	idl.EBuildConstraint: {"//go:build linux\n\npackage m\ntype S struct{ A string }", "// +build linux\n\npackage m\ntype S struct{ A string }"},
	idl.EToplevelFunc:    {"func F() {}", "func F[T any](T) {}", "func (s *S) F() {}\ntype S struct{ A string }", "func init() {}"},
	idl.EToplevelVar:     {"var X = 1", "var X struct{}", "var (\n\tX string\n)"},
	idl.EBadTypedef:      {"type I interface{ F() }", "type F func()", "type C chan int", "type A [3]string", "type S struct{ A string }\ntype T S", "type S[T any] struct{ A T }", "type P *string"},
	idl.EAliasNotEnum:    {"type E string", "type L []string", "type M map[string]string", "type N float64", "type B bool"},
	idl.EGoAlias:         {"type A = string", "type S struct{ A string }\ntype T = S"},
	idl.EEnumNotString:   {"type E float64\nconst A E = 1", "type E bool\nconst A E = true", "type E int\nconst A E = iota"},
	idl.EEnumDuplicate:   {"type E string\nconst (\n\tA E = \"x\"\n\tB E = \"x\"\n)", "type E string\nconst (\n\tA E = \"x\"\n\tB\n)"},
	idl.EConstType:       {"const A int = 1", "const A = 1e400 * 1e400", "const A = 'x'", "const A = 1i", "const A uint8 = 1", "const A = 1<<60 + 1"},
	idl.EBadPrimitive:    {field("int"), field("uint8"), field("float32"), field("byte"), field("rune"), field("uintptr"), field("[]int"), field("map[string]int64"), field("complex128")},
	idl.EBadType:         {field("chan string"), field("func()"), field("error"), field("[3]string"), field("interface{ F() }"), "type S struct{ string }"},
	idl.EBadPointer:      {tagged("**string", "optional"), "type R struct {\n\tidl.Resource\n\tA **R\n}"},
	idl.EInlineStruct:    {field("struct{ B string }"), field("[]struct{ B string }"), field("map[string]struct{}")},
	idl.EMapKey:          {field("map[bool]string"), field("map[float64]string"), field("map[T]string") + "\ntype T struct{ A string }", field("map[any]string"), field("map[[1]string]string")},
	idl.EResourceByValue: {field("R") + "\n" + resource(""), field("[]R") + "\n" + resource(""), "type S struct{ A idl.Resource }", resource("A map[string]T") + "\ntype T struct{ idl.Resource }"},
	idl.EEmbedPointer:    {"type R struct{ *idl.Resource }", "type T struct{ A string }\ntype S struct{ *T }"},
	idl.EEmbedResource:   {"type R struct {\n\tidl.Resource\n\tidl.NamedResource\n}", resource("") + "\ntype S struct{ R }", resource("") + "\ntype Q struct {\n\tidl.Resource\n\tR\n}"},
	idl.EUnexportedField: {"type S struct{ a string }", "type S struct{ _ string }", resource("A, b string")},
	idl.EPointerNotOptional: {
		field("*string"), field("[]*string"), field("map[string]*float64"), resource("A *bool"), field("*T") + "\ntype T struct{ A string }", tagged("*[]*string", "optional"),
	},
	idl.EOptionalNotPointer:  {tagged("string", "optional"), tagged("[]string", "optional"), tagged("map[string]string", "optional"), tagged("any", "optional")},
	idl.ETagSyntax:           {"type S struct {\n\tA string `lumi: \"a\"`\n}", "type S struct {\n\tA string `lmi:\"optional\"`\n}", tagged("string", "name"), tagged("*string", "optional=yes"), tagged("string", "minLen"), resource("A string `lumi:\"lend=any\"`"), resource("A string `lumi:\"lend=\"`"), "type S struct {\n\tA string `lumi`\n}", "type R struct {\n\tidl.Resource `lumi:\"batch=1\"`\n}", "type R struct {\n\tidl.Resource `lumi:\"batch\"`\n}"},
	idl.ETagUnknown:          {tagged("string", "optionl"), tagged("string", ",secret"), tagged("string", "Secret"), "type R struct {\n\tidl.Resource `lumi:\"wach\"`\n}", "type R struct {\n\tidl.Resource `lumi:\"watch=1\"`\n}", "type R struct {\n\tidl.Resource `lumi:\"watch=\"`\n}", "type T struct{ A string }\ntype S struct {\n\tT `lumi:\"secret\"`\n}"},
	idl.ETagDuplicate:        {tagged("string", "secret,secret"), resource("A string `lumi:\"replaces,replace\"`"), tagged("string", "minLen=1,minLen=2"), "type R struct {\n\tidl.Resource `lumi:\"watch,watch\"`\n}"},
	idl.ETagName:             {tagged("string", "name=1a"), tagged("string", "name=a-b"), tagged("string", "name="), "type S struct{ Élan string }"},
	idl.EReplacesNotResource: {tagged("string", "replaces"), tagged("string", "replace")},
	idl.EOutNotResource:      {tagged("string", "out"), tagged("*string", "out,optional")},
	idl.ELend:                {resource("A string `lumi:\"out,lend\"`"), tagged("string", "lend")},
	idl.EIn:                  {resource("A string `lumi:\"in,out\"`"), tagged("string", "in")},
	idl.EOutReplaces:         {resource("A string `lumi:\"out,replaces\"`")},
	idl.EConstraintType: {
		tagged("string", "min=1"), tagged("float64", "minLen=1"), tagged("string", "maxItems=1"), tagged("bool", "format=ip"), tagged("bool", "secret"), tagged("float64", "regex=a"),
		tagged("E", "minLen=1") + "\ntype E string\nconst X E = \"x\"", tagged("[]bool", "max=2"),
	},
	idl.EConstraintValue: {
		tagged("float64", "min=x"), tagged("float64", "max=NaN"), tagged("float64", "max=Inf"), tagged("float64", "min=2,max=1"), tagged("string", "minLen=-1"), tagged("string", "minLen=1.5"),
		tagged("string", "minLen=2,maxLen=1"), tagged("[]string", "minItems=2,maxItems=1"), tagged("string", "format=ipv4"), tagged("string", "regex=("), tagged("string", `regex=(?<=a)b`), tagged("string", "regex=a**"), tagged("string", "maxLen=99999999999"),
	},
	idl.EConstraintOut: {resource("A string `lumi:\"out,minLen=1\"`"), resource("A float64 `lumi:\"out,max=1\"`"), resource("A *string `lumi:\"out,optional,default=x\"`"), resource("A string `lumi:\"out,regex=a\"`")},
	idl.ERegexPortable: {tagged("string", "regex=(?=a)"), tagged("string", `regex=\\Aa`)},
	idl.EDefault: {
		resource("A *float64 `lumi:\"optional,default=x\"`"), resource("A *bool `lumi:\"optional,default=maybe\"`"), resource("A *[]string `lumi:\"optional,default=x\"`"), resource("A string `lumi:\"default=x\"`"),
		tagged("*string", "optional,default=x"), resource("A *string `lumi:\"optional,secret,default=x\"`"), resource("A *E `lumi:\"optional,default=z\"`") + "\ntype E string\nconst X E = \"x\"", resource("A *T `lumi:\"optional,default=x\"`") + "\ntype T struct{ B string }",
		resource("A *float64 `lumi:\"optional,default=NaN\"`"),
		// A default that its own property would refuse.
		resource("A *float64 `lumi:\"optional,default=6,max=5\"`"), resource("A *float64 `lumi:\"optional,min=5,default=4\"`"), resource("A *string `lumi:\"optional,default=x,minLen=2\"`"),
		resource("A *string `lumi:\"optional,default=x,regex=^a$\"`"), resource("A *string `lumi:\"optional,default=x,format=ip\"`"),
	},
	idl.EDuplicateProperty: {
		"type S struct {\n\tA string\n\tB string `lumi:\"name=a\"`\n}", "type T struct{ A string }\ntype S struct {\n\tA string\n\tT\n}", "type R struct {\n\tidl.NamedResource\n\tB string `lumi:\"name=name\"`\n}",
		"type S struct {\n\tID string\n\tId string\n}", "type T struct {\n\tA string `lumi:\"name=b\"`\n}\ntype S struct {\n\tA string\n\tT\n}",
	},
	idl.EReservedProperty:   {resource("ID string"), resource("URN string"), resource("Before string"), resource("A string `lumi:\"name=constructor\"`"), tagged("string", "name=__proto__")},
	idl.EPredeclared:        {"type error string\nconst A error = \"a\"", "const nil = \"x\"", "const true = \"x\""},
	idl.EUnexportedResource: {"type r struct{ idl.Resource }", "type r struct {\n\tidl.NamedResource\n\tA string\n}"},
	idl.EUnexportedType: {
		field("t") + "\ntype t struct{ A string }", field("map[e]string") + "\ntype e string\nconst X e = \"x\"", resource("A []e") + "\ntype e string\nconst X e = \"x\"",
		"type t struct{ A string }\ntype u struct{ B t }\ntype S struct{ u }",
	},
	idl.ENameCollision: {
		"type VPC struct{ idl.Resource }\ntype Vpc struct{ idl.Resource }", resource("") + "\ntype RArgs struct{ A string }", resource("") + "\ntype NewRProvider struct{ A string }",
		"type S struct{ A string }\ntype SData struct{ A string }", "type Ab struct{ A string }\ntype ab struct{ A string }", "type AB struct{ A string }\ntype Ab struct{ A string }",
	},
}

// field is a struct S with the field A of a type.
func field(of string) string { return "type S struct {\n\tA " + of + "\n}" }

// tagged is field with options.
func tagged(of, options string) string { return field(of + " `lumi:\"" + options + "\"`") }

// resource is a resource R with some fields.
func resource(fields string) string { return "type R struct {\n\tidl.Resource\n\t" + fields + "\n}" }

// whole makes a file of a definition.
func whole(text string) string {
	if strings.Contains(text, "package m\n") {
		return text + "\n"
	}
	if strings.Contains(text, "idl.") {
		return head + text + "\n"
	}
	return "package m\n" + text + "\n"
}

// TestEachClass: each definition has its finding, at a place in the file, and no other one. The finding names what it is about, and
// there is a definition for each class of the source.
func TestEachClass(t *testing.T) {
	for _, class := range slices.Sorted(func(yield func(string) bool) {
		for class := range refused {
			if !yield(class) {
				return
			}
		}
	}) {
		for _, text := range refused[class] {
			p, found := compile(whole(text))
			var got []string
			for _, d := range found {
				if got = append(got, d.Class); d.Pos.File != "m/a.go" || d.Pos.Line == 0 || d.Message == "" {
					t.Errorf("%s: the finding has no place, or no words: %v", text, d)
				}
			}
			if got = slices.Compact(got); p != nil || !slices.Equal(got, []string{class}) {
				t.Errorf("%s\nhas %v, want %s", text, found, class)
			}
		}
	}
	elsewhere := []string{idl.EPackage, idl.EFile, idl.EFileConflict, idl.EEnumForeign, idl.ETooLarge} // see TestWholeFolders
	for _, class := range classesOf(t) {
		if len(refused[class]) == 0 && !slices.Contains(elsewhere, class) {
			t.Errorf("no definition has a finding of the class %s", class)
		}
	}
}

// classesOf reads the classes out of the source.
func classesOf(t *testing.T) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "class.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			class, _ := strconv.Unquote(lit.Value)
			all = append(all, class)
		}
		return true
	})
	if len(all) < 40 {
		t.Fatalf("class.go has %d classes", len(all))
	}
	return all
}

// failing is a file system in which one file cannot be read.
type failing struct {
	good fs.FS
	name string
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, errors.New("the disk is on fire")
	}
	return f.good.Open(name)
}

// TestWholeFolders: what is about several files, or about none. Each line of want is in a finding of its own.
func TestWholeFolders(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	var many strings.Builder
	many.WriteString("type S0 struct{ A string }\n")
	for i := range 17 {
		many.WriteString(fmt.Sprintf("type S%d struct{ A, B S%d }\n", i+1, i))
	}
	for name, c := range map[string]struct {
		root fs.FS
		o    idl.Options
		want []string
	}{
		"no file":          {fstest.MapFS{"m/a.txt": file("x")}, idl.Options{Package: "demo"}, []string{"there is no .go file; name the folder of the definitions [E_FILE]"}},
		"hidden files":     {fstest.MapFS{".m/a.go": file("x"), "_m/a.go": file("x"), "testdata/a.go": file("x"), "vendor/a.go": file("x"), "m/a_test.go": file("x"), "m/.a.go": file("x")}, idl.Options{Package: "demo"}, []string{"there is no .go file"}},
		"no package":       {fstest.MapFS{"m/a.go": file("package m\n")}, idl.Options{}, []string{`the package name "" is not made of small letters, digits and -; give one with --package [E_PACKAGE]`}},
		"a package's name": {fstest.MapFS{"m/a.go": file("package m\n")}, idl.Options{Package: "a_b"}, []string{"E_PACKAGE"}},
		"a large file":     {fstest.MapFS{"m/a.go": file("package m\n//" + strings.Repeat("x", idl.MaxFile))}, idl.Options{Package: "demo"}, []string{"m/a.go: the file has 1048588 bytes, and may have 1048576; divide it [E_FILE]"}},
		"an index":         {fstest.MapFS{"m/index.go": file("package m\n")}, idl.Options{Package: "demo"}, []string{"m/index.go:1:1: index.ts is the list of what the module exports; give the file another name [E_FILE_CONFLICT]"}},
		"a broken disk":    {failing{fstest.MapFS{"m/a.go": file("package m\n"), "m/b.go": file("package m\nvar X = 1\n")}, "m/a.go"}, idl.Options{Package: "demo"}, []string{"the disk is on fire [E_FILE]"}},
		"another's enum":   {fstest.MapFS{"a/a.go": file("package a\ntype E string\nconst X E = \"x\"\n"), "b/b.go": file("package b\nimport \"demo/idl/a\"\nconst Y a.E = \"y\"\n")}, idl.Options{Package: "demo"}, []string{"b/b.go:3:7: Y: E is an enum of another package, which has all its constants [E_ENUM_FOREIGN]"}},
		"too many parts":   {fstest.MapFS{"m/a.go": file("package m\n" + many.String())}, idl.Options{Package: "demo"}, []string{"S16: the definitions have more than 200000 properties"}},
		"two packages":     {fstest.MapFS{"m/a.go": file("package m\n"), "m/b.go": file("package n\n")}, idl.Options{Package: "demo"}, []string{"m/b.go:1:9: the package is n here, and m in m/a.go; a folder has one package [E_GO]"}},
		"a circle": {fstest.MapFS{"a/a.go": file("package a\nimport \"demo/idl/b\"\ntype A struct{ X b.B }\n"), "b/b.go": file("package b\nimport \"demo/idl/a\"\ntype B struct{ X []a.A }\n")}, idl.Options{Package: "demo"},
			[]string{"b/b.go:2:8: demo/idl/a imports itself over demo/idl/b; move the types that both use to a module of their own [E_GO]"}},
		"two kinds of one name": {fstest.MapFS{"A/a.go": file(strings.Replace(head, "package m", "package a", 1) + resource("") + "\n"), "a/a.go": file(strings.Replace(head, "package m", "package a", 1) + resource("") + "\n")}, idl.Options{Package: "demo"},
			[]string{"a/a.go:3:6: R: the name demo:a:r is generated for R; choose another name [E_NAME_COLLISION]"}},
		"two bad files": {fstest.MapFS{"m/a.go": file("package m\nvar X = 1\n"), "n/a.go": file("package n\nfunc F() {}\n")}, idl.Options{Package: "demo"}, []string{"m/a.go:2:5: X: definitions have no variables", "n/a.go:2:6: F: definitions have no functions"}},
	} {
		p, found := idl.Compile(context.Background(), c.root, c.o)
		if p != nil || len(found) != len(c.want) {
			t.Errorf("%s: %v\nwant %s", name, found, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(found[i].String(), want) {
				t.Errorf("%s: %s\nwant %s", name, found[i], want)
			}
		}
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if p, found := idl.Compile(over, fstest.MapFS{"m/a.go": file("package m\n")}, idl.Options{Package: "demo"}); p != nil || !strings.Contains(found.Err().Error(), "context canceled") {
		t.Errorf("a context that has ended: %v", found)
	}
}

// TestTakenConstraints: what a tag says stands in the type, also behind a space, and with commas in the pattern.
func TestTakenConstraints(t *testing.T) {
	for text, want := range map[string]string{
		tagged("string", "minLen=1,maxLen=3"):                                   "string min 1 max 3",
		tagged("*string", "optional, regex=^a{1,3}$"):                           "string pattern ^a{1,3}$ optional",
		tagged("*string", "optional,regex=^(a,b),optional$"):                    "string pattern ^(a,b),optional$ optional",
		tagged("string", "regex=,"):                                             "string pattern ,",
		tagged("string", "format=cidr"):                                         "string format cidr",
		tagged("float64", "min=-1.5,max=1e3"):                                   "float64 from -1.5 to 1000",
		tagged("[]string", "minItems=1,maxItems=2,maxLen=9"):                    "list min 1 max 2 of string max 9",
		tagged("map[string][]float64", "maxItems=2,min=0"):                      "map max 2 of list of float64 from 0",
		tagged("*string", "secret, optional"):                                   "string secret optional",
		tagged("any", "secret"):                                                 "any secret",
		tagged("map[E]string", "name=b") + "\ntype E string\nconst X E = \"x\"": "map of string",
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
}

// wordsOf writes the constraints of a type.
func wordsOf(t *schema.Type) string {
	out := map[schema.Kind]string{schema.KindString: "string", schema.KindFloat: "float64", schema.KindList: "list", schema.KindMap: "map", schema.KindAny: "any"}[t.Kind]
	if t.FloatMin != nil {
		out += fmt.Sprint(" from ", *t.FloatMin)
	}
	if t.FloatMax != nil {
		out += fmt.Sprint(" to ", *t.FloatMax)
	}
	if t.Min != nil {
		out += fmt.Sprint(" min ", *t.Min)
	}
	if t.Max != nil {
		out += fmt.Sprint(" max ", *t.Max)
	}
	if t.Pattern != "" {
		out += " pattern " + t.Pattern
	}
	if t.Format != "" {
		out += " format " + t.Format
	}
	if t.Secret {
		out += " secret"
	}
	if t.Optional {
		out += " optional"
	}
	if t.Elem != nil {
		out += " of " + wordsOf(t.Elem)
	}
	return out
}

// TestFlatIsAWord: the word of a folder has letters, digits and _ only, and keeps the length.
func TestFlatIsAWord(t *testing.T) {
	for dir, want := range map[string]string{".": "index", "a/b-c": "a_b_c", "ec2": "ec2", "a.b": "a_b"} {
		if got := idl.Flat(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.StringMatching(`[a-zA-Z0-9_./ é-]{2,9}`).Draw(t, "dir")
		if got := idl.Flat(dir); len(got) != len(dir) || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Fatalf("%q gives %q", dir, got)
		}
	})
}

// TestNamesInStubs: a word that Go has for something else gets an underscore.
func TestNamesInStubs(t *testing.T) {
	for name, want := range map[string]string{"Type": "type_", "String": "string_", "VPC": "vpc", "Instance": "instance", "IPProtocol": "ipProtocol", "Len": "len_", "Func": "func_", "IDs": "ids", "A": "a"} {
		if got := (&idl.Decl{Name: name}).Lower(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
