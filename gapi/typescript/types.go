package typescript

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Check says when the types of a program are checked by tsc, the compiler of TypeScript.
type Check string

// The words of Check.
const (
	CheckAuto    Check = "auto"    // where tsc is present, and may be run
	CheckRequire Check = "require" // always: a program is refused where tsc is absent
	CheckOff     Check = "off"
)

// compiler is the name of the program that checks types.
const compiler = "tsc"

// errNoCompiler says what to do where tsc is absent.
var errNoCompiler = errors.New("the types of the program can't be checked: there is no " + compiler +
	" in node_modules of the project, next to mgmt, in " + packaged + " or in PATH; run npm install in the project, or name it with --tsc")

// types is the outcome of a check.
type types struct {
	found schema.Diagnostics
	files []string // of the project: a change of one may change the outcome
	err   error    // the check itself has failed
}

// checkTypes checks the types of a program, unless the options or the absence of tsc keep it from that.
func (r *reader) checkTypes(ctx context.Context, main string, kinds *engine.Registry) types {
	if r.opts.Check == CheckOff {
		return types{}
	}
	path, err := r.compiler(main)
	if errors.Is(err, errNoCompiler) && r.opts.Check != CheckRequire {
		return untrusted(main, err)
	}
	var out []byte
	if err == nil {
		out, err = r.compile(ctx, path, main, kinds)
	}
	t := r.compiled(main, string(out))
	switch {
	case len(t.found) > 0: // tsc ends with a code for these
		err = nil
	case err != nil:
		t.err = err
	}
	for i, d := range t.found {
		d.Pos.File = asNamed(r.path, main, d.Pos.File)
		if d.Pos.Line == 0 && r.opts.Check != CheckRequire {
			d.Severity = schema.Warning // another version of tsc may not know an option
		}
		if strings.HasSuffix(d.Message, " ["+undeclared+"]") && r.opts.Check != CheckRequire {
			d.Severity = schema.Warning // the package has no types, and works without
		}
		t.found[i] = d
	}
	return t
}

// untrustedError says that only the project has a tsc, which is not run.
type untrustedError struct{ path, root string }

func (e *untrustedError) Error() string {
	return fmt.Sprintf("the types of the program are not checked: %s is not run, since it belongs to the project, and could be any program; "+
		"mgmt ts trust %s allows it once and for all, and --tsc names another one", e.path, e.root)
}

func (e *untrustedError) Is(target error) bool { return target == errNoCompiler }

// untrusted warns that a tsc is there and is not run.
func untrusted(main string, err error) types {
	no, ok := errors.AsType[*untrustedError](err)
	if !ok {
		return types{}
	}
	return types{found: schema.Diagnostics{{Pos: schema.Pos{File: main}, Severity: schema.Warning, Message: no.Error()}}}
}

// compiler returns the path of tsc: the named one, that of a trusted project, that next to mgmt, or that in PATH.
func (r *reader) compiler(main string) (string, error) {
	path, own, root := r.opts.Compiler, "", RootOf(main)
	for _, p := range inProject(main) {
		if path == "" && own == "" && executable(p) {
			own = p
		}
	}
	if own != "" && r.opts.Trusted != nil && r.opts.Trusted(root) {
		path = own
	}
	for _, dir := range folders() {
		if p := filepath.Join(dir, compiler); path == "" && executable(p) {
			path = p
		}
	}
	if path == "" {
		found, err := exec.LookPath(compiler)
		switch {
		case err != nil && own != "":
			return "", &untrustedError{own, root}
		case err != nil:
			return "", errNoCompiler
		}
		path = found
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	f, err := r.opts.Programs.Open(path) // it runs with our rights, as the program itself never does
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// inProject are the places of tsc in the project of a program, the nearest first.
func inProject(main string) []string {
	var paths []string
	root := RootOf(main)
	for dir := filepath.Dir(main); ; dir = filepath.Dir(dir) {
		modules := filepath.Join(dir, "node_modules")
		paths = append(paths, filepath.Join(modules, "@typescript", native(), "lib", compiler), filepath.Join(modules, ".bin", compiler))
		if dir == root || dir == filepath.Dir(dir) {
			break
		}
	}
	return paths
}

// native is the package with the tsc that is a program of this machine, and needs no node.
func native() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return "typescript-" + runtime.GOOS + "-" + arch
}

// compile runs tsc over a program, with the classes of these kinds. Everything that it needs besides the program is in a
// folder of its own, which is gone afterwards.
func (r *reader) compile(ctx context.Context, path, main string, kinds *engine.Registry) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "mgmt-ts-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sources, err := Checked(kinds, false)
	if err != nil {
		return nil, err
	}
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	config, err := settingsFor(dir, main)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, "tsconfig.json")
	if err := os.WriteFile(at, config, 0o600); err != nil {
		return nil, err
	}
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	full := false
	c := program.Call{Name: compiler, Timeout: maxTime, Command: engine.Command{
		Argv: []string{"/bin/sh", "-c", bounded, path, "--project", at, "--pretty", "false", "--listFiles"}, Dir: filepath.Dir(main), MaxOutput: maxAnswer, Alone: true,
		Stderr: func(line []byte) { full = full || bytes.Contains(bytes.ToLower(line), []byte("out of memory")) },
	}}
	out, err := c.Do(ctx, run)
	if _, ended := errors.AsType[*program.Failure](err); ended && full {
		err = errCompilerMemory
	}
	return out, err
}

