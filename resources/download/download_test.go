package download

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// site is a server on the loopback that counts what it is asked.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // of each request its path and what tells it apart
	serve map[string]http.HandlerFunc
	text  string // of all other paths
	etag  string // of those; empty for none
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{serve: map[string]http.HandlerFunc{}, text: "hello\n", etag: `"1"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tag := req.Header.Get("If-None-Match")
	s.asked = append(s.asked, strings.Join(strings.Fields(req.URL.Path+" "+tag+" "+req.Header.Get("X-Token")), " "))
	if f := s.serve[req.URL.Path]; f != nil {
		f(w, req)
		return
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
		if tag == s.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	_, _ = w.Write([]byte(s.text))
}

// set has another text served.
func (s *site) set(text, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.etag = text, etag
}

// were returns what was asked since the last call.
func (s *site) were() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.asked, ", ")
	s.asked = nil
	return all
}

const helloSum = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

func resAt(dir, url string) *Res {
	return &Res{Path: dir + "/f", URL: url, Timeout: time.Minute, MaxSize: 1 << 20, Redirects: 2}
}

func drifts() map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){
		"altered": kindtest.Change("f"),
		"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")) },
		"mode":    func(t *testing.T, dir string) { kindtest.Must(t, os.Chmod(dir+"/f", 0o666)) },
	}
}

func TestDownloadSuite(t *testing.T) {
	s := newSite(t)
	enginetest.Run(t, enginetest.Suite{
		Kind: "download", Setup: kindtest.Folder, Received: []string{"url"}, ReadIgnores: []string{"url"},
		New: func(_ *testing.T, dir string) engine.Res {
			r := resAt(dir, s.URL+"/x")
			r.Checksum, r.Mode, r.Headers = helloSum, "0640", map[string]schema.Secret{"X-Token": schema.NewSecret("t")}
			return r
		},
		Drifts: drifts(),
	})
}

func TestDownloadUncheckedSuite(t *testing.T) {
	s := newSite(t)
	enginetest.Run(t, enginetest.Suite{
		Kind: "download", Setup: kindtest.Folder,
		New: func(_ *testing.T, dir string) engine.Res {
			r := resAt(dir, s.URL)
			r.Mode = "0640"
			return r
		},
		Drifts: drifts(),
	})
}

func TestDownloadFileSuite(t *testing.T) {
	drifts := drifts()
	drifts["source"] = kindtest.Change("from")
	enginetest.Run(t, enginetest.Suite{
		Kind: "download", Setup: kindtest.Folder, Host: kindtest.RealHost, Prepare: kindtest.WriteInto("from", "text"),
		New: func(_ *testing.T, dir string) engine.Res {
			r := resAt(dir, "file://"+dir+"/from")
			r.Mode = "0640"
			return r
		},
		Drifts: drifts,
	})
}

// With a checksum the server is asked only for a content that is not there.
func TestDownloadWithChecksum(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	r := resAt(dir, s.URL+"/x")
	r.Checksum = strings.ToUpper(helloSum[:10]) + helloSum[10:]
	f := kindtest.Begin(t, "download", r)
	kindtest.Want(t, f, r, `created checksum: (none) -> "`+helloSum[:59]+`... (73 bytes)`)
	if got := s.were(); got != "/x, /x" { // looking, and applying
		t.Errorf("it was asked %q", got)
	}
	kindtest.Want(t, f, r, "")
	if got := s.were(); got != "" {
		t.Errorf("it was asked %q", got)
	}
	if sent := f.Sent().(*Sends); *sent != (Sends{r.Path, helloSum}) {
		t.Errorf("sent is %+v", sent)
	}
	if atomicfile.ClockOf(dir) == atomicfile.ClockFine && r.seen.sum != helloSum {
		t.Error("what was found right is not remembered")
	}
	s.set("other\n", "")
	kindtest.Lay(t, r.Path, "local")
	got := kindtest.Verbs(t, f, r, true)
	if !strings.Contains(got, "error: what came has the checksum sha256:") || !strings.Contains(got, "and not "+helloSum) {
		t.Error(got)
	}
	kindtest.WantFile(t, r.Path, "local")
	sum := sha512.Sum512([]byte("other\n"))
	r.Checksum = "sha512:" + hex.EncodeToString(sum[:])
	kindtest.Verbs(t, f, r, true)
	kindtest.WantFile(t, r.Path, "other\n")
	kindtest.Want(t, f, r, "")
	if left := kindtest.Have(t, f.VarDir()); strings.Contains(left, "content") {
		t.Errorf("left is %q", left)
	}
}

