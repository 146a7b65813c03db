package integration_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of unplain language. They only ever fall: whoever makes a text plainer
// lowers them with the same commit.
const (
	maxUnplainBlocks = 1.9 // percent of the comments of 12 words and more
	maxUnplainDocs   = 1.4 // patterns in 1,000 words of docs
	maxLongComments  = 2.0 // sentences of more than 25 words, in 1,000 words
	maxLongDocs      = 2.9
	maxPrivateWords  = 0.1 // words of ownWords, in 1,000 words of comments
	maxPrivateDocs   = 0.1
)

var plainList = flag.String("plain", "", "list the unplain passages of the files whose paths contain this text")

// passage is one place that is hard to read.
type passage struct{ file, name, text string }

// language is what a body of text amounts to.
type language struct {
	words, blocks, bad  int
	headless, long, own int
	perFolder           map[string]int
	passages            []passage
}

// add counts one text; a text of 12 words and more is a block.
func (l *language) add(file, text string) {
	r := read(text)
	l.words += r.words
	l.headless += len(r.headless)
	l.long += len(r.long)
	l.own += len(r.own)
	for _, f := range slices.Concat(r.headless, r.long, r.own) {
		l.passages = append(l.passages, passage{file, f.name, strings.Join(strings.Fields(text[f.from:f.to]), " ")})
	}
	if len(r.headless) > 0 {
		l.perFolder[filepath.Dir(file)]++
	}
	if r.words < 12 {
		return
	}
	l.blocks++
	if len(r.headless) > 0 {
		l.bad++
	}
}

func (l *language) perThousand(n int) float64 { return 1000 * float64(n) / float64(max(l.words, 1)) }

// worst names the folders with the most texts to be rewritten.
func (l *language) worst() []string {
	folders := slices.Collect(maps.Keys(l.perFolder))
	slices.SortFunc(folders, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.perFolder[b], l.perFolder[a]), cmp.Compare(a, b))
	})
	for i, f := range folders {
		folders[i] = fmt.Sprintf("%s %d", f, l.perFolder[f])
	}
	return folders[:min(12, len(folders))]
}

// hold fails where a figure is above its limit, and says how to find the places.
func (l *language) hold(t *testing.T, measure string, value, limit float64) {
	t.Helper()
	t.Logf("%s: %.2f (limit %.2f)", measure, value, limit)
	if value > limit {
		t.Errorf("%s: %.2f is above the limit of %.2f.\nMost are in %s.\nList them: go test ./integration -run %s -v -plain=FOLDER",
			measure, value, limit, strings.Join(l.worst(), ", "), t.Name())
	}
}

// list logs the passages that the flag -plain asks for.
func (l *language) list(t *testing.T) {
	if *plainList == "" {
		return
	}
	for _, p := range l.passages {
		if strings.Contains(p.file, *plainList) {
			t.Logf("%s: %s: %s", p.file, p.name, p.text)
		}
	}
}

// TestPlainComments keeps the comments of the code readable.
func TestPlainComments(t *testing.T) {
	l := &language{perFolder: map[string]int{}}
	walkText(t, "..", ".go", func(path string) { l.addComments(t, path) })
	l.list(t)
	if l.blocks < 1000 {
		t.Fatalf("only %d comments found", l.blocks)
	}
	l.hold(t, "percent of comments with an unplain pattern", 100*float64(l.bad)/float64(l.blocks), maxUnplainBlocks)
	l.hold(t, "long sentences in 1,000 words of comments", l.perThousand(l.long), maxLongComments)
	l.hold(t, "private words in 1,000 words of comments", l.perThousand(l.own), maxPrivateWords)
}

// TestPlainDocs keeps the pages for users readable, the generated ones included.
func TestPlainDocs(t *testing.T) {
	l := &language{perFolder: map[string]int{}}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		l.add(path, markdownProse(string(text)))
	}
	walkText(t, "../docs", ".md", add)
	add("../README.md")
	add("../CONTRIBUTING.md")
	l.list(t)
	if l.words < 10000 {
		t.Fatalf("only %d words of docs found", l.words)
	}
	l.hold(t, "unplain patterns in 1,000 words of docs", l.perThousand(l.headless), maxUnplainDocs)
	l.hold(t, "long sentences in 1,000 words of docs", l.perThousand(l.long), maxLongDocs)
	l.hold(t, "private words in 1,000 words of docs", l.perThousand(l.own), maxPrivateDocs)
}

// walkText calls add with each file of the repository below root that has the suffix.
// Folders that hold no text of this project are left out.
func walkText(t *testing.T, root, suffix string, add func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		hidden := strings.HasPrefix(name, ".") && path != root || strings.HasPrefix(name, "_")
		switch {
		case d.IsDir() && (hidden || name == "testdata" || name == "vendor" || name == "node_modules"):
			return filepath.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(name, suffix):
			add(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	generatedGo = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	licenseText = regexp.MustCompile(`(?i)\bcopyright\b|SPDX-License|licensed under`)
)

// addComments counts the comments of one Go file that is neither a test nor generated.
func (l *language) addComments(t *testing.T, path string) {
	t.Helper()
	if strings.HasSuffix(path, "_test.go") {
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
	for _, c := range file.Comments {
		if c.End() < file.Package && licenseText.MatchString(c.Text()) {
			continue
		}
		l.add(path, commentProse(c))
	}
}

// commentProse leaves out the indented lines of a comment, which are code.
func commentProse(c *ast.CommentGroup) string {
	var out strings.Builder
	for line := range strings.Lines(c.Text()) {
		if !strings.HasPrefix(line, "\t") {
			out.WriteString(line)
		}
	}
	return out.String()
}

var (
	spanOfCode = regexp.MustCompile("``[^`]*``|`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	pageNote   = regexp.MustCompile(`(?s)<!--.*?-->`)
	item       = regexp.MustCompile(`^\s*[-*]`)
)

// markdownProse leaves out code, headings, notes and the targets of links.
func markdownProse(page string) string {
	var out []string
	fenced, blank := false, true
	for line := range strings.Lines(pageNote.ReplaceAllString(page, "")) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			fenced = !fenced
			continue
		}
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		code := blank && indented && !item.MatchString(line)
		if fenced || code || strings.HasPrefix(line, "#") {
			continue
		}
		blank = text == ""
		out = append(out, line)
	}
	return linkTarget.ReplaceAllString(spanOfCode.ReplaceAllString(strings.Join(out, "\n"), "X"), "]")
}
