package metrics

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler returns what serves the metrics, those of the process and of Go too.
func (m *Metrics) Handler() http.Handler {
	all := prometheus.Gatherers{m.own, m.process}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// CheckTextfile says what is wrong with the name of a textfile: the collector of
// node_exporter reads only those that end in .prom.
func CheckTextfile(path string) error {
	if !strings.HasSuffix(path, ".prom") {
		return fmt.Errorf("%s must end in .prom: node_exporter reads no other files", path)
	}
	return nil
}

// WriteTextfile replaces a file for the textfile collector of node_exporter, in one
// step. Metrics of the process and of Go are not in it: node_exporter has those of
// its own by the same names.
func (m *Metrics) WriteTextfile(path string) error {
	if err := prometheus.WriteToTextfile(path, m.own); err != nil {
		return fmt.Errorf("the metrics were not written: %w", err)
	}
	return nil
}