// Without one the server is asked whether it still has the same content.
func TestDownloadWithoutChecksum(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	r := resAt(dir, s.URL+"/x")
	f := kindtest.Begin(t, "download", r)
	kindtest.Want(t, f, r, "created checksum: (none) -> (unknown)")
	kindtest.WantFile(t, r.Path, "hello\n")
	s.were()
	kindtest.Want(t, f, r, "")
	if got := s.were(); got != `/x "1", /x "1"` {
		t.Errorf("it was asked %q", got)
	}
	s.set("other\n", `"2"`)
	kindtest.Want(t, f, r, `checksum: "`+helloSum[:59]+`... (73 bytes) -> (unknown)`)
	kindtest.WantFile(t, r.Path, "other\n")
	if got := s.were(); got != `/x "1", /x "1"` {
		t.Errorf("it was asked %q", got)
	}

	// A new instance knows what the old one has fetched; of another address it knows
	// nothing.
	again := resAt(dir, s.URL+"/x")
	f2 := kindtest.Begin(t, "download", again, enginetest.WithVarDir(f.VarDir()))
	kindtest.Want(t, f2, again, "")
	again.URL = s.URL + "/y"
	s.were()
	if got := kindtest.Verbs(t, f2, again, true); !strings.HasPrefix(got, "checksum") || s.were() != "/y" {
		t.Error(got)
	}
	kindtest.Lay(t, f.VarDir()+"/"+recordFile, "{broken")
	if got := kindtest.Verbs(t, f2, again, true); !strings.HasPrefix(got, "checksum") {
		t.Error(got)
	}
}

// A server that says nothing of its content is asked again only on a notification.
func TestDownloadWithoutTags(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	s.set("one", "")
	r := resAt(dir, s.URL)
	f := kindtest.Begin(t, "download", r)
	kindtest.Verbs(t, f, r, true)
	s.set("two", "")
	s.were()
	kindtest.Want(t, f, r, "")
	if got := s.were(); got != "" {
		t.Errorf("it was asked %q", got)
	}
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
	f.SetRefresh(false)
	kindtest.WantFile(t, r.Path, "two")
}

func TestDownloadFails(t *testing.T) {
	s := newSite(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	host, other := s.Listener.Addr().String(), closed.Listener.Addr().String()
	s.serve["/cut"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	}
	s.serve["/big"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }
	s.serve["/stream"] = func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = w.Write(make([]byte, 2<<20))
	}
	s.serve["/loop"] = http.RedirectHandler("/loop", http.StatusFound).ServeHTTP
	s.serve["/file"] = http.RedirectHandler("file:///etc/passwd", http.StatusFound).ServeHTTP
	s.serve["/none"] = http.NotFound
	s.serve["/slow"] = func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	for at, says := range map[string]string{
		s.URL + "/cut":      "after 4 bytes: unexpected EOF",
		s.URL + "/big":      "the content has more than 1MiB, which is max_size",
		s.URL + "/stream":   "the content has more than 1MiB, which is max_size",
		s.URL + "/loop":     host + ": it refers to another place more than 2 times",
		s.URL + "/file":     host + ": unsupported protocol scheme",
		s.URL + "/none":     host + " answers 404 Not Found",
		s.URL + "/slow":     "it took longer than 300ms, the timeout",
		closed.URL + "/x?k": "fetching from " + other + ": dial tcp " + other + ": connect: connection refused",
		"file:///none/x":    "url: open /none/x: no such file",
	} {
		t.Run(at[strings.LastIndexByte(at, '/'):], func(t *testing.T) {
			dir := t.TempDir()
			kindtest.Lay(t, dir+"/f", "old")
			r := resAt(dir, at)
			if strings.HasSuffix(at, "/slow") {
				r.Timeout = 300 * time.Millisecond
			}
			f := kindtest.Begin(t, "download", r)
			before := enginetest.Snapshot(t, dir)
			inBody := strings.HasSuffix(at, "/cut") || strings.HasSuffix(at, "/big") || strings.HasSuffix(at, "/stream") // which looking does not take
			if looked := kindtest.Verbs(t, f, r, false); strings.Contains(looked, says) == inBody {
				t.Errorf("looking it says %q", looked)
			}
			got := kindtest.Verbs(t, f, r, true)
			if !strings.Contains(got, says) || strings.Contains(got, "?k") {
				t.Errorf("it says %q", got)
			}
			if changed := before.Changed(enginetest.Snapshot(t, dir)); len(changed) > 0 {
				t.Errorf("altered are %q", changed)
			}
			if left := kindtest.Have(t, f.VarDir()); strings.Contains(left, "\n") {
				t.Errorf("left is %q", left)
			}
		})
	}
}

