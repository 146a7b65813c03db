package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

//go:embed dist
var dist embed.FS

// assetRoutes are the files of the page. Index.html is the page itself.
func assetRoutes() (list []httpd.Route) {
	entries, err := dist.ReadDir("dist")
	if err != nil {
		panic(err) // a defect of the build
	}
	for _, e := range entries {
		pattern := "/" + e.Name()
		if e.Name() == "index.html" {
			pattern = "/"
		}
		a := &asset{name: e.Name()}
		list = append(list, httpd.Route{
			Method: "GET", Pattern: pattern, Public: true, Summary: "A file of the page.", Versions: true, Types: []string{a.kind()}, Serve: a.serve,
		})
	}
	return list
}

// asset is one file. It is compressed when it is asked for first, so that a daemon whose page nobody opens pays nothing.
type asset struct {
	name    string
	once    sync.Once
	plain   []byte
	zipped  []byte
	version string
}

func (a *asset) kind() string {
	switch path.Ext(a.name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(a.name))
}

func (a *asset) load() {
	a.plain, _ = dist.ReadFile("dist/" + a.name) // it is embedded
	sum := sha256.Sum256(a.plain)
	a.version = base64.RawURLEncoding.EncodeToString(sum[:12])
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(a.plain) // to memory
	_ = z.Close()
	a.zipped = buf.Bytes()
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	a.once.Do(a.load)
	w.Header().Set("Vary", "Accept-Encoding")
	out := &httpd.Answer{Type: a.kind(), Body: a.plain, Version: a.version}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		out.Body, out.Version = a.zipped, a.version+"-gzip"
	}
	return out, nil
}
