package control

import (
	"bytes"
	"context"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// The profiles are served without net/http/pprof, which would put them into the
// default mux of every program that embeds the engine.

// Profiles that are taken over a time.
const (
	cpuProfile = "profile"
	execTrace  = "trace"
)

// profiles returns the names of all profiles.
func profiles() []string {
	list := []string{cpuProfile, execTrace}
	for _, p := range pprof.Profiles() {
		list = append(list, p.Name())
	}
	slices.Sort(list)
	return list
}

// maxProfile bounds how long a profile may be taken.
const maxProfile = 5 * time.Minute

// getProfile answers with a profile of the process.
// A profile over a time blocks its request for that time, and no second one of that sort
// can begin meanwhile.
func (s *Server) getProfile(w http.ResponseWriter, r *http.Request) (any, error) {
	name := r.PathValue("name")
	if all := profiles(); !slices.Contains(all, name) {
		return nil, &Error{http.StatusNotFound, "there is no profile " + name, httpd.DidYouMean(name, all)}
	}
	p := params{Values: r.URL.Query()}
	debug := int(p.number("debug", 0, 0, 2))
	span := p.seconds("seconds", 10*time.Second, maxProfile)
	// The parameters note their first fault, so that it is told once.
	if p.err != nil {
		return nil, p.err
	}
	var buf bytes.Buffer
	if err := take(r.Context(), s.opt.Clock, &buf, name, debug, span); err != nil {
		return nil, &Error{http.StatusConflict, err.Error(), "ask again later"}
	}
	s.frame.Patience(w)
	// Profiles are binary unless debug asks for text.
	kind := "application/octet-stream"
	if debug > 0 {
		kind = "text/plain; charset=utf-8"
	}
	return text(kind, buf.Bytes()), nil
}

// It ends early with the context, and then the profile is that of the shorter time.
func take(ctx context.Context, c clock.Clock, buf *bytes.Buffer, name string, debug int, span time.Duration) error {
	switch name {
	case cpuProfile:
		if err := pprof.StartCPUProfile(buf); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	case execTrace:
		if err := trace.Start(buf); err != nil {
			return err
		}
		defer trace.Stop()
	default:
		return pprof.Lookup(name).WriteTo(buf, debug)
	}
	ctx, cancel := clock.WithTimeout(ctx, c, span, nil)
	defer cancel()
	<-ctx.Done()
	return nil
}
