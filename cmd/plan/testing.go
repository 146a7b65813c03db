package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/scenario"
)

// testFlags are those of the verb test. It has none that names a graph: the files of tests do.
type testFlags struct {
	output cli.Output
	// junit is a path; empty for no such file. It is written after the last test.
	junit string
	// coverage adds the resources and branches that no test has reached; it changes no exit code.
	coverage bool
	policy   inputs.PolicyFlag // besides that of each file
}

// NewTest makes the verb test.
// It has none of the flags of a graph or of a machine, since both stand in the files of tests: a test
// means the same wherever it runs.
func NewTest(a *cli.App) *cobra.Command {
	f := &testFlags{}
	cmd := &cobra.Command{
		Use:   "test [FILE|FOLDER...]",
		Short: "Test graphs on a simulated machine",
		Long: `Test runs the tests in *_test.yaml files in the current folder and below, or in
the named files and folders. Each test runs its graph on a simulated machine in
virtual time: it touches no file, package or service of this machine and runs no
command. Failures are shown with their position in the test file.

The exit code is 0 if all tests pass, and 4 if one fails.`,
		Example: `  mgmt test
  mgmt test graph_test.yaml --coverage
  mgmt test --junit report.xml   # in a workflow`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	cli.TypesFlag(a, cmd)
	cli.Forms(cmd, &f.output, "format of the results", testsOut{}, "text")
	fl := cmd.Flags()
	fl.StringVar(&f.junit, "junit", "", "also write the results to this file, as JUnit XML")
	fl.StringSliceVar(&f.policy.Files, "policy", nil, "judge the graphs by the rules in these `files`, too")
	fl.BoolVar(&f.coverage, "coverage", false, "list the resources and branches that no test reaches, and the resources without expectations")
	_ = cmd.MarkFlagFilename("junit", "xml")
	return cmd
}

// run runs all tests, in the order of the files, and writes their outcome.
// A file that can't be read ends it at once: a part of the tests must not pass for all of them.
func (f *testFlags) run(ctx context.Context, a *cli.App, args []string) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	paths, err := testFiles(args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("there is no file %s in %s", yaml.TestPatterns(), strings.Join(args, ", "))
	}
	// A test that is cut short removes the folder of its machine.
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	cover := &scenario.Coverage{}
	var results []scenario.Result
	for _, path := range paths {
		list, err := f.testFile(ctx, a, path, cover)
		if err != nil {
			return err
		}
		results = append(results, list...)
		// A signal gives no outcome of a part, since a script could take it for the whole.
		if ctx.Err() != nil {
			return cli.WithCode(cli.ExitFailed, fmt.Errorf("ended before all tests had run: %w", context.Cause(ctx)))
		}
	}
	if f.junit != "" {
		if err := writeJUnit(f.junit, results); err != nil {
			return err
		}
	}
	if err := f.write(a, results, cover); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r scenario.Result) bool { return len(r.Failures) > 0 }) {
		return cli.WithCode(cli.ExitFailed, nil)
	}
	return nil
}