// Headers reach the host of the address and no other one.
func TestDownloadKeepsHeaders(t *testing.T) {
	s, other, dir := newSite(t), newSite(t), t.TempDir()
	s.serve["/here"] = http.RedirectHandler("/there", http.StatusFound).ServeHTTP
	s.serve["/away"] = http.RedirectHandler(other.URL+"/away", http.StatusFound).ServeHTTP
	for at, want := range map[string]string{"/here": "/here key, /there key", "/away": "/away key"} {
		r := resAt(dir, s.URL+at)
		r.Headers = map[string]schema.Secret{"X-Token": schema.NewSecret("key")}
		f := kindtest.Begin(t, "download", r)
		kindtest.Verbs(t, f, r, true)
		if got := s.were(); got != want {
			t.Errorf("%s: asked is %q", at, got)
		}
	}
	if got := other.were(); got != "/away" {
		t.Errorf("the other host was asked %q", got)
	}
	r := resAt(dir, "https://a/")
	req := func(at string) *http.Request {
		u, err := url.Parse(at)
		kindtest.Must(t, err)
		return &http.Request{URL: u, Header: http.Header{}}
	}
	if err := r.referred(req("http://a/"), []*http.Request{req("https://a/")}); err == nil {
		t.Error("it goes from https to http")
	}
	if err := r.referred(req("https://b/"), []*http.Request{req("https://a/")}); err != nil {
		t.Error(err)
	}
}

// A content that takes long is given up with the context.
func TestDownloadIsCancelled(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	began := make(chan struct{})
	s.serve["/slow"] = func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte("some"))
		w.(http.Flusher).Flush()
		close(began)
		<-req.Context().Done()
	}
	r := resAt(dir, s.URL+"/slow")
	f := kindtest.Begin(t, "download", r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { _, err := r.CheckApply(ctx, true); ended <- err }()
	<-began
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
	if left := kindtest.Have(t, f.VarDir()) + kindtest.Have(t, dir+"/f"); strings.Contains(left, "\n") {
		t.Errorf("left is %q", left)
	}
}

func TestDownloadRefuses(t *testing.T) {
	at := func(make func(*Res)) *Res {
		r := resAt("", "https://example.com/")
		make(r)
		return r
	}
	header := func(name, value string) func(*Res) {
		return func(r *Res) { r.Headers = map[string]schema.Secret{name: schema.NewSecret(value)} }
	}
	for text, r := range map[string]*Res{
		"url is missing":                    at(func(r *Res) { r.URL = "" }),
		"url is no address":                 at(func(r *Res) { r.URL = "http://a\nb" }),
		"url has to begin with":             at(func(r *Res) { r.URL = "ftp://example.com/" }),
		"url has to begin with http://":     at(func(r *Res) { r.URL = "-o" }),
		"url has a user or a password":      at(func(r *Res) { r.URL = "https://me:hidden@example.com/" }),
		"url has to be file://":             at(func(r *Res) { r.URL = "file://host/x" }),
		"url is the path itself":            at(func(r *Res) { r.URL = "file:///f" }),
		"checksum: md5 can be forged":       at(func(r *Res) { r.Checksum = "md5:0123" }),
		"checksum: a sha256 has 64 digits":  at(func(r *Res) { r.Checksum = "sha256:0123" }),
		"checksum: a sha512 has 128 digits": at(func(r *Res) { r.Checksum = "sha512" + helloSum[6:] }),
		"checksum has to begin":             at(func(r *Res) { r.Checksum = helloSum[7:] }),
		"timeout must not":                  at(func(r *Res) { r.Timeout = -1 }),
		"max_size must not":                 at(func(r *Res) { r.MaxSize = -1 }),
		"redirects must not":                at(func(r *Res) { r.Redirects = -1 }),
		`"A b" is no name of a header`:      at(header("A b", "x")),
		"headers: Host is not for you":      at(header("Host", "x")),
		"the value of A has a control":      at(header("A", "hidden\r\nB: x")),
		`path "f" is not absolute`:          at(func(r *Res) { r.Path = "f" }),
		"mode":                              at(func(r *Res) { r.Mode = "9" }),
	} {
		err := kindtest.ErrText(r.Validate())
		if !strings.Contains(err, text) || strings.Contains(err, "hidden") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
