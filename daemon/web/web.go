package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/records"
)

// Options configure a Server. API is required.
type Options struct {
	API   http.Handler  // answers the paths below /v1, as control.Server does; the Peer of a request is the person
	Store records.Store // keeps logins over a restart; nil keeps them in memory alone
	Log   *slog.Logger  // discards when nil
	Clock clock.Clock   // nil for that of the machine

	Hosts     []string // names under which the page is asked for, besides addresses and localhost
	Operators []string // persons, as certificates or the proxy name them, who may steer; all others of them read
	Proxy     string   // the common name of the certificate of a proxy
	Header    string   // in which the proxy names the person
}

// Bounds of a Server.
const (
	Life      = 12 * time.Hour  // of a login
	LinkLife  = 5 * time.Minute // of a link
	maxLogins = 256             // at once; one more ends the oldest
	maxLinks  = 64
	maxOpen   = 32 // requests that last, which all clients of the API share
)

// reads and steers are the requests of the API that the page makes. Each has one segment after /v1.
var (
	reads  = []string{"version", "status", "resources", "resource", "why", "graph", "graphs", "log", "hosts"}
	steers = []string{"pause", "resume", "retry", "decide"}
)

// Server serves the page. Make it with New. Its methods may be called from many goroutines.
type Server struct {
	opt    Options
	frame  *httpd.Server
	logins logins
}

// New makes a server, whose logins last until ctx ends. The logins of an earlier process count again.
func New(ctx context.Context, o Options) (*Server, error) {
	o.Clock = clock.Or(o.Clock)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: o, logins: logins{clock: o.Clock, store: o.Store}}
	table, err := httpd.NewTable(httpd.Info{Title: "The page of a daemon", Version: "1"}, s.routes())
	if err != nil {
		return nil, err
	}
	s.frame = &httpd.Server{Table: table, Limits: httpd.Limits{Lasting: maxOpen}, Before: s.before, Logger: o.Log, Clock: o.Clock}
	return s, s.logins.load(ctx)
}

// Serve answers on l until ctx ends, and then closes it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return s.frame.Serve(ctx, l) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.frame.ServeHTTP(w, r) }

// Link returns the token of a link that logs a person in once, and until when.
func (s *Server) Link(who string, readOnly bool) (token string, until time.Time) {
	s.opt.Log.Info("a link to the page was made", slog.String("by", who), slog.Bool("read_only", readOnly))
	return s.logins.link(who, !readOnly)
}

func (s *Server) routes() []httpd.Route {
	list := []httpd.Route{
		{Method: "POST", Pattern: "/login", Public: true, Summary: "Log in, by a link or as a certificate or a proxy says.", Body: loginRequest{}, Answer: Session{}, Errors: []int{http.StatusUnauthorized}, Serve: s.login},
		{Method: "GET", Pattern: "/session", Public: true, Summary: "Who is logged in.", Answer: Session{}, Errors: []int{http.StatusUnauthorized}, Serve: s.session},
		{Method: "POST", Pattern: "/logout", Public: true, Summary: "End the login.", Errors: []int{http.StatusUnauthorized}, Serve: s.logout},
		{
			Method: "GET", Pattern: "/v1/events", Public: true, Summary: "Events of the daemon as they come.", AnyQuery: true,
			Types: []string{httpd.EventsType}, Errors: []int{http.StatusUnauthorized}, Lasting: httpd.Always, Serve: s.ask(false),
		},
	}
	for _, name := range reads {
		list = append(list, httpd.Route{
			Method: "GET", Pattern: "/v1/" + name, Public: true, Summary: "As the API on the socket.", AnyQuery: true,
			Types: []string{"application/json"}, Errors: []int{http.StatusUnauthorized}, Serve: s.ask(false),
		})
	}
	for _, name := range steers {
		list = append(list, httpd.Route{
			Method: "POST", Pattern: "/v1/" + name, Public: true, Summary: "As the API on the socket.",
			Body: map[string]any{}, Types: []string{"application/json"}, Errors: []int{http.StatusUnauthorized, http.StatusForbidden}, Serve: s.ask(true),
		})
	}
	return append(list, assetRoutes()...)
}

// guards are the headers of each answer. The page asks its own origin alone, runs its own files alone, and stands in no frame.
var guards = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
}

// before refuses what another site has caused. Only the page itself may be opened from elsewhere.
func (s *Server) before(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	for key, value := range guards {
		w.Header().Set(key, value)
	}
	if !s.named(r.Host) {
		return r, httpd.NewProblem(http.StatusMisdirectedRequest, "the page is not served as %q", r.Host).
			WithHint("ask by address, or add the name to web_hosts")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return r, httpd.NewProblem(http.StatusForbidden, "the page of %s may not ask this", origin)
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "", site == "same-origin", site == "none":
	case r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document":
	default:
		return r, httpd.NewProblem(http.StatusForbidden, "another site may not ask this")
	}
	return r, nil
}

