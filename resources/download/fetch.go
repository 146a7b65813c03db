package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// answer is a content that is on its way. Its holder closes the body.
type answer struct {
	body io.ReadCloser
	// etag and modified are empty where the server gives none.
	etag, modified string
}

// fetch asks for the content. If a record is given and there is still the same content,
// it returns nil.
func (r *Res) fetch(ctx context.Context, rec *record) (*answer, error) {
	if p := r.source(); p != "" {
		return r.open(p, rec)
	}
	req, err := r.request(ctx, rec)
	if err != nil {
		return nil, err
	}
	res, err := r.client().Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, in which there may be a secret
	}
	if err != nil {
		return nil, fmt.Errorf("fetching from %s: %w", req.URL.Host, err)
	}
	a := &answer{body: res.Body, etag: res.Header.Get("ETag"), modified: res.Header.Get("Last-Modified")}
	switch {
	// A server may answer so only to a question with a condition.
	case res.StatusCode == http.StatusNotModified && rec != nil:
		return nil, res.Body.Close()
	case res.StatusCode != http.StatusOK:
		return nil, errors.Join(fmt.Errorf("%s answers %s", req.URL.Host, res.Status), res.Body.Close())
	// A size that is announced is refused before anything is read.
	case r.MaxSize > 0 && res.ContentLength > int64(r.MaxSize):
		return nil, errors.Join(r.tooLarge(), res.Body.Close())
	}
	return a, nil
}

// open is fetch for a file of the machine, whose tag is what a look at it tells.
func (r *Res) open(p string, rec *record) (*answer, error) {
	// Only a plain file is opened, so no pipe is waited for.
	f, st, err := atomicfile.OpenBy(safepath.Of(r.init.Host), p)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	tag := fmt.Sprintf("%d %d %d %d %d", st.Dev, st.Ino, st.Size, st.Mtime, st.Ctime)
	switch {
	case rec != nil && rec.ETag == tag:
		return nil, f.Close()
	case r.MaxSize > 0 && st.Size > int64(r.MaxSize):
		return nil, errors.Join(r.tooLarge(), f.Close())
	}
	return &answer{body: f, etag: tag}, nil
}

// request makes the request. With a record it asks for the content only if that is another one.
func (r *Res) request(ctx context.Context, rec *record) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, errors.New("url is no address")
	}
	req.Header.Set("User-Agent", cmp.Or(r.init.Program, "mgmt")+"/"+cmp.Or(r.init.Version, "0"))
	// The secret leaves the process here, and nowhere else.
	for name, value := range r.Headers {
		req.Header.Set(name, value.Reveal())
	}
	if rec == nil {
		return req, nil
	}
	if rec.ETag != "" {
		req.Header.Set("If-None-Match", rec.ETag)
	}
	if rec.LastModified != "" {
		req.Header.Set("If-Modified-Since", rec.LastModified)
	}
	return req, nil
}

// client returns a client for one request: its connection ends with the answer.
func (r *Res) client() *http.Client {
	return &http.Client{
		CheckRedirect: r.referred,
		Transport: &http.Transport{
			// The environment is that of the daemon, as its unit sets it.
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   30 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			// One question in hours or days is worth no open connection.
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
	}
}

// referred says whether to go where the server refers to. Our headers are for the host
// of the address alone.
func (r *Res) referred(req *http.Request, via []*http.Request) error {
	// The user has trusted the first address with the headers. Each step is
	// compared with it, and not with the step before.
	first := via[0].URL
	switch {
	case len(via) > r.Redirects:
		return fmt.Errorf("it refers to another place more than %d times", r.Redirects)
	// Another machine on the way could then read the content and alter it.
	case first.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("it refers from https to " + req.URL.Scheme)
	}
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		for name := range r.Headers {
			req.Header.Del(name)
		}
		// It would tell another server the address, in which there may be a secret.
		req.Header.Del("Referer")
	}
	return nil
}
