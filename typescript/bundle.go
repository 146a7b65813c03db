package typescript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/evanw/esbuild/pkg/api"
)

// The limits of sources.
const (
	maxFile  = 4 << 20
	maxFiles = 5000
)

// bundler makes one script of a program. Its methods are called by many goroutines at once.
type bundler struct {
	r     *Request
	find  func(path string, o api.ResolveOptions) api.ResolveResult // as the bundler itself does
	mu    sync.Mutex
	files map[string]string
}

// bundled is a script with the way back to its sources.
type bundled struct {
	script   string
	problems []Problem
}

// bundle joins the program and all that it imports. All syntax errors and wrong imports are found at once.
func bundle(r *Request) (bundled, map[string]string) {
	b := &bundler{r: r, files: map[string]string{}}
	options := api.BuildOptions{
		EntryPoints: []string{r.Main}, AbsWorkingDir: r.Root, Bundle: true, Outfile: "program.js", Write: false,
		Format: api.FormatIIFE, Target: api.ES2020, Platform: api.PlatformNeutral, MainFields: []string{"module", "main"},
		Sourcemap: api.SourceMapInline, SourcesContent: api.SourcesContentExclude, SourceRoot: "",
		Supported: map[string]bool{"top-level-await": true}, KeepNames: false, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent, LogLimit: 0,
		Charset: api.CharsetUTF8, TreeShaking: api.TreeShakingTrue,
		Define:  map[string]string{"process.env.NODE_ENV": `"production"`},
		Plugins: []api.Plugin{{Name: "mgmt", Setup: b.setup}},
	}
	result := api.Build(options)
	if slices.ContainsFunc(result.Errors, waits) {
		// A program with await outside of a function is the body of one. It has no exports then, since an entry without any imports it.
		options.EntryPoints, options.Format = []string{entry}, api.FormatESModule
		options.Banner, options.Footer = map[string]string{"js": "(async () => {"}, map[string]string{"js": "})()"}
		result = api.Build(options)
	}
	var out bundled
	for _, m := range result.Errors {
		out.problems = append(out.problems, b.problem(m, false))
	}
	for _, m := range result.Warnings {
		out.problems = append(out.problems, b.problem(m, true))
	}
	if len(result.OutputFiles) > 0 {
		out.script = string(result.OutputFiles[0].Contents)
	}
	return out, b.files
}

// entry is the name of a source that imports the program.
const entry = virtual + "/entry"

// waits reports whether an error of the bundler is about an await outside of a function, which a script can't have.
func waits(m api.Message) bool { return strings.HasPrefix(m.Text, "Top-level await is") }

// virtual is the namespace of the sources of a request, which come without a file.
const virtual = "mgmt"

// setup has the bundler ask for every import and every file, so that the limits hold for all of them.
func (b *bundler) setup(build api.PluginBuild) {
	b.find = build.Resolve
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, b.resolve)
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: virtual}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text := b.r.Modules[a.Path]
		if a.Path == entry {
			text = "import " + strconv.Quote(b.r.Main)
		}
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS, ResolveDir: b.r.Root}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: node}, loadNode)
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, b.load)
}

// resolve finds the sources of the request, and explains imports that a graph can't have. The bundler finds all files.
func (b *bundler) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	name := a.Path
	if a.Namespace == virtual {
		name = strings.TrimPrefix(name, "./")
	}
	_, ok := b.r.Modules[name]
	if ok && (a.Namespace == virtual || filepath.Ext(name) == "") { // the parts of a module are its own
		return api.OnResolveResult{Path: name, Namespace: virtual, SideEffects: api.SideEffectsFalse}, nil
	}
	if name == entry {
		return api.OnResolveResult{Path: name, Namespace: virtual}, nil
	}
	if name == b.r.Main && a.Importer == entry { // whatever its package says of side effects
		return api.OnResolveResult{Path: name, Namespace: "file", SideEffects: api.SideEffectsTrue}, nil
	}
	if a.PluginData == asked {
		return api.OnResolveResult{}, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(a.Path, "node:"), "/posix")
	if !builtin[bare] && !strings.HasPrefix(a.Path, "node:") {
		return api.OnResolveResult{}, nil
	}
	if a.Namespace == "file" && !strings.HasPrefix(a.Path, "node:") { // the project may have a package of that name
		own := b.find(a.Path, api.ResolveOptions{Importer: a.Importer, Namespace: a.Namespace, ResolveDir: a.ResolveDir, Kind: a.Kind, PluginData: asked})
		if len(own.Errors) == 0 && own.Namespace == "file" {
			return api.OnResolveResult{Path: own.Path, Namespace: own.Namespace}, nil
		}
	}
	if !given(bare) && a.Namespace != node && !packaged(b.r.Root, a.Importer) {
		return api.OnResolveResult{}, errors.New(refused(bare))
	}
	return api.OnResolveResult{Path: bare, Namespace: node, SideEffects: api.SideEffectsFalse}, nil
}

// asked marks the search for a package that has the name of a module of node.
const asked = "asked"

// node is the namespace of the modules that node has.
const node = "node"

// given reports whether a program may have a module of node. They are those that reach nothing.
func given(name string) bool {
	_, err := library.ReadFile("library/node/" + name + ".js")
	return err == nil && name != "refused"
}