// bounded runs a program with 2 GiB for its data, in KiB. Its address space is no measure, since node reserves much more than it uses.
const bounded = `ulimit -d 2097152; exec "$0" "$@"`

// errCompilerMemory is the end of a tsc that needs too much.
var errCompilerMemory = errors.New(compiler + " uses more than 2 GiB of memory: the program may import a file without an end, such as a link to a device")

// settingsFor returns the settings of a check. Those of the project count, but for the ones without which a program for
// mgmt can't be checked. A program without a project has those of mgmt ts init.
func settingsFor(dir, main string) ([]byte, error) {
	var settings struct {
		Extends string         `json:"extends,omitempty"`
		Options map[string]any `json:"compilerOptions"`
		Include []string       `json:"include"`
		Files   []string       `json:"files"`
	}
	root := filepath.Join(RootOf(main), "tsconfig.json")
	if _, err := os.Stat(root); err == nil {
		settings.Extends = root
	} else if text, err := fs.ReadFile(project, "project/tsconfig.json"); err != nil {
		return nil, err
	} else if err := json.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	if settings.Options == nil {
		settings.Options = map[string]any{}
	}
	maps.Copy(settings.Options, map[string]any{
		"paths": map[string][]string{Module: {filepath.Join(dir, "index.ts")}}, "noEmit": true, "incremental": false, "composite": false,
		"moduleResolution": "bundler", "module": "esnext", "allowImportingTsExtensions": true, "skipLibCheck": true,
	})
	settings.Include = []string{}
	settings.Files = []string{main, filepath.Join(dir, globals)}
	return json.Marshal(settings)
}

// A finding of tsc is a line with a place, or without one. Lines that begin with a space go on with it.
var (
	placed   = lazyregexp.New(`^(.+)\((\d+),(\d+)\): error (TS\d+): (.*)$`)
	unplaced = lazyregexp.New(`^error (TS\d+): (.*)$`)
)

// undeclared is the code of a package without types.
const undeclared = "TS7016"

// compiled reads the output of tsc, whose paths are relative to the folder of the program.
func (r *reader) compiled(main, out string) types {
	var t types
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		switch m := placed.FindStringSubmatch(line); {
		case m != nil:
			pos := schema.Pos{File: absolute(main, m[1]), Line: number(m[2]), Col: number(m[3])}
			pos.Col = r.inBytes(pos)
			t.found = append(t.found, schema.Diagnostic{Pos: pos, Message: m[5] + " [" + m[4] + "]"})
		case unplaced.MatchString(line):
			m := unplaced.FindStringSubmatch(line)
			t.found = append(t.found, schema.Diagnostic{Pos: schema.Pos{File: main}, Message: "the types can't be checked: " + m[2] + " [" + m[1] + "]"})
		case strings.HasPrefix(line, " ") && len(t.found) > 0:
			last := &t.found[len(t.found)-1]
			text, code, _ := strings.Cut(last.Message, " [TS")
			last.Message = text + " " + strings.TrimSpace(line) + " [TS" + code
		case filepath.IsAbs(line) && within(RootOf(main), line) && !strings.Contains(line, "/node_modules/"):
			t.files = append(t.files, line)
		}
	}
	sorted.Stable(t.found, func(a, b schema.Diagnostic) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return t
}

// absolute is a path of the output of tsc.
func absolute(main, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(main), path)
}

// within reports whether a path is below a folder.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// number reads a number of the output of tsc; 0 for none.
func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// inBytes is the column of a place in bytes. tsc counts the units of UTF-16.
func (r *reader) inBytes(pos schema.Pos) int32 {
	text, err := r.readFile(pos.File)
	if err != nil {
		return pos.Col
	}
	line := ""
	at := int32(1)
	for line = range strings.Lines(string(text)) {
		if at == pos.Line {
			break
		}
		at++
	}
	units := int32(1)
	for i, c := range line {
		if units >= pos.Col {
			return int32(i) + 1
		}
		units += int32(max(1, utf16.RuneLen(c)))
	}
	return pos.Col
}

// executable reports whether a file can be run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// why adds to the error of a check what the author can do.
func why(err error) error {
	return fmt.Errorf("%w; --check=%s leaves the check out", err, CheckOff)
}
