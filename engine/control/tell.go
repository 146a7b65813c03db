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
	Resource string  `json:"resource,omitempty"`    // kind[name], or a selection; absent for everything
	For      float64 `json:"for_seconds,omitempty"` // absent for until it is resumed
	Reason   string  `json:"reason,omitempty"`
}

// ResumeRequest is the body of POST /v1/resume.
type ResumeRequest struct {
	Resource string `json:"resource,omitempty"` // kind[name], or a selection; absent for everything, also what limits hold
	Reason   string `json:"reason,omitempty"`
}

// Done is the answer to both.
// The answer comes when the recorder knows the change, so a status asked afterwards shows
// it.
type Done struct {
	Resource string `json:"resource,omitempty"` // the owner, where a member of a group was named
	// Resources are those to which it was done, where the request has a selection and not one name.
	Resources []string  `json:"resources,omitzero"`
	Selected  int       `json:"selected,omitempty"` // how many the selection has
	Until     time.Time `json:"until,omitzero"`     // of a pause
	State     string    `json:"state,omitempty"`    // of a resource that was to be resumed and was neither paused nor held
}

// DecideRequest is the body of POST /v1/decide. Each change is named by the digest that the status has shown.
type DecideRequest struct {
	Approve bool               `json:"approve"` // false rejects the changes
	Changes []reactor.Proposal `json:"changes"`
	Reason  string             `json:"reason,omitempty"`
}

// Decided is the answer to it.
type Decided struct {
	Resources []string `json:"resources"`
	Others    []string `json:"others,omitempty"` // those of Resources that others have to approve, too
}

// RetryRequest is the body of POST /v1/retry.
type RetryRequest struct {
	Resources []string `json:"resources,omitempty"` // each kind[name], or a selection; absent for all that have failed
	Reason    string   `json:"reason,omitempty"`
}

// Retried is the answer to it.
type Retried struct {
	Resources []string `json:"resources"`          // that are tried again; the owner, where a member of a group was named
	Selected  int      `json:"selected,omitempty"` // how many a selection in the request has
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
	if err := reasonFits(req.Reason); err != nil {
		return nil, err
	}
	p := reactor.Pause{Reason: req.Reason}
	if req.For > 0 {
		p.Until = s.opt.Recorder.opt.Now().Add(time.Duration(req.For * float64(time.Second)))
	}
	if req.Resource == "" {
		return Done{Until: p.Until}, s.pause(r, p, []string{""})
	}
	for try := 0; ; try++ {
		list, err := s.chooseNow(r.Context(), req.Resource)
		if err != nil {
			return nil, err
		}
		c := list[0]
		err = s.pause(r, p, c.ids)
		if _, left := errors.AsType[*reactor.UnknownResourceError](err); left && !c.one && try < graphsBetween {
			continue // a new graph has taken effect since
		}
		if err != nil {
			return nil, s.explained(err)
		}
		if c.one {
			return Done{Resource: c.ids[0], Until: p.Until}, nil
		}
		return Done{Resources: c.ids, Selected: len(c.ids), Until: p.Until}, nil
	}
}

// reasonFits refuses a reason that is too long to be kept.
func reasonFits(reason string) error {
	if len(reason) > maxReason {
		return bad("", "the reason has %d bytes, %d are the most", len(reason), maxReason)
	}
	return nil
}

// graphsBetween is how many new graphs may come between a choice and its pause.
const graphsBetween = 3

// pause pauses vertices. Until it returns, the history notes the caller as the speaker.
func (s *Server) pause(r *http.Request, p reactor.Pause, ids []string) error {
	pauses := make([]reactor.Pause, len(ids))
	for i, id := range ids {
		pauses[i] = p
		pauses[i].Resource = id
	}
	defer s.opt.Recorder.speaks(speaker(r), p.Reason, ids...)()
	if err := s.opt.Engine.Pause(r.Context(), pauses...); err != nil {
		return err
	}
	return s.opt.Engine.Told(r.Context()) // the speaker is noted until then
}

// A resource that was neither paused nor held gives an answer with its state.
func (s *Server) postResume(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req ResumeRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if err := reasonFits(req.Reason); err != nil {
		return nil, err
	}
	id := req.Resource
	err := s.resume(r, req.Reason, id) // the name goes first: the paused resource may have left the graph
	if _, ok := errors.AsType[*reactor.UnknownResourceError](err); ok {
		var c chosen
		if c, err = s.chooseAbsent(r.Context(), id); err == nil && !c.one {
			return s.resumeHeld(r, req.Reason, c.ids)
		} else if err == nil {
			id = c.ids[0]
			err = s.resume(r, req.Reason, id)
		}
	}
	if _, ok := errors.AsType[*reactor.UnapprovedError](err); ok {
		return nil, &Error{http.StatusConflict, err.Error(), ""}
	}
	if e, ok := errors.AsType[*reactor.NotHeldError](err); ok {
		return Done{Resource: id, State: e.State.String()}, nil
	}
	if err != nil {
		return nil, s.explained(err)
	}
	return Done{Resource: id}, nil
}