// named reports whether the page is served under the host of a request.
func (s *Server) named(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true // no name of somebody else leads here
	}
	return name == "localhost" || slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// identified returns who a certificate or the proxy says is asking; empty for nobody.
func (s *Server) identified(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return ""
	}
	name := r.TLS.PeerCertificates[0].Subject.CommonName
	if s.opt.Proxy != "" && name == s.opt.Proxy {
		names := r.Header.Values(s.opt.Header)
		if len(names) != 1 {
			return ""
		}
		name = names[0]
	}
	// The history has names in a form with these signs: nobody passes for a user of this machine.
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune(`(),"`, c) }) {
		return ""
	}
	return name
}

// ask passes a request on to the API in the name of the person who is logged in.
func (s *Server) ask(steers bool) httpd.Handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		l, err := s.of(r)
		if err != nil {
			return nil, err
		}
		if steers && !s.maySteer(l) {
			return nil, httpd.NewProblem(http.StatusForbidden, "%s may read, and not steer", l.Who).
				WithHint("ask for a link with mgmt web --open, without --read-only")
		}
		ctx := httpd.As(r.Context(), l.Who+", in the page")
		if r.URL.Path == "/v1/events" {
			var end context.CancelFunc
			ctx, end = clock.WithTimeout(ctx, s.opt.Clock, l.Ends.Sub(s.opt.Clock.Now()), nil)
			defer end()
			defer context.AfterFunc(l.life, end)() // the stream ends with the login
		}
		s.opt.API.ServeHTTP(w, r.WithContext(ctx))
		return nil, nil
	}
}

// of returns the login of a request: its cookie and its token.
func (s *Server) of(r *http.Request) (*login, error) {
	var l *login
	if c, err := r.Cookie(cookieName(r)); err == nil {
		l = s.logins.find(c.Value, r.Header.Get(tokenHeader))
	}
	if l == nil || l.Outside && s.identified(r) != l.Who {
		return nil, httpd.NewProblem(http.StatusUnauthorized, "nobody is logged in, or the login has ended").WithHint("mgmt web --open makes a link")
	}
	return l, nil
}

// maySteer reports whether a person may steer: as the link says, or the operators.
func (s *Server) maySteer(l *login) bool {
	return l.Steer || l.Outside && slices.Contains(s.opt.Operators, l.Who)
}

// tokenHeader has the token of a login. A browser lets no other origin send it.
const tokenHeader = "Mgmt-Token"

// cookieName returns the name of the cookie. Over TLS its prefix keeps other hosts of the domain from setting it.
func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-mgmt"
	}
	return "mgmt"
}

// loginRequest is the body of POST /login.
type loginRequest struct {
	Link string `json:"link,omitempty"` // the token of the link; absent for a certificate or a proxy
}

// Session is a login, as the page knows it.
type Session struct {
	Who   string    `json:"who"`
	Steer bool      `json:"steer"`
	Until time.Time `json:"until"`
	Token string    `json:"token,omitempty"` // of POST /login: what each request has to carry
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) (any, error) {
	var req loginRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	l := login{Who: s.identified(r), Outside: true}
	if req.Link != "" {
		var ok bool
		if l, ok = s.logins.open(req.Link); !ok {
			return nil, httpd.NewProblem(http.StatusUnauthorized, "this link was used, or is too old").WithHint("mgmt web --open makes another one")
		}
	} else if l.Who == "" {
		return nil, httpd.NewProblem(http.StatusUnauthorized, "nobody is logged in").WithHint("mgmt web --open makes a link")
	}
	cookie, token, err := s.logins.begin(r.Context(), &l)
	if err != nil {
		return nil, err
	}
	s.opt.Log.Info("a person has logged in to the page", slog.String("who", l.Who), slog.Bool("steer", s.maySteer(&l)))
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: cookie, Path: "/", MaxAge: int(Life.Seconds()), HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	return Session{l.Who, s.maySteer(&l), l.Ends, token}, nil
}

func (s *Server) session(_ http.ResponseWriter, r *http.Request) (any, error) {
	l, err := s.of(r)
	if err != nil {
		return nil, err
	}
	return Session{Who: l.Who, Steer: s.maySteer(l), Until: l.Ends}, nil
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) (any, error) {
	l, err := s.of(r)
	if err != nil {
		return nil, err
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	return &httpd.Answer{}, s.logins.end(r.Context(), l)
}
