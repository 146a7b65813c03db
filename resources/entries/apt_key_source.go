package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/keyring"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// maxKey bounds the answer of a server.
// The unit is bytes. The largest keyrings of distributions have less than one MiB.
const maxKey = 4 << 20

// keyTimeout bounds how long that may take.
// It covers the whole request: connecting, all redirects and the body.
const keyTimeout = time.Minute

// It never goes from https to http, where the key could be exchanged on the way.
// keyClient follows at most four redirects. It uses the proxy of the environment, as
// http.DefaultTransport does.
func keyClient() *http.Client {
	return &http.Client{Timeout: keyTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("it has been sent on five times")
		}
		if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("it has been sent on from https to " + r.URL.Scheme)
		}
		return nil
	}}
}

// obtain gets the key of an id from where the resource says.
// The fingerprint is computed from the key itself, so the source need not be trusted.
// The source may hold other keys too; they are left out of the result. An error names the source,
// and the fingerprints that were found there, so that a wrong id is seen at once.
func (a *aptKeys) obtain(ctx context.Context, by safepath.Walker, id string, should provider.Record) (keyring.Key, error) {
	from, data, err := a.fetch(ctx, by, id, should)
	if err != nil {
		return keyring.Key{}, err
	}
	ring, err := keyring.Read(data)
	if err != nil {
		return keyring.Key{}, fmt.Errorf("%s: %w", from, err)
	}
	found := ring.Find(id)
	if len(found) == 0 {
		return keyring.Key{}, fmt.Errorf("%s does not hold the key %s, but %s", from, id, cmp.Or(prints(ring), "no keys"))
	}
	for _, k := range found[1:] {
		if k.Fingerprint != found[0].Fingerprint {
			return keyring.Key{}, fmt.Errorf("%s holds several keys with the id %s: give all 40 digits", from, id)
		}
	}
	return found[0], nil
}

// prints are the fingerprints of keys.
// prints is empty for an empty ring. It is for messages only.
func prints(ring keyring.Ring) string {
	list := make([]string, len(ring))
	for i, k := range ring {
		list[i] = cmp.Or(k.Fingerprint, "one of another version")
	}
	return strings.Join(list, ", ")
}

// fetch returns the text that holds the key, and a word for its source.
// Exactly one of content, source and server is allowed.
// A path on this machine may come with a short id, since the administrator has put the file there.
// An answer from the net may not: an attacker could make a key with the same short id.
func (a *aptKeys) fetch(ctx context.Context, by safepath.Walker, id string, should provider.Record) (from string, data []byte, err error) {
	content, source, server := provided.Str(should, "content"), provided.Str(should, "source"), provided.Str(should, "server")
	given := 0
	for _, s := range []string{content, source, server} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return "", nil, errors.New("the key is not there: one of content, source and server has to say where it is from")
	case content != "":
		return "content", []byte(content), nil
	case strings.HasPrefix(source, "/"):
		t, err := textfile.By(by, source, 0)
		if err != nil {
			return "", nil, err
		}
		text, st, err := t.Read()
		if err == nil && st == nil {
			err = fmt.Errorf("%s does not exist", source)
		}
		return source, []byte(text), err
	case len(id) != 40:
		return "", nil, fmt.Errorf("what comes from the net is taken only by all 40 digits of its fingerprint, the id has %d", len(id))
	case !by.System():
		return "", nil, errors.New("what comes from the net is not known before a run")
	case source == "":
		source = lookup(server, id)
	}
	return a.download(ctx, source)
}

// lookup is the address of a key on a key server.
// The path and the port 11371 are those of the draft of the HTTP keyserver protocol
// (HKP).
// A server without a scheme is asked by https. An hkp server without a port gets the usual one, as
// gpg does it. The option mr asks for an answer to be read by a machine.
func lookup(server, id string) string {
	u := url.URL{Scheme: "https", Host: server, Path: "/pks/lookup", RawQuery: "op=get&options=mr&search=0x" + id}
	if scheme, host, ok := strings.Cut(server, "://"); ok {
		u.Scheme, u.Host = strings.Replace(scheme, "hkps", "https", 1), host
		if scheme == "hkp" {
			u.Scheme = "http"
			if !strings.Contains(host, ":") {
				u.Host += ":11371"
			}
		}
	}
	return u.String()
}

// download returns the content at an address, and the address without a password.
// It reads one byte more than the bound, to tell a longer answer from one of that length.
// Any status but 200 is an error. A password in the address is not shown in an error; it is sent
// only to the server. The caller needs no Close: the body is read and closed here.
func (a *aptKeys) download(ctx context.Context, address string) (from string, data []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", nil, errors.New("source: it is no address")
	}
	from = req.URL.Redacted()
	res, err := a.client.Do(req)
	if err != nil {
		return from, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return from, nil, fmt.Errorf("%s answers %s", from, res.Status)
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, maxKey+1))
	if err == nil && len(data) > maxKey {
		err = fmt.Errorf("%s sends more than %d MiB", from, maxKey>>20)
	}
	return from, data, err
}
