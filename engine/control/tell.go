package control

import (
	"errors"
	"math"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// PauseRequest is the body of POST /v1/pause.
// The time is in seconds, at most ten years.
type PauseRequest struct {
	Resource string  `json:"resource,omitempty"`    // kind[name]; absent for everything
	For      float64 `json:"for_seconds,omitempty"` // absent for until it is resumed
	Reason   string  `json:"reason,omitempty"`
}

// ResumeRequest is the body of POST /v1/resume.
type ResumeRequest struct {
	Resource string `json:"resource,omitempty"` // absent for everything, also what limits hold
}

// Done is the answer to both.
// The answer comes when the recorder knows the change, so a status asked afterwards shows
// it.
type Done struct {
	Resource string    `json:"resource,omitempty"` // the owner, where a member of a group was named
	Until    time.Time `json:"until,omitzero"`     // of a pause
	State    string    `json:"state,omitempty"`    // of a resource that was to be resumed and was neither paused nor held
}

// RetryRequest is the body of POST /v1/retry.
type RetryRequest struct {
	Resources []string `json:"resources,omitempty"` // each kind[name]; absent for all that have failed
}

// Retried is the answer to it.
type Retried struct {
	Resources []string `json:"resources"` // that are tried again; the owner, where a member of a group was named
}

// Bounds of a pause.
const (
	MaxPause  = 10 * 365 * 24 * time.Hour // ten years
	maxReason = 1000                      // bytes
)

// The end of the pause is a moment, so it also holds after a restart of the daemon.
func (s *Server) postPause(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req PauseRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
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
	return Done{Resource: id, Until: p.Until}, s.opt.Engine.Told(r.Context()) // the speaker is noted until then
}

// A resource that was neither paused nor held gives an answer with its state.
func (s *Server) postResume(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req ResumeRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	id := req.Resource
	err := s.resume(r, id) // the name goes first: the paused resource may have left the graph
	if _, ok := errors.AsType[*reactor.UnknownResourceError](err); ok {
		if id, err = s.find(id); err == nil {
			err = s.resume(r, id)
		}
	}
	if e, ok := errors.AsType[*reactor.NotHeldError](err); ok {
		return Done{Resource: id, State: e.State.String()}, nil
	}
	if err != nil {
		return nil, s.explained(err)
	}
	return Done{Resource: id}, nil
}

// All names are looked up first: with one unknown name none is tried again.
func (s *Server) postRetry(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req RetryRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	ids := make([]string, len(req.Resources))
	for i, name := range req.Resources {
		id, err := s.find(name)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	slices.Sort(ids)
	tried, err := s.opt.Engine.Retry(r.Context(), slices.Compact(ids)...)
	if _, ok := errors.AsType[*reactor.NotFailedError](err); ok {
		return nil, &Error{http.StatusConflict, err.Error(), ""}
	}
	if err != nil {
		return nil, s.explained(err)
	}
	return Retried{append([]string{}, tried...)}, nil
}

// Until it returns, the history notes the caller as the speaker.
func (s *Server) resume(r *http.Request, id string) error {
	defer s.opt.Recorder.speaks(id, speaker(r))()
	if id == "" { // a graph that is held takes effect because of this caller
		_, done := s.opt.Engine.AskedBy(speaker(r))
		defer done()
	}
	if err := s.opt.Engine.Resume(r.Context(), id); err != nil {
		return err
	}
	return s.opt.Engine.Told(r.Context()) // the speaker is noted until then
}

// target returns the vertex that is meant, or nothing for all.
func (s *Server) target(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return s.find(name)
}

// explained turns the engine's answer about a name into an error that a client can
// act on: the graph may have become another one since the name was looked up.
func (s *Server) explained(err error) error {
	if e, ok := errors.AsType[*reactor.UnknownResourceError](err); ok {
		return &Error{http.StatusNotFound, e.Error(), ""}
	}
	return err
}

// speaker names who asks, for the history: user, login user and host. It is empty for a request that came without a socket, such as
// through ServeHTTP.
func speaker(r *http.Request) string {
	p, ok := httpd.PeerOf(r.Context())
	switch {
	case !ok:
		return ""
	case !p.Local:
		return p.String()
	}
	who := userName(p.UID)
	if login, ok := loginOf(p); ok && login != p.UID {
		who += ", login " + userName(login)
	}
	if host, err := os.Hostname(); err == nil {
		who += ", on " + host
	}
	return who
}

// userName returns a user's name with its number, or the number alone.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return u.Username + " (uid " + number + ")"
	}
	return "uid " + number
}

// loginOf returns who had logged in of those who have started the calling process: sudo does not change that. The process waits for the
// answer, so its number is its own, unless it has gone; another user's process is none of it.
func loginOf(p httpd.Peer) (uid uint32, ok bool) {
	folder := "/proc/" + strconv.Itoa(int(p.PID))
	var is unix.Stat_t
	if err := unix.Stat(folder, &is); err != nil || p.PID == 0 || is.Uid != p.UID {
		return 0, false
	}
	text, err := os.ReadFile(folder + "/loginuid")
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	return uint32(n), err == nil && uint32(n) != math.MaxUint32 // nobody has logged in
}
