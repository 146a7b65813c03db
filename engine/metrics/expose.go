package metrics

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// maxScrapes is how many scrapes of a handler are answered at once. More are told to
// come again.
const maxScrapes = 4

// contentType says which format a scraper is given, whatever it asks for.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Handler returns the handler of the metrics, those of the process and of Go too, for a route of package httpd.
// It may wait for the Source.
func (m *Metrics) Handler() httpd.Handler {
	slots := make(chan struct{}, maxScrapes)
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			return nil, httpd.NewProblem(http.StatusServiceUnavailable, "%d others are being told the metrics", maxScrapes).WithHint("try again later")
		}
		text := write(slices.Concat(m.families(r.Context()), processFamilies("/proc"), goFamilies()))
		return &httpd.Answer{Type: contentType, Body: text}, nil
	}
}

// CheckTextfile says the fault in the name of a textfile: the collector of
// node_exporter reads only those that end in .prom.
func CheckTextfile(path string) error {
	if !strings.HasSuffix(path, ".prom") {
		return fmt.Errorf("%s must end in .prom: node_exporter reads no other files", path)
	}
	return nil
}

// WriteTextfile replaces a file for the textfile collector of node_exporter, in one
// step. Another user's link is not followed. It may wait for the Source. Metrics of the process and of Go are not in the
// file: node_exporter has those of its own by the same names.
func (m *Metrics) WriteTextfile(path string) error {
	path, err := filepath.Abs(path)
	if err == nil {
		err = safepath.System().WriteFile(path, write(m.families(context.Background())), 0o644, true)
	}
	if err != nil {
		return fmt.Errorf("the metrics were not written: %w", err)
	}
	return nil
}
