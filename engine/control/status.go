package control

import (
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Version says which daemon answers.
// Started is by the clock of the machine, for people.
type Version struct {
	Version    string    `json:"version"`
	API        int       `json:"api"`
	PID        int       `json:"pid"`
	StateDir   string    `json:"state_dir"` // empty for a temporary one
	Session    string    `json:"session"`
	Started    time.Time `json:"started"`
	Generation int       `json:"generation"` // of the graph in effect; 0 for none yet
}

// Status is how a daemon and its graph stand.
// All states in it are of one moment.
type Status struct {
	Version
	Graph     string           `json:"graph"`
	SameSince int              `json:"same_since"` // the generation that brought these resources; each later one altered none
	Converged bool             `json:"converged"`
	Early     bool             `json:"early,omitempty"`      // it has not been converged since the start
	ExitCode  int              `json:"exit_code"`            // what Code returns
	Since     time.Time        `json:"since"`                // when Converged became that
	Refused   string           `json:"refused,omitempty"`    // why a newer graph is not in effect
	Held      string           `json:"held,omitempty"`       // why a newer graph waits to be resumed
	Pinned    *Pinned          `json:"pinned,omitempty"`     // the rollback that stands in the place of the graph of the input
	Undone    []Undone         `json:"undone,omitempty"`     // what stays undone until another graph takes effect, or until resume
	Awaits    []string         `json:"awaits,omitempty"`     // the resources that have to be brought about before a newer graph takes effect
	StoreLost *StoreLost       `json:"store_lost,omitempty"` // while the store of several hosts does not answer
	StateLost *StateLost       `json:"state_lost,omitempty"` // where the state folder was removed, replaced or shut while it is in use
	Notices   []NoticeReceiver `json:"notices,omitempty"`    // who is not told of events, or was not told of all of them
	Counts    map[string]int   `json:"counts"`               // vertices by state at rest
	Watches   *Watches         `json:"watches,omitempty"`    // what tells of changes in folders
	Selected  *Selected        `json:"selected,omitempty"`   // with a selection
	Resources []Resource       `json:"resources"`            // those asked for
	Absent    []AbsentPause    `json:"absent,omitempty"`     // paused, and not in the graph
}

// Selected says how the selected resources stand.
type Selected struct {
	Counts   map[string]int `json:"counts"`
	ExitCode int            `json:"exit_code"`      // what Code would return if there were no others
	None     string         `json:"none,omitempty"` // why there are none
}

// Watches says what tells of changes in the folders that are watched.
type Watches struct {
	// Counts are the folders by their source: fanotify, inotify, fsnotify or poll.
	Counts map[string]int `json:"counts"`
	// Folders are those that no event covers in full: polled ones, and file systems that other machines change too. With
	// all, they are all folders.
	Folders []Folder `json:"folders,omitempty"`
	More    int      `json:"more,omitempty"`  // how many more of Folders there are
	Error   string   `json:"error,omitempty"` // why nothing is known: a file system that does not answer holds the watches up
}

// Folder is a folder that is watched.
type Folder struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	// Remote is the type of a file system that other machines, or a program of FUSE, can change. No event tells of that; meta.poll sees it.
	Remote string `json:"remote,omitempty"`
}

// maxFolders is how many folders a status names unless all are asked for.
const maxFolders = 20

// watchesOf counts folders, and lists them as Watches says.
func watchesOf(list []Folder, all bool) *Watches {
	w := &Watches{Counts: map[string]int{}}
	for _, f := range list {
		w.Counts[f.Source]++
		switch {
		case !all && f.Source != "poll" && f.Remote == "":
		case !all && len(w.Folders) == maxFolders:
			w.More++
		default:
			w.Folders = append(w.Folders, f)
		}
	}
	return w
}

// StoreLost says that the store of several hosts does not answer, or refuses this host. The daemon goes on with its last state, and catches up later.
type StoreLost struct {
	Since time.Time `json:"since"`
	Error string    `json:"error"`
	// Refused says that the store answers, and refuses this host.
	Refused bool `json:"refused,omitempty"`
}

// StateLost says what the state folder has lost while it is in use. Without Error, Lost and Other, all of it was written anew.
type StateLost struct {
	Since time.Time `json:"since"`           // when that was seen first
	Error string    `json:"error,omitempty"` // why the folder can't be used: what was kept there is lost when the program ends
	Lost  []string  `json:"lost,omitempty"`  // files that could not be written anew, by their paths in the folder
	Other []string  `json:"other,omitempty"` // files in whose place the folder has others now
}

