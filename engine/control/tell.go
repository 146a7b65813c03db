package control

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// PauseRequest is the body of POST /v1/pause.
type PauseRequest struct {
	Resource string  `json:"resource,omitempty"`    // kind[name]; absent for everything
	For      float64 `json:"for_seconds,omitempty"` // absent for until it is resumed
	Reason   string  `json:"reason,omitempty"`
}

// ResumeRequest is the body of POST /v1/resume.
type ResumeRequest struct {
	Resource string `json:"resource,omitempty"` // absent for everything, also what brakes hold
}

// Done is the answer to both.
type Done struct {
	Resource string    `json:"resource,omitempty"` // the owner, where a member of a group was named
	Until    time.Time `json:"until,omitzero"`     // of a pause
}

// Bounds of a pause.
const (
	MaxPause  = 10 * 365 * 24 * time.Hour // ten years
	maxReason = 1000                      // bytes
)

func (s *Server) postPause(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req PauseRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	if !(req.For >= 0 && req.For <= MaxPause.Seconds()) {
		return nil, bad("", "for_seconds is %v, it must be from 0 to %.0f, which is ten years", req.For, MaxPause.Seconds())
	}
	if len(req.Reason) > maxReason {
		return nil, bad("", "the reason has %d bytes, %d are the most", len(req.Reason), maxReason)
	}
	id, err := s.target(req.Resource)
	if err != nil {
		return nil, err
	}
	p := reactor.Pause{Resource: id, Reason: req.Reason}
	if req.For > 0 {
		p.Until = s.opt.Recorder.opt.Now().Add(time.Duration(req.For * float64(time.Second)))
	}
	defer s.opt.Recorder.speaks(id, speaker(r))()
	if err := s.opt.Engine.Pause(r.Context(), p); err != nil {
		return nil, s.explained(err)
	}
	return Done{id, p.Until}, nil
}

func (s *Server) postResume(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req ResumeRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	id := req.Resource
	err := s.resume(r, id) // the name goes first: what is paused may have left the graph
	if _, ok := errors.AsType[*reactor.UnknownResourceError](err); ok {
		if id, err = s.find(id); err == nil {
			err = s.resume(r, id)
		}
	}
	if err != nil {
		return nil, s.explained(err)
	}
	return Done{Resource: id}, nil
}

func (s *Server) resume(r *http.Request, id string) error {
	defer s.opt.Recorder.speaks(id, speaker(r))()
	return s.opt.Engine.Resume(r.Context(), id)
}

// target returns the vertex that is meant, or nothing for all.
func (s *Server) target(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return s.find(name)
}

// explained turns what the engine says of a name into what a client can act on:
// the graph may have become another one since the name was looked up.
func (s *Server) explained(err error) error {
	if e, ok := errors.AsType[*reactor.UnknownResourceError](err); ok {
		return &Error{http.StatusNotFound, e.Error(), ""}
	}
	return err
}

// speaker names who asks, for the history.
func speaker(r *http.Request) string {
	if p, ok := peerOf(r.Context()); ok {
		return fmt.Sprintf("uid %d", p.uid)
	}
	return ""
}
