package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// The bounds of proposals.
const (
	maxProposals = 32        // that wait, and as many that are decided
	maxProposed  = 256 << 10 // bytes of the document of one
	maxWords     = 1 << 10   // bytes of a reason or a name
	maxAge       = 30 * 24 * time.Hour
)

// The states of a proposal.
const (
	ProposalPending  = "pending"
	ProposalApproved = "approved"
	ProposalRejected = "rejected"
)

// Proposal is a graph that somebody has proposed. It has no effect until a person approves it.
type Proposal struct {
	ID     int       `json:"id"`
	State  string    `json:"state"` // pending, approved or rejected
	Reason string    `json:"reason"`
	By     string    `json:"by"`              // who has proposed it
	Agent  string    `json:"agent,omitempty"` // the program that has, as it calls itself
	At     time.Time `json:"at"`
	Bytes  int       `json:"bytes"` // the length of the graph

	Decided *Decision `json:"decided,omitempty"`
}

// Decision is what a person has made of a proposal.
type Decision struct {
	By         string    `json:"by"`
	At         time.Time `json:"at"`
	Reason     string    `json:"reason,omitempty"`
	Generation int       `json:"generation,omitempty"` // of the graph that took effect; absent where it is held
}

// Proposals are the proposals of a daemon, the newest last. Those that wait leave after 30 days.
type Proposals struct {
	Proposals []Proposal `json:"proposals"`
}

// Review is what a person reads before a decision.
type Review struct {
	Proposal
	Document string `json:"document"` // the whole proposed graph
	Current  string `json:"current"`  // the graph file in whose place it would come; empty for none
	Path     string `json:"path"`     // of that file
	Digest   string `json:"digest"`   // of both: an approval names it, so it is of exactly what was read
}

// ProposeRequest is the body of POST /v1/proposals. Document and Reason are required.
type ProposeRequest struct {
	Document string `json:"document"` // the whole text of the new graph
	Reason   string `json:"reason"`
	Agent    string `json:"agent,omitempty"` // how the proposing program calls itself
}

// ApproveRequest is the body of an approval.
type ApproveRequest struct {
	Digest string `json:"digest"` // of the Review
	Reason string `json:"reason,omitempty"`
}

// RejectRequest is the body of a rejection.
type RejectRequest struct {
	Reason string `json:"reason,omitempty"`
}

// kept is a proposal with its document, as the file has it. A decided one has no document any more.
type kept struct {
	Proposal
	Document string `json:"document,omitempty"`
}

// proposals keeps them, in memory and in a file that survives a restart. Its methods may be called from many goroutines.
type proposals struct {
	path  string // empty for none
	log   *slog.Logger
	clock clock.Clock
	turn  chan struct{} // a value in it is held by who reads or alters the fields below

	read bool
	Last int    `json:"last"`
	List []kept `json:"list"`
}

func newProposals(o *Options) *proposals {
	p := &proposals{log: o.Logger, clock: o.Clock, turn: make(chan struct{}, 1)}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if o.StateDir != "" {
		p.path = filepath.Join(o.StateDir, "proposals.json")
	}
	return p
}

// take waits for the turn, and forgets what is too old. The caller gives the turn back by the returned function.
func (p *proposals) take(ctx context.Context) (done func(), err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done = func() { <-p.turn }
	if !p.read && p.path != "" {
		if err := p.load(); err != nil {
			done()
			return nil, err
		}
	}
	p.read = true
	now := p.clock.Now()
	p.List = slices.DeleteFunc(p.List, func(k kept) bool { return k.State == ProposalPending && now.Sub(k.At) > maxAge })
	return done, nil
}

// load reads the file. A damaged one is kept under another name, for a person to look at, and the list begins empty. An error says that the
// file can't be read, or not be kept.
func (p *proposals) load() error {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if damage := json.Unmarshal(text, p); damage != nil {
			p.Last, p.List = 0, nil
			err = p.setAside(damage)
		}
	}
	if err != nil {
		return &Error{http.StatusInternalServerError, fmt.Sprintf("the proposals can't be read from %s: %v", p.path, err), "repair the file, or remove it"}
	}
	return nil
}

// setAside gives the damaged file a name that no other one has.
func (p *proposals) setAside(damage error) error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", p.path, n)
		err := os.Link(p.path, aside)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = os.Remove(p.path)
		}
		if err == nil {
			p.log.Error("the file of proposals is damaged and was set aside: those that waited have to be proposed again", "path", p.path, "kept_as", aside, "error", damage)
		}
		return err
	}
}

