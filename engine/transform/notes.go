package transform

import "strings"

// The subjects of a note.
const (
	EdgeAdded    = "edge added"    // between the two vertices, the first comes first
	EdgeNotifies = "edge notifies" // as EdgeAdded, but it was declared, and carries refresh now
	EdgeLeftOut  = "edge left out" // as EdgeAdded, but it would have closed a cycle, or was not looked at
	Grouped      = "grouped"       // the first vertex owns the others
	NotGrouped   = "not grouped"   // it stays alone, though its kind can be grouped
	Skipped      = "skipped"       // what a resource says of itself could not be used
)

// Note says one thing that a step has done, or has not.
type Note struct {
	Step     string   `json:"step"`
	Kind     string   `json:"kind"`
	Vertices []string `json:"vertices"` // ids; see Kind
	Reason   string   `json:"reason"`
}

// String returns the note as one line.
func (n Note) String() string {
	between := ", "
	switch n.Kind {
	case EdgeAdded, EdgeNotifies, EdgeLeftOut:
		between = " -> "
	}
	return n.Step + ": " + n.Kind + ": " + strings.Join(n.Vertices, between) + ": " + n.Reason
}

// Notes collects the deeds of steps. The zero value collects the important ones:
// Skipped and EdgeLeftOut.
type Notes struct {
	All  bool // collect every note, for a reader who wants it explained
	List []Note

	step string // that runs
}

// Tell adds a note that a user should know of.
func (n *Notes) Tell(kind, reason string, vertices ...string) {
	n.List = append(n.List, Note{Step: n.step, Kind: kind, Vertices: vertices, Reason: reason})
}

// Explain adds a note for callers that want every one. The reason is asked for only
// then.
func (n *Notes) Explain(kind string, reason func() string, vertices ...string) {
	if n.All {
		n.Tell(kind, reason(), append([]string(nil), vertices...)...)
	}
}