// testFiles returns the files of tests that the arguments name, in order. A file that is named itself may have any name. Of a
// file that is named twice, the tests run once.
// Links to files are left out in folders, and a folder that cannot be read is an error.
func testFiles(args []string) (paths []string, err error) {
	for _, arg := range args {
		info, err := (&gapi.Asker{}).Stat(context.Background(), arg)
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir():
			paths = append(paths, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && yaml.IsTest(path) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// testFile runs the tests of one file. Only the file itself is read here; the engine reads its graph. The error has the findings of a file that can't be read.
func (f *testFlags) testFile(ctx context.Context, a *cli.App, path string, cover *scenario.Coverage) ([]scenario.Result, error) {
	src, err := inputs.ReadNamed(a, path)
	if err != nil {
		return nil, err
	}
	n, ds := yaml.Document(path, src)
	if inputs.IsProgram(path) || ds.Err() == nil && (yaml.IsGraph(n) || yaml.IsModule(n)) {
		return nil, untested(path, n)
	}
	if n == nil && ds.Err() == nil {
		ds = schema.Diagnostics{{Pos: schema.Pos{File: path}, Message: "the file is empty: it needs the keys graph and tests"}}
	}
	var file *scenario.File
	if ds.Err() == nil {
		file, ds = scenario.Read(n)
	}
	if ds.Err() != nil {
		render.PrintDiagnostics(a.Err, a.Program(), ds)
		return nil, cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	rules := inputs.PolicyFlag{Files: slices.Clip(f.policy.Files)}
	for _, of := range file.Policy {
		if !filepath.IsAbs(of) {
			of = filepath.Join(filepath.Dir(path), of)
		}
		rules.Files = append(rules.Files, of)
	}
	policy, ds := rules.Rules(ctx, a)
	if ds.Err() != nil {
		render.PrintDiagnostics(a.Err, a.Program(), ds)
		return nil, cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	// The kinds are those of the program and of --types. The machine is simulated for each test
	// anew.
	return scenario.Run(ctx, path, file, scenario.Options{Kinds: a.Kinds(), Policy: policy, YAML: yaml.Options{Source: a.Source()}, Program: func(path string, in map[string]any) gapi.Frontend { return inputs.Tested(a, path, in) }}, cover), nil
}

// untested is the error of a graph or a module in the place of its tests. It names the file with the tests.
// Such a file is no fault of its author: the verb was given the wrong one of two names, and the list of its unknown
// keys would hide that. The tests are not run in its place, since a script has to name what it tests.
func untested(graph string, root *schema.Node) error {
	if dir := filepath.Dir(graph); yaml.IsModule(root) {
		return fmt.Errorf("%s is a module, not a file of tests: mgmt test %s runs the tests in its folder", graph, dir)
	}
	tests := yaml.TestsOf(graph)
	if _, err := os.Stat(tests); err != nil {
		return fmt.Errorf("%s is a graph, not a file of tests: write its tests into %s, then mgmt test %[2]s runs them", graph, tests)
	}
	return fmt.Errorf("%s is a graph, not a file of tests: its tests are run by mgmt test %s", graph, tests)
}

// write writes the outcome in the chosen form. With -o json, the coverage is always part of it.
func (f *testFlags) write(a *cli.App, results []scenario.Result, cover *scenario.Coverage) error {
	return f.output.Write(a.Out, testsJSON(results, cover), func(w io.Writer) error { return f.writeText(w, results, cover) })
}

// writeText writes a line for each test, the differences of those that failed, and a summary.
func (f *testFlags) writeText(w io.Writer, results []scenario.Result, cover *scenario.Coverage) error {
	// A test with one difference or many counts once.
	failed := 0
	for _, r := range results {
		if len(r.Failures) == 0 {
			fmt.Fprintf(w, "ok    %s: %s\n", r.File, render.Visible(r.Name))
			continue
		}
		failed++
		fmt.Fprintf(w, "FAIL  %s: %s\n", r.File, render.Visible(r.Name))
		for _, fail := range r.Failures {
			fmt.Fprintf(w, "  %s: %s\n", fail.Pos, render.VisibleLines(fail.Message))
		}
	}
	fmt.Fprintf(w, "%s, %d failed\n", render.Plural(len(results), "test"), failed)
	if f.coverage {
		return cover.Write(w)
	}
	return nil
}

// testsOut is the outcome of all tests, as -o json writes it. Times are in seconds of real time.
type testsOut struct {
	Tests    []testOut   `json:"tests"`
	Coverage coverageOut `json:"coverage"`
}

// testOut is the outcome of one test, with the line where it begins.
type testOut struct {
	File     string       `json:"file"`
	Name     string       `json:"name"`
	Line     int32        `json:"line"`
	OK       bool         `json:"ok"`
	Seconds  float64      `json:"seconds"`
	Failures []failureOut `json:"failures,omitempty"`
}

// failureOut is one difference, with file:line:col.
type failureOut struct {
	Place   string `json:"place"`
	Message string `json:"message"`
}

// coverageOut counts resources and branches, and those of them that a test has reached. An asserted resource is one that an
// expectation names.
type coverageOut struct {
	Resources int `json:"resources"`
	Run       int `json:"run"`
	Asserted  int `json:"asserted"`
	Branches  int `json:"branches"`
	Taken     int `json:"taken"`
}

// testsJSON is the outcome for programs.
// The list of tests is never null, and the places are as the text shows them, so that an editor can go there.
// Times are those of the tests, without the reading of their files.
func testsJSON(results []scenario.Result, cover *scenario.Coverage) testsOut {
	out := testsOut{Tests: []testOut{}}
	for _, r := range results {
		t := testOut{File: r.File, Name: r.Name, Line: r.Pos.Line, OK: len(r.Failures) == 0, Seconds: r.Duration.Seconds()}
		for _, f := range r.Failures {
			t.Failures = append(t.Failures, failureOut{f.Pos.String(), f.Message})
		}
		out.Tests = append(out.Tests, t)
	}
	n := cover.Counts()
	out.Coverage = coverageOut{n.Resources, n.Ran, n.Asserted, n.Branches, n.Taken}
	return out
}

// writeJUnit writes the outcome for a workflow. Each failure of a test is an element of its own,
// in their order. Most readers of such files show no more than the first. The
// form is so small that a package for XML would be most of its cost. A file that is there is
// replaced in one step.
func writeJUnit(path string, results []scenario.Result) error {
	var cases strings.Builder
	failed := 0
	for _, r := range results {
		fmt.Fprintf(&cases, "  <testcase classname=%s name=%s time=\"%.3f\">\n", quoteXML(r.File), quoteXML(r.Name), r.Duration.Seconds())
		for i, f := range r.Failures {
			if i == 0 {
				failed++
			}
			text := f.Pos.String() + ": " + f.Message
			fmt.Fprintf(&cases, "    <failure message=%s></failure>\n", quoteXML(text))
		}
		cases.WriteString("  </testcase>\n")
	}
	head := fmt.Sprintf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=%q tests=\"%d\" failures=\"%d\">\n", render.Product, len(results), failed)
	return cli.WriteFile(path, []byte(head+cases.String()+"</testsuite>\n"))
}

// xmlEscapes are the characters that have a meaning in an attribute. Line ends stay by their numbers.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;")

// quoteXML returns a text as an attribute of XML. Control characters, which XML cannot hold, are made visible first.
// Bytes that are not UTF-8 become U+FFFD, as XML 1.0 has no form for them.
func quoteXML(text string) string {
	return `"` + xmlEscapes.Replace(strings.ToValidUTF8(render.VisibleLines(text), "\uFFFD")) + `"`
}
