package reactor

import (
	"strings"
)

// AbandonedError says that the engine stopped waiting for methods that ignored
// the end of their context, and that they still run. It is empty where the engine was abandoned before it ran.
type AbandonedError struct {
	Resources []string // kind[name], sorted
	// Methods has, by resource, the method that does not return, where that is Init or Cleanup.
	Methods map[string]string
	Cut     []string // the commands that were cut off although that has a cost (Command.Cost), with it, sorted
}

func (e *AbandonedError) Error() string {
	if len(e.Resources)+len(e.Cut) == 0 {
		return "abandoned"
	}
	var parts []string
	if len(e.Resources) > 0 {
		var names []string
		for _, id := range e.Resources {
			if m := e.Methods[id]; m != "" {
				id += " (in " + m + ")"
			}
			names = append(names, id)
		}
		parts = append(parts, "abandoned while still running: "+strings.Join(names, ", "))
	}
	if len(e.Cut) > 0 {
		parts = append(parts, "cut off: "+strings.Join(e.Cut, "; "))
	}
	return strings.Join(parts, "; ")
}