// Bad reports whether something is lost.
func (l *StateLost) Bad() bool { return l != nil && (l.Error != "" || len(l.Lost)+len(l.Other) > 0) }

// Resource is how one vertex stands.
// Resource, State and Changes are always there, the other members only with some states.
type Resource struct {
	Resource  string  `json:"resource"`
	State     string  `json:"state"`                      // at rest: the last one in which it rested
	Doing     string  `json:"doing,omitempty"`            // starting, waiting or running, where that is another one at this moment
	Error     string  `json:"error,omitempty"`            // with failed
	RetryIn   float64 `json:"retry_in_seconds,omitempty"` // with failed; absent where it is not tried again
	BlockedBy string  `json:"blocked_by,omitempty"`       // with blocked and waiting; with paused, where another one is paused
	WaitsFor  string  `json:"waits_for,omitempty"`        // with waiting: settle, limit, a free slot, or something outside, in words
	Until     string  `json:"until,omitempty"`            // with unknown
	Changes   int     `json:"changes"`                    // how many runs have changed something in this session
	Pause     *Pause  `json:"pause,omitempty"`            // with paused, and with another state, as failed
	Held      *Hold   `json:"held,omitempty"`             // with held
}

// Pause says until when and why something is left alone.
// A pause without an end lasts until someone resumes it, also over restarts.
type Pause struct {
	All    bool      `json:"all,omitempty"`  // everything is paused, not only this
	Until  time.Time `json:"until,omitzero"` // absent for until it is resumed
	Reason string    `json:"reason,omitempty"`
}

// AbsentPause is the pause of a resource that is not in the graph. It holds again
// when that comes back.
type AbsentPause struct {
	Resource string `json:"resource"`
	Pause    *Pause `json:"pause"`
}

// Hold says what keeps a vertex from being altered.
type Hold struct {
	Limit  string  `json:"limit"` // budget, flapping, approval or window
	Reason string  `json:"reason"`
	For    float64 `json:"for_seconds,omitempty"` // absent where it waits to be told

	// with approval
	Digest   string   `json:"digest,omitempty"`   // of the change, for decide
	Changes  []Change `json:"changes,omitempty"`  // what it would change
	Omitted  bool     `json:"omitted,omitempty"`  // too many resources were asked for: select fewer to see Changes
	Rejected bool     `json:"rejected,omitempty"` // as the reason says
}

// Times become seconds, and the error becomes its text.
func resourceOf(s *reactor.Status) Resource {
	out := Resource{
		Resource: s.Resource, State: s.Rest.String(), RetryIn: s.RetryIn.Seconds(),
		BlockedBy: s.BlockedBy, WaitsFor: s.WaitsFor, Until: s.Until, Changes: s.Changed,
	}
	if s.State != s.Rest {
		out.Doing = s.State.String()
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	if s.Pause != nil {
		out.Pause = pauseOf(s.Pause)
	}
	if s.Held != nil {
		out.Held = holdOf(s.Held)
	}
	return out
}

func pauseOf(p *reactor.Pause) *Pause {
	return &Pause{All: p.Resource == "", Until: p.Until, Reason: p.Reason}
}

func holdOf(h *reactor.Held) *Hold {
	return &Hold{Limit: h.Limit, Reason: h.Reason, For: h.For.Seconds(), Digest: h.Digest, Changes: changesOf(h.Changes), Rejected: h.Rejected}
}

// Code returns the exit code that says how the graph stands: 1 the newest graph was
// refused, else that of reactor.Rest.
// A graph that is held counts as a change to come, and lost state as a failure.
func (s *Status) Code() int {
	if s.Refused != "" {
		return 1
	}
	code := s.Rest().Code()
	switch {
	case s.StateLost.Bad() && code == 5: // not at rest yet
		code = 4
	case s.StateLost.Bad():
		code |= 4
	}
	switch {
	case s.Held == "":
		return code
	case code == 5: // not at rest yet
		return 2
	default:
		return code&4 | 2
	}
}

// Rest returns how the graph in effect stands.
func (s *Status) Rest() reactor.Rest {
	return reactor.Rest{Generation: s.Generation, Counts: reactor.CountsOf(s.Counts), Converged: s.Converged, Early: s.Early}
}