// refused says why a program may not have a module of node.
func refused(name string) string {
	return fmt.Sprintf("a graph has no module %s of node: it can reach neither files nor the network; give what it needs with --var NAME=VALUE", name)
}

// loadNode loads a module of node. One that no graph can have is there for packages, which may do without it: it fails where it is used.
func loadNode(a api.OnLoadArgs) (api.OnLoadResult, error) {
	file := a.Path
	if !given(file) {
		file = "refused"
	}
	text, err := library.ReadFile("library/node/" + file + ".js")
	if err != nil {
		return api.OnLoadResult{}, err
	}
	contents := strings.ReplaceAll(string(text), "WHAT", strconv.Quote(refused(a.Path)))
	return api.OnLoadResult{Contents: &contents, Loader: api.LoaderJS}, nil
}

// builtin are the modules of node.
var builtin = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs
		fs/promises http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream stream/promises
		string_decoder sys timers timers/promises tls tty url util util/types v8 vm wasi worker_threads zlib`) {
		all[name] = true
	}
	return all
}()

// loaders say how the files of each ending are read. Any other ending is refused, so no secret file becomes a module.
var loaders = map[string]api.Loader{
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX, ".js": api.LoaderJS, ".mjs": api.LoaderJS,
	".cjs": api.LoaderJS, ".jsx": api.LoaderJSX, ".json": api.LoaderJSON, ".txt": api.LoaderText,
}

// sourceMap is what tools write behind a script that they have made.
var sourceMap = regexp.MustCompile(`(?m)^//[#@] sourceMappingURL=.*$`)

// load reads a file, and notes it.
func (b *bundler) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	loader, ok := loaders[filepath.Ext(a.Path)]
	if !ok {
		return api.OnLoadResult{}, fmt.Errorf("%s is neither a program nor data: import .ts, .js, .json or .txt", filepath.Base(a.Path))
	}
	text, err := b.read(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	switch loader {
	case api.LoaderJSON, api.LoaderText:
		if wrong := b.signs(a.Path, text); wrong != nil {
			return api.OnLoadResult{Errors: []api.Message{*wrong}}, nil
		}
	default: // A map to other sources would lead to files outside of the program. What is read is the source.
		text = sourceMap.ReplaceAllString(text, "")
	}
	return api.OnLoadResult{Contents: &text, Loader: loader, ResolveDir: filepath.Dir(a.Path)}, nil
}

// signed finds the signs of outputs in data, as they are or as JSON may write them.
var signed = regexp.MustCompile(`[` + markSigns + `]|(?:^|[^\\])(?:\\\\)*\\u[eE]0[fF][01]`)

// signs says where a file of data has a sign of outputs; nil for nowhere. No text of a program can have one.
func (b *bundler) signs(path, text string) *api.Message {
	at := signed.FindStringIndex(text)
	if at == nil {
		return nil
	}
	begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	file, err := filepath.Rel(b.r.Root, path)
	if err != nil {
		file = path
	}
	return &api.Message{
		Text:     "the file has U+E0F0 or U+E0F1, which stand around an output in a text of a program: take the character out",
		Location: &api.Location{File: file, Line: strings.Count(text[:begin], "\n") + 1, Column: at[0] - begin, LineText: line},
	}
}

// read returns the text of a file of the project. A link counts as the file that it leads to.
func (b *bundler) read(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", withoutPath(err)
	}
	if !within(b.r.Root, real) {
		return "", fmt.Errorf("%s is outside of the project %s: put it there, or put package.json into a folder around both", path, b.r.Root)
	}
	b.mu.Lock()
	n := len(b.files)
	b.mu.Unlock()
	if n >= maxFiles {
		return "", fmt.Errorf("the program has more than %d files", maxFiles)
	}
	text, err := b.contents(real)
	if err != nil {
		return "", withoutPath(err)
	}
	sum := sha256.Sum256(text)
	b.mu.Lock()
	b.files[path] = hex.EncodeToString(sum[:])
	b.mu.Unlock()
	return string(text), nil
}

// contents reads a file below the folder of the project. All is asked of the open file: the path may lead to another one at any moment, though never out of the folder.
func (b *bundler) contents(path string) ([]byte, error) {
	root, err := os.OpenRoot(b.r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(b.r.Root, path)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is too big: a file of a program may have %d bytes", maxFile)
	}
	return text, err
}

// within reports whether a path is the folder or below it. Both are absolute and without links.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// withoutPath leaves the path out of an error, since the bundler shows it as the place.
func withoutPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// problem is a message of the bundler.
func (b *bundler) problem(m api.Message, warning bool) Problem {
	p := Problem{Message: m.Text, Warning: warning}
	if l := m.Location; l != nil {
		p.Place = Place{File: b.absolute(l.File), Line: l.Line, Col: l.Column + 1}
	}
	for _, n := range m.Notes {
		if n.Location == nil && n.Text != "" {
			p.Message += "; " + strings.TrimSuffix(n.Text, ".")
		}
	}
	return p
}

// absolute is the path of a file that a message or a map of sources names.
func (b *bundler) absolute(file string) string { return absolute(b.r.Root, file) }

// absolute is the path of a source. A source of the request has a name in angle brackets, which no file has.
func absolute(root, file string) string {
	if name, ok := strings.CutPrefix(file, virtual+":"); ok {
		return "<" + name + ">"
	}
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(root, file)
}
