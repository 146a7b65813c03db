package puppet

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// moduleSource begins a source that Puppet's server takes from the folder files of a module.
const moduleSource = "puppet:///modules/"

// locate replaces the sources of modules by paths of this machine. As in Puppet, the first folder that has the module counts.
// A source that is nowhere stays, and is refused later.
// It is the one step of the translation that looks at the disk, and it opens nothing.
func (c *catalog) locate(folders []string) {
	for _, r := range c.resources {
		p := r.param("source")
		if p == nil || p.value == nil || p.secret {
			continue
		}
		p.value = located(p.value, folders)
	}
}

// located returns a source, or a list of sources, with paths. The nodes of the catalog stay as they are.
func located(n *schema.Node, folders []string) *schema.Node {
	out := *n
	switch n.Kind {
	case schema.NodeList:
		out.Items = slices.Clone(n.Items)
		for i, item := range n.Items {
			out.Items[i] = located(item, folders)
		}
	case schema.NodeString:
		if at := inModule(n.Text, folders); at != "" {
			out.Text = at
		}
	}
	return &out
}

// inModule returns the path of a source in the module that it names, empty where it is not there.
// Both names must stay below their folders, so that .. leads nowhere. A module in an earlier
// folder hides the same one in a later folder, also where the file is missing.
func inModule(source string, folders []string) string {
	rest, ok := strings.CutPrefix(source, moduleSource)
	module, file, named := strings.Cut(rest, "/")
	if !ok || !named || !filepath.IsLocal(module) || !filepath.IsLocal(file) {
		return ""
	}
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, module)); err != nil {
			continue
		}
		at := path.Join(dir, module, "files", file)
		if _, err := os.Stat(at); err != nil || !path.IsAbs(at) {
			return ""
		}
		return at
	}
	return ""
}
