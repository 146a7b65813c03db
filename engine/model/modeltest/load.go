package modeltest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/dragonflow/*.json
var own embed.FS

// scenario is one case of a file.
type scenario struct {
	ID         string                 `json:"id"`
	Group      string                 `json:"group"`
	Title      string                 `json:"title"`
	Provenance string                 `json:"provenance"`
	Note       string                 `json:"note"`
	Recommend  string                 `json:"recommend"`
	Models     map[string]*definition `json:"models"`
	Selective  *bool                  `json:"selective"`
	Steps      []map[string]any       `json:"steps"`
}

// definition describes a model of a scenario.
type definition struct {
	Table      string              `json:"table"`
	Bases      []string            `json:"bases"`
	Fields     map[string]*field   `json:"fields"`
	Indexes    map[string]any      `json:"indexes"`
	Events     []string            `json:"events"`
	Hooks      map[string][]action `json:"hooks"`
	Methods    map[string]method   `json:"methods"`
	Plain      bool                `json:"plain"`
	Mixin      bool                `json:"mixin"`
	Register   *bool               `json:"register"`
	Deferred   bool                `json:"deferred"`
	Schema     int                 `json:"schema_version"`
	Migrations []map[string]any    `json:"migrations"`
}

// field describes a field. Of is the element of a list, set or dict.
type field struct {
	Type     string   `json:"type"`
	Model    string   `json:"model"`
	Of       *field   `json:"of"`
	Values   []string `json:"values"`
	Required bool     `json:"required"`
	Default  any      `json:"default"`
	Lazy     *bool    `json:"lazy"`
}

// action is one thing that a hook does, by the word of the action.
type action map[string]any

// method is an operation that sets a field, or adds to a list or takes from it.
type method struct {
	Set    string `json:"set"`
	Add    string `json:"add"`
	Remove string `json:"remove"`
}

// Folder returns the folder with the scenarios: dragonflow in the folder that VECTORS names, or the copy in testdata.
func Folder() fs.FS {
	if named := os.Getenv("VECTORS"); named != "" {
		return os.DirFS(filepath.Join(named, "dragonflow"))
	}
	sub, err := fs.Sub(own, "testdata/dragonflow")
	if err != nil {
		panic(err) // the path is a constant
	}
	return sub
}

// load reads all scenarios of a folder. None at all is an error, and so is a file without one.
func load(folder fs.FS) (all []*scenario, err error) {
	files, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(folder, "."); err != nil {
		return nil, fmt.Errorf("the folder of the scenarios: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("the folder has no scenarios: VECTORS names a folder that holds dragonflow/*.json")
	}
	slices.Sort(files)
	for _, name := range files {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Group     string      `json:"group"`
			Scenarios []*scenario `json:"scenarios"`
		}
		if err := decodeNumbers(text, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		if len(file.Scenarios) == 0 {
			return nil, fmt.Errorf("%s has no scenarios", name)
		}
		for _, s := range file.Scenarios {
			if s.Group == "" {
				s.Group = file.Group
			}
			if len(s.Steps) == 0 {
				return nil, fmt.Errorf("%s: %s has no steps", name, s.ID)
			}
		}
		if !strings.HasSuffix(file.Group, "rest") { // the package of the HTTP API runs those
			all = append(all, file.Scenarios...)
		}
	}
	return all, nil
}

// mustLoad is load for a test.
func mustLoad(t testing.TB) []*scenario {
	t.Helper()
	all, err := load(Folder())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