// save writes the file. The list before comes back where that fails.
func (p *proposals) save(last int, list []kept) error {
	before, from := p.List, p.Last
	p.Last, p.List = last, list
	if p.path == "" {
		return nil
	}
	text, err := json.Marshal(p)
	if err == nil {
		err = safepath.System().WriteFile(p.path, text, 0o600, true)
	}
	if err != nil {
		p.Last, p.List = from, before
	}
	return err
}

// at returns the place of a proposal in the list.
func (p *proposals) at(r *http.Request) (int, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	i := slices.IndexFunc(p.List, func(k kept) bool { return err == nil && k.ID == id })
	if i < 0 {
		return 0, &Error{http.StatusNotFound, fmt.Sprintf("there is no proposal %q", r.PathValue("id")), "mgmt proposals lists them"}
	}
	return i, nil
}

// decided notes a decision, and forgets the document and the oldest decisions.
func (p *proposals) decided(i int, state string, d Decision) (*Proposal, error) {
	list := slices.Clone(p.List)
	list[i].State, list[i].Decided, list[i].Document = state, &d, ""
	out := list[i].Proposal
	n := 0
	for _, k := range list {
		if k.Decided != nil {
			n++
		}
	}
	list = slices.DeleteFunc(list, func(k kept) bool {
		old := k.Decided != nil && n > maxProposals
		if old {
			n--
		}
		return old
	})
	return &out, p.save(p.Last, list)
}

// proposalRoutes are the endpoints of proposals. To propose takes the right to use the socket; to read the graph file and to decide takes that of
// POST /v1/apply.
func (s *Server) proposalRoutes() []httpd.Route {
	id := httpd.Param{Name: "id", Doc: "The number of the proposal.", Path: true}
	return []httpd.Route{
		{Method: "GET", Pattern: "/v1/proposals", Summary: "The proposed graphs, and what became of them.", Answer: Proposals{}, Serve: s.getProposals},
		{
			Method: "POST", Pattern: "/v1/proposals", Summary: "Propose a graph, which has no effect until a person approves it.",
			Body: ProposeRequest{}, MaxBody: 6*maxProposed + maxBody, Answer: Proposal{}, Errors: []int{http.StatusConflict}, Serve: s.postProposal,
		},
		{
			Method: "GET", Pattern: "/v1/proposals/{id}/review", Summary: "A proposed graph, the present one, and the digest of both.",
			Doc:    "Only root and the user that the daemon runs as may ask.",
			Params: []httpd.Param{id}, Answer: Review{}, Errors: []int{http.StatusConflict}, Serve: s.getReview,
		},
		{
			Method: "POST", Pattern: "/v1/proposals/{id}/approve", Summary: "Put a proposed graph into effect, as POST /v1/apply does.",
			Doc:    "Only root and the user that the daemon runs as may ask. The digest has to be that of the review: where the graph file was altered since, nothing is done.",
			Params: []httpd.Param{id}, Body: ApproveRequest{}, Answer: Verdict{}, Errors: []int{http.StatusConflict}, Lasting: httpd.Always, Serve: s.postApprove,
		},
		{
			Method: "POST", Pattern: "/v1/proposals/{id}/reject", Summary: "Reject a proposed graph.",
			Doc:    "Only root and the user that the daemon runs as may ask.",
			Params: []httpd.Param{id}, Body: RejectRequest{}, Answer: Proposal{}, Errors: []int{http.StatusConflict}, Serve: s.postReject,
		},
	}
}

func (s *Server) getProposals(_ http.ResponseWriter, r *http.Request) (any, error) {
	done, err := s.proposals.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	out := Proposals{Proposals: []Proposal{}}
	for _, k := range s.proposals.List {
		out.Proposals = append(out.Proposals, k.Proposal)
	}
	return out, nil
}

