package reactor

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

// checkMembers returns an error for the owner of a group that has not even asked for its members: they would count as right, and nobody would
// have looked. It is called after CheckApply. What traits.Groupable cannot know is no error.
func checkMembers(r engine.Res) error {
	if g, ok := r.(interface{ MembersAsked() bool }); ok && !g.MembersAsked() {
		return fmt.Errorf("it is the owner of a group, and its CheckApply has not run the members: the kind %s has to call InitGroup, CheckGroup and CleanupGroup; until it does, set meta.autogroup to false", r.Kind())
	}
	return nil
}
