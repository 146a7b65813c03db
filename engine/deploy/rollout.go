package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// State is how far a rollout has come.
type State string

// The states of a rollout.
const (
	Running State = "running" // batches go on as long as an operator waits for them
	Stopped State = "stopped" // too many hosts have failed; the others keep their graph
	Done    State = "done"    // every host of the topic takes it, later ones too
)

// Rollout says which hosts of a topic take which deploy.
type Rollout struct {
	Number    int64    `json:"number"`
	Digest    string   `json:"digest,omitempty"` // of its files, which tells it from another deploy with this number
	Base      int64    `json:"base,omitempty"`   // the deploy of the hosts that do not take it yet; 0 for none
	State     State    `json:"state"`
	Hosts     []string `json:"hosts,omitempty"` // that take it, in the order of the batches, as long as it is not done
	By        string   `json:"by"`              // the operator who leads it
	MaxFailed int      `json:"max_failed"`
	Batch     string   `json:"batch"`
}

// Due returns the number of the deploy that a host takes; 0 for none.
func (r Rollout) Due(host string) int64 {
	if r.State == Done || slices.Contains(r.Hosts, host) {
		return r.Number
	}
	return r.Base
}

// ReadRollout reads the value of a RolloutKey.
func ReadRollout(value []byte) (r Rollout, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("%w: the rollout: %w", ErrRecord, err)
	}
	if r.Number < 0 || r.Number > maxNumber {
		return r, fmt.Errorf("%w: the rollout has the number %d", ErrRecord, r.Number)
	}
	return r, nil
}

// Report is what a host has of its deploys. The host writes it when that changes. It is shown, and gives the host no right: see Fleet.
type Report struct {
	Host    string              `json:"host"`
	Store   string              `json:"store,omitempty"`  // the id of the store that it belongs to
	Topics  []string            `json:"topics"`           // that it takes deploys of, as it says itself
	Deploys map[string]Standing `json:"deploys"`          // by topic
	Keys    []string            `json:"keys"`             // the ids of the keys that it trusts
	Sealed  string              `json:"sealed,omitempty"` // the recipient that secrets for this host are encrypted to
}

// Standing is how the deploys of one topic stand on a host.
type Standing struct {
	Number  int64  `json:"number"` // in effect; 0 for none
	Digest  string `json:"digest,omitempty"`
	State   string `json:"state"`             // StateTaken, StateConverged or StateFailed
	Refused int64  `json:"refused,omitempty"` // the deploy that it refuses; 0 for none
	Code    string `json:"code,omitempty"`    // of the refusal
	Error   string `json:"error,omitempty"`   // why it is refused, or which resource has failed
	Left    []Left `json:"left,omitempty"`    // at most MaxLeft of the resources that have left the graph with it
	More    int    `json:"more,omitempty"`    // how many others have
}

// MaxLeft is how many of the resources that leave with a deploy a report names.
const MaxLeft = 100

// Left is a resource that has left the graph of a host with a deploy.
type Left struct {
	Resource string `json:"resource"`
	Undone   bool   `json:"undone,omitempty"` // its state before the first change is brought back; else its work stays as it is
}

// The states of a Standing.
const (
	StateTaken     = "taken"     // the graph is in effect, and its resources are brought to it
	StateConverged = "converged" // every resource is as wanted
	StateFailed    = "failed"    // the graph is at rest, and resources have failed
)

// Had reports whether a host has had other files under the number of the rollout, as after a store was made anew.
func (r Rollout) Had(number int64, digest string) bool {
	return number == r.Number && r.Digest != "" && digest != r.Digest
}

// Phase is how far one host is with one deploy.
type Phase string

// The phases of a host.
const (
	Waits     Phase = "waits"     // it is in no batch yet
	Takes     Phase = "takes"     // it has to take the deploy over, or to come to rest
	Converged Phase = "converged" // all is as wanted
	Failed    Phase = "failed"    // its resources have failed
	Refused   Phase = "refused"   // it has refused the deploy
	Late      Phase = "late"      // it has taken too long for the operator, who alone knows this phase
)

// PhaseOf returns how far a host is. A host without a report is one with the zero Standing.
func (r Rollout) PhaseOf(host string, s Standing) Phase {
	has := s.Number == r.Number && !r.Had(s.Number, s.Digest)
	switch {
	case s.Refused == r.Number && !has:
		return Refused
	case has && s.State == StateConverged:
		return Converged
	case has && s.State == StateFailed:
		return Failed
	case r.Due(host) == r.Number:
		return Takes
	}
	return Waits
}

// Batch is how many hosts take a deploy at once.
type Batch struct {
	Count   int
	Percent float64 // of the hosts of the topic, where it is not 0
}

// ParseBatch reads a number of hosts, or a share such as 10%. An empty text is all of them.
func ParseBatch(text string) (Batch, error) {
	if text == "" {
		return Batch{Percent: 100}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return Batch{}, fmt.Errorf("%q is no share of the hosts, write one as 10%%", text)
		}
		return Batch{Percent: p}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Batch{}, fmt.Errorf("%q is no batch, write a number of hosts as 5, or a share as 10%%", text)
	}
	return Batch{Count: n}, nil
}

// Of returns how many of so many hosts are a batch: at least one.
func (b Batch) Of(hosts int) int {
	if b.Percent != 0 {
		return max(1, int(math.Ceil(float64(hosts)*b.Percent/100)))
	}
	return max(1, b.Count)
}

// Next returns the rollout after one look at the hosts of the topic that are there, and whether anything is different.
// standings are theirs, and those of the hosts in the rollout. late are hosts that have taken too long: they count as failed.
func (r Rollout) Next(live []string, standings map[string]Standing, late map[string]bool) (next Rollout, moved bool, err error) {
	size, err := ParseBatch(r.Batch)
	if err != nil || r.State != Running {
		return r, false, err
	}
	failed, open := 0, 0
	for _, host := range r.Hosts {
		switch p := r.PhaseOf(host, standings[host]); {
		case p == Failed, p == Refused, p != Converged && late[host]:
			failed++
		case p != Converged:
			open++
		}
	}
	next = r
	switch {
	case failed >= max(1, r.MaxFailed):
		next.State = Stopped
		return next, true, nil
	case open > 0:
		return r, false, nil
	}
	var rest []string
	for _, host := range live {
		if !slices.Contains(r.Hosts, host) {
			rest = append(rest, host)
		}
	}
	if len(rest) == 0 {
		next.State, next.Hosts = Done, nil
		return next, true, nil
	}
	slices.Sort(rest)
	next.Hosts = append(slices.Clone(r.Hosts), rest[:min(len(rest), size.Of(len(live)))]...)
	return next, true, nil
}

// Errors of an operator's deploy.
var (
	// ErrBusy tells that another operator's deploy to the topic is under way.
	ErrBusy = errors.New("another deploy to this topic is under way")
	// ErrTaken tells that another operator has taken the rollout over.
	ErrTaken = errors.New("another operator leads this rollout now")
)
