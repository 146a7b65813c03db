package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minComments is the least share of the lines of a package that are comments, in
// percent. Comments have the laws, the owners, the units and the reasons.
const minComments = 10.0

// risen are packages that had a smaller share once, and the share that each has reached.
// It only ever rises, up to 15: whoever comments such a package raises it.
var risen = map[string]float64{
	"cmd":                               15.0,
	"docker":                            15.0,
	"engine/control":                    15.0,
	"engine/enginetest":                 15.0,
	"engine/host/systemdtest":           15.0,
	"engine/journal/storetest":          15.0,
	"engine/provider/providertest":      15.0,
	"engine/provider/puppettype":        15.0,
	"engine/provider/puppettype/rubyre": 15.0,
	"engine/schema":                     15.0,
	"engine/schema/derive":              15.0,
	"engine/schema/strictjson":          15.0,
	"engine/world/worldtest":            15.0,
	"gapi/puppet":                       15.0,
	"gapi/yaml":                         15.0,
	"graph/graphtest":                   15.0,
	"integration/bench":                 15.0,
	"integration/soak":                  15.0,
	"internal/unix":                     15.0,
	"packaging/repository":              15.0,
	"resources/account":                 15.0,
	"resources/account/backends":        15.0,
	"resources/all":                     15.0,
	"resources/archived":                15.0,
	"resources/cron":                    15.0,
	"resources/download":                15.0,
	"resources/entries":                 15.0,
	"resources/exec":                    15.0,
	"resources/file":                    15.0,
	"resources/hostname":                15.0,
	"resources/internal/archive":        15.0,
	"resources/internal/kindtest":       15.0,
	"resources/mount":                   15.0,
	"resources/net":                     15.0,
	"resources/password":                15.0,
	"resources/pkg":                     15.0,
	"resources/pkg/backends":            15.0,
	"resources/ssh":                     15.0,
	"resources/ssh/sshtest":             15.0,
	"resources/svc":                     15.0,
	"resources/svc/backends":            15.0,
	"resources/sysctl":                  15.0,
}

// commented counts the lines of a package.
type commented struct{ lines, comments int }

func (c commented) share() float64 { return 100 * float64(c.comments) / float64(max(c.lines, 1)) }

// TestCommentsOfEachPackage keeps the share of comments in each package. Of the kinds it
// looks at those in risen.
func TestCommentsOfEachPackage(t *testing.T) {
	per := map[string]*commented{}
	walkText(t, "..", ".go", func(path string) { countComments(t, path, per) })
	if len(per) < 50 {
		t.Fatalf("only %d packages found", len(per))
	}
	for name, c := range per {
		if least := max(minComments, risen[name]); c.share() < least {
			t.Errorf("%s has %.2f %% comments, it needs %.1f %%: say its laws, owners, units and reasons", name, c.share(), least)
		}
	}
	for name := range risen {
		if per[name] == nil {
			t.Errorf("risen names %s, which is not there", name)
		}
	}
}

// countComments adds the lines of one file that is neither a test nor generated, nor of a
// kind that has not risen.
func countComments(t *testing.T, path string, per map[string]*commented) {
	t.Helper()
	name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
	kind := (name == "resources" || strings.HasPrefix(name, "resources/")) && risen[name] == 0
	if strings.HasSuffix(path, "_test.go") || kind {
		return
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if generatedGo.Match(src[:set.Position(file.Package).Offset]) {
		return
	}
	c := per[name]
	if c == nil {
		c = &commented{}
		per[name] = c
	}
	c.lines += strings.Count(string(src), "\n")
	c.comments += ownLines(set, src, file.Comments)
}

// ownLines counts the comments that have a line for themselves.
func ownLines(set *token.FileSet, src []byte, groups []*ast.CommentGroup) int {
	n := 0
	for _, g := range groups {
		for _, c := range g.List {
			at := set.Position(c.Pos())
			before := src[at.Offset-at.Column+1 : at.Offset]
			if strings.TrimSpace(string(before)) == "" {
				n += 1 + strings.Count(c.Text, "\n")
			}
		}
	}
	return n
}
