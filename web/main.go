// Command web builds the page of mgmt: from the sources in src to daemon/web/dist, which the program embeds.
//
//	go -C web run .
//
// The libraries that the page loads stand in dist as they were published, with their licences in licenses.txt. Vendor.sh fetches others.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// dist is where the program takes the page from.
const dist = "../daemon/web/dist"

func main() {
	files, err := build("src")
	if err == nil {
		err = write(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// libraries are the files of dist that are loaded as they are, by the names of their packages.
var libraries = map[string]string{"preact": "./preact.js", "cytoscape": "./cytoscape.js", "@dagrejs/dagre": "./dagre.js"}

// build returns the files of the page that are made from the sources in a folder.
func build(src string) (map[string][]byte, error) {
	root, err := filepath.Abs(src)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"app.tsx", "layout.ts", "app.css"}, AbsWorkingDir: root, Outdir: root, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		JSXFactory: "h", JSXFragment: "Fragment", Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent, MinifySyntax: true, MinifyWhitespace: true,
		Plugins: []api.Plugin{{Name: "libraries", Setup: func(b api.PluginBuild) {
			for name, file := range libraries {
				b.OnResolve(api.OnResolveOptions{Filter: "^" + name + "$"}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
					return api.OnResolveResult{Path: file, External: true}, nil
				})
			}
		}}},
	})
	for _, m := range result.Errors {
		return nil, fmt.Errorf("%s:%d: %s", m.Location.File, m.Location.Line, m.Text)
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for _, name := range []string{"index.html", "cytoscape.css", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func write(files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dist, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
