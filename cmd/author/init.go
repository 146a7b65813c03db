package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// The names are relative to the current folder.
const (
	// The schema stands next to the graph: its first line names it without a folder.
	firstFile  = "graph.yaml"
	schemaFile = "mgmt.schema.json"
)

// firstGraph is the graph that init writes. %[1]s stands for its name.
// Nothing of it needs root, so a first run works for every user.
const firstGraph = `# yaml-language-server: $schema=` + schemaFile + `
#
# A first graph: a folder, a file in it, and a command that runs when the file
# was changed. See what it would do, then have it done and kept so:
#
#     mgmt plan %[1]s
#     mgmt run %[1]s

graph: first
resources:
  file:
  - name: /tmp/mgmt-first/ # a path that ends in a slash is a folder
  - name: /tmp/mgmt-first/greeting.txt
    content: |
      hello, world
    mode: "0644"
    depend: ["file[/tmp/mgmt-first/]"]
    notify: ["exec[count]"] # a change of it has the command run

  exec:
  - name: count
    shell: /bin/sh
    cmd: wc -c < greeting.txt > size.txt
    cwd: /tmp/mgmt-first
    refreshonly: true # it runs for nothing else
`

// firstTest is the test of firstGraph. %[1]s stands for its own name, and %[2]s for that of the
// graph.
const firstTest = `# It tests the graph next to it on a simulated machine, and touches nothing:
#
#     mgmt test %[1]s

graph: %[2]s
tests:
- name: a fresh machine
  commands:
  - cmd: wc -c < greeting.txt > size.txt
  steps:
  - expect:
      file:
      - name: /tmp/mgmt-first/greeting.txt
        content: |
          hello, world
      refreshed: ["exec[count]"]
  - drift: # something else alters the file
      file:
      - name: /tmp/mgmt-first/greeting.txt
        content: gone
    expect:
      changed: ["file[/tmp/mgmt-first/greeting.txt]"]
      refreshed: ["exec[count]"]
`

// NewInit makes the verb init.
// It ends with 1 where a file is in the way, and then writes none.
func NewInit(a *cli.App) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Create a first graph, a test for it, and a schema for editors",
		Long: `Init creates a first graph in FILE (default ` + firstFile + `), with a test next to it, such
as graph_test.yaml, and ` + schemaFile + ` for editors. It creates missing folders and
overwrites no existing file.`,
		Example: `  mgmt init
  mgmt init web/graph.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := firstFile
			if len(args) == 1 {
				path = args[0]
			}
			return startFolder(a, path, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing files")
	return cmd
}

// startFolder writes the first graph and the schema. It looks at both names before it writes, so
// a refusal leaves nothing behind.
// The schema is that of this program with its kinds, so an editor completes exactly
// these.
// The files are written one by one: a full disk can leave the first of them.
func startFolder(a *cli.App, path string, force bool) error {
	if n := yaml.NotationOf(path); n.Name != "" && !n.Cursor {
		return fmt.Errorf("%s is the name of a graph in another notation, and a first graph is in YAML: name a file such as %s", path, strings.TrimSuffix(path, filepath.Ext(path))+".yaml")
	}
	text, err := cli.GraphSchema(a)
	if err != nil {
		return err
	}
	// mgmt test finds the tests of a graph by this name.
	test := yaml.TestsOf(path)
	files := []newFile{
		{path, fmt.Appendf(nil, firstGraph, path)},
		{test, fmt.Appendf(nil, firstTest, test, filepath.Base(path))},
		{filepath.Join(filepath.Dir(path), schemaFile), text},
	}
	if !force {
		if err := mayWrite(files); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := cli.WriteFile(f.path, f.content); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, f.path)
	}
	return nil
}

// newFile is a file that init or a like verb writes, if nothing else is there.
// The path is as the user has written it, for messages.
type newFile struct {
	path    string
	content []byte
}

// mayWrite returns an error if something else is where the files are to be.
// A file with the same content is not in the way.
// So a second init of the same version succeeds. Of a larger file no more than that is read.
func mayWrite(files []newFile) error {
	var errs []error
	for _, f := range files {
		was, err := gapi.Source{}.ReadRegular(context.Background(), f.path, int64(len(f.content)), "")
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && bytes.Equal(was, f.content):
		case errors.Is(err, fs.ErrPermission), errors.Is(err, gapi.ErrSilent):
			errs = append(errs, err)
		default:
			errs = append(errs, fmt.Errorf("%s is there already, use --force to overwrite it", f.path))
		}
	}
	return errors.Join(errs...)
}
