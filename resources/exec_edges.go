package resources

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
)

// UIDs names an exec by its command.
func (x *ExecRes) UIDs() []engine.ResUID {
	return []engine.ResUID{thingUID{kind: x.Kind(), thing: x.mainCommand().line, owner: x.Name()}}
}

// AutoEdges wants what the commands need before they can run: the programs and
// the folders as files, the user and the group. What nobody manages is no edge.
func (x *ExecRes) AutoEdges() (engine.AutoEdge, error) {
	var uids []engine.ResUID
	for _, c := range x.commands() {
		if c.line == "" {
			continue
		}
		argv, err := c.argv()
		if err != nil {
			return nil, err
		}
		for _, p := range []string{argv[0], c.cwd} {
			if filepath.IsAbs(p) {
				uids = append(uids, thingUID{kind: "file", thing: filepath.Clean(p)})
			}
		}
	}
	if x.User != "" {
		uids = append(uids, thingUID{kind: "user", thing: x.User})
	}
	if x.Group != "" {
		uids = append(uids, thingUID{kind: "group", thing: x.Group})
	}
	slices.SortFunc(uids, func(a, b engine.ResUID) int { return cmp.Compare(a.String(), b.String()) })
	uids = slices.Compact(uids)
	if len(uids) == 0 {
		return nil, nil
	}
	return &wishes{uids: uids}, nil
}