func (s *Server) postProposal(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Graphs == nil {
		return nil, errNoGraphs
	}
	var req ProposeRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	switch {
	case req.Document == "" || !utf8.ValidString(req.Document) || strings.ContainsRune(req.Document, 0):
		return nil, bad("send the whole text of the new graph", "there is no document")
	case len(req.Document) > maxProposed:
		return nil, bad("split the change", "the document is longer than the maximum of %d bytes", maxProposed)
	case req.Reason == "":
		return nil, bad("say what the change is for", "there is no reason")
	case max(len(req.Reason), len(req.Agent)) > maxWords:
		return nil, bad("say it in fewer words", "the reason or the name of the agent is longer than the maximum of %d bytes", maxWords)
	}
	// A daemon without a file could never put it into effect.
	if _, _, err := s.opt.Graphs.Current(r.Context()); err != nil {
		return nil, err
	}
	p := s.proposals
	done, err := p.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	waiting := 0
	for _, k := range p.List {
		if k.State != ProposalPending {
			continue
		}
		if waiting++; k.Document == req.Document {
			return nil, &Error{http.StatusConflict, fmt.Sprintf("proposal %d is this graph already", k.ID), "wait until a person has decided"}
		}
	}
	if waiting >= maxProposals {
		return nil, &Error{http.StatusConflict, fmt.Sprintf("%d proposals wait already", waiting), "approve or reject one first"}
	}
	k := kept{Proposal{
		ID: p.Last + 1, State: ProposalPending, Reason: req.Reason, By: speaker(r), Agent: req.Agent, At: p.clock.Now().UTC(), Bytes: len(req.Document),
	}, req.Document}
	if err := p.save(k.ID, append(slices.Clone(p.List), k)); err != nil {
		return nil, err
	}
	return k.Proposal, nil
}

// pending takes the turn of the proposals, for the decision about one that waits.
func (s *Server) pending(r *http.Request) (i int, done func(), err error) {
	if err := s.mayApply(r); err != nil {
		return 0, nil, err
	}
	done, err = s.proposals.take(r.Context())
	if err != nil {
		return 0, nil, err
	}
	i, err = s.proposals.at(r)
	if err == nil {
		if k := s.proposals.List[i]; k.State != ProposalPending {
			err = &Error{http.StatusConflict, fmt.Sprintf("proposal %d is %s already, by %s", k.ID, k.State, cmp.Or(k.Decided.By, "somebody")), ""}
		}
	}
	if err != nil {
		done()
		return 0, nil, err
	}
	return i, done, nil
}

// digest is that of a proposed graph and of the one in whose place it would come.
func digest(document, current string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s%s", len(document), document, current)
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func (s *Server) getReview(_ http.ResponseWriter, r *http.Request) (any, error) {
	i, done, err := s.pending(r)
	if err != nil {
		return nil, err
	}
	k := s.proposals.List[i]
	done()
	path, current, err := s.opt.Graphs.Current(r.Context())
	if err != nil {
		return nil, err
	}
	return Review{Proposal: k.Proposal, Document: k.Document, Current: string(current), Path: path, Digest: digest(k.Document, string(current))}, nil
}

// postApprove puts a proposal into effect. A refused one still waits: what it lacks may come.
func (s *Server) postApprove(w http.ResponseWriter, r *http.Request) (any, error) {
	i, done, err := s.pending(r)
	if err != nil {
		return nil, err
	}
	defer done()
	var req ApproveRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if len(req.Reason) > maxWords {
		return nil, bad("say it in fewer words", "the reason is longer than the maximum of %d bytes", maxWords)
	}
	k := s.proposals.List[i]
	v, err := s.opt.Graphs.Apply(calling(r), fmt.Sprintf("proposal %d", k.ID), []byte(k.Document), func(current []byte) error {
		if req.Digest != digest(k.Document, string(current)) {
			return &Error{http.StatusConflict, fmt.Sprintf("proposal %d is not what was reviewed, or the graph file was altered since", k.ID), fmt.Sprintf("read it again: mgmt proposals %d", k.ID)}
		}
		return nil
	})
	if err == nil && v.Refused == "" {
		d := Decision{By: speaker(r), At: s.proposals.clock.Now().UTC(), Reason: req.Reason}
		if v.Held == "" {
			d.Generation = v.Generation
		}
		_, err = s.proposals.decided(i, ProposalApproved, d)
	}
	return s.judged(w, r, v, err)
}

func (s *Server) postReject(_ http.ResponseWriter, r *http.Request) (any, error) {
	i, done, err := s.pending(r)
	if err != nil {
		return nil, err
	}
	defer done()
	var req RejectRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if len(req.Reason) > maxWords {
		return nil, bad("say it in fewer words", "the reason is longer than the maximum of %d bytes", maxWords)
	}
	return s.proposals.decided(i, ProposalRejected, Decision{By: speaker(r), At: s.proposals.clock.Now().UTC(), Reason: req.Reason})
}