// resumeHeld resumes what is paused or held among some.
func (s *Server) resumeHeld(r *http.Request, reason string, ids []string) (any, error) {
	defer s.opt.Recorder.speaks(speaker(r), reason, ids...)()
	resumed, err := s.opt.Engine.Resume(r.Context(), reactor.Which{Among: ids})
	if err != nil {
		return nil, err
	}
	if s.mayRelease(r) && len(ids) > 0 {
		for _, u := range s.opt.Kept.Undone() {
			if slices.Contains(ids, u.Resource) && !slices.Contains(resumed, u.Resource) {
				resumed = append(resumed, u.Resource)
			}
		}
		if _, err := s.opt.Kept.Release(calling(r), ids...); err != nil {
			return nil, err
		}
	}
	return Done{Resources: append([]string{}, resumed...), Selected: len(ids)}, s.opt.Engine.Told(r.Context())
}

// All names are looked up first: with one unknown name none is tried again. Of a selection, those are tried that have failed. All of it
// is of one moment.
func (s *Server) postRetry(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req RetryRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if err := reasonFits(req.Reason); err != nil {
		return nil, err
	}
	var named, some []string
	list, err := s.chooseNow(r.Context(), req.Resources...)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.one {
			named = append(named, c.ids...)
		} else {
			some = append(some, c.ids...)
		}
	}
	slices.Sort(named)
	slices.Sort(some)
	named, some = slices.Compact(named), slices.Compact(some)
	tried, err := s.opt.Engine.Retry(r.Context(), reactor.Which{All: len(req.Resources) == 0, Named: named, Among: some})
	if _, ok := errors.AsType[*reactor.NotFailedError](err); ok {
		return nil, &Error{http.StatusConflict, err.Error(), ""}
	}
	if err != nil {
		return nil, s.explained(err)
	}
	s.opt.Recorder.retried(speaker(r), req.Reason, tried)
	return Retried{Resources: append([]string{}, tried...), Selected: len(some)}, nil
}

// Until it returns, the history notes the caller as the speaker.
func (s *Server) resume(r *http.Request, reason, id string) error {
	defer s.opt.Recorder.speaks(speaker(r), reason, id)()
	if id == "" { // a graph that is held takes effect because of this caller
		_, done := s.opt.Engine.AskedBy(speaker(r))
		defer done()
	}
	which := reactor.Named(id)
	if id == "" {
		which = reactor.Which{All: true}
	}
	_, err := s.opt.Engine.Resume(r.Context(), which)
	if s.mayRelease(r) && (err == nil || !which.All) {
		released, bad := s.opt.Kept.Release(calling(r), which.Named...)
		if bad != nil {
			return bad
		}
		if released {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return s.opt.Engine.Told(r.Context()) // the speaker is noted until then
}

// mayRelease reports whether a resume ends a rollback or an undo, too: that gives another graph effect, which not everybody may who resumes.
func (s *Server) mayRelease(r *http.Request) bool { return s.opt.Kept != nil && s.mayApply(r) == nil }

// postDecide answers when the change is on its way. One decision is made at a time, so that the history knows whose it is.
func (s *Server) postDecide(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req DecideRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if len(req.Changes) == 0 {
		return nil, bad("", "it names no changes")
	}
	if err := reasonFits(req.Reason); err != nil {
		return nil, err
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	d := reactor.Decision{Approve: req.Approve, Proposals: req.Changes, By: speaker(r), Reason: req.Reason}
	defer s.opt.Recorder.decides(&d)()
	err := s.opt.Engine.Decide(r.Context(), d)
	_, other := errors.AsType[*reactor.OtherChangeError](err)
	_, none := errors.AsType[*reactor.NotAskedError](err)
	_, person := errors.AsType[*reactor.PersonError](err)
	switch {
	case person:
		return nil, &Error{http.StatusForbidden, err.Error(), ""}
	case other, none:
		return nil, &Error{http.StatusConflict, err.Error(), ""}
	case err != nil:
		return nil, s.explained(err)
	}
	done := Decided{Resources: []string{}}
	for _, p := range req.Changes {
		done.Resources = append(done.Resources, p.Resource)
		if st, err := s.opt.Engine.Status(r.Context(), p.Resource); err == nil && req.Approve && st.Held != nil && st.Held.Digest == p.Digest {
			done.Others = append(done.Others, p.Resource)
		}
	}
	return done, s.opt.Engine.Told(r.Context()) // the decision is noted until then
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
