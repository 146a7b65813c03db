package daemon

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

func TestMetricsAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		addr   string
		remote bool
		want   string // in the error; empty for none
	}{
		{"127.0.0.1:0", false, ""},
		{"localhost:0", false, ""},
		{"0.0.0.0:0", true, ""},
		{":0", true, ""},
		{":0", false, "other machines could read"},
		{"0.0.0.0:0", false, "Metrics.Remote"},
		{"[::]:0", false, "other machines could read"},
		{"192.0.2.1:0", false, "other machines could read"},
		{"127.0.0.1", false, "missing port"},
		{taken.Addr().String(), false, "address already in use"},
	} {
		x := &metricsPart{Metrics: Metrics{Address: c.addr, Remote: c.remote}}
		err := x.Open(t.Context(), &Daemon{})
		switch {
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v", c.addr, err)
		case err == nil && c.want != "":
			t.Errorf("%q is taken", c.addr)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"mgmt.txt", filepath.Join(t.TempDir(), "none", "mgmt.prom")} {
		if err := (&metricsPart{Metrics: Metrics{Textfile: name}}).Open(t.Context(), &Daemon{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMetricsOfRun: a scrape tells of the run that goes on, the textfile of its end.
func TestMetricsOfRun(t *testing.T) {
	dir := t.TempDir()
	textfile := filepath.Join(dir, "mgmt.prom")
	rests := make(chan struct{}, 8)
	d, err := open(t, Config{
		Engine:  mgmt.Options{Observer: mgmt.Observer{Converged: func(bool, reactor.Counts) { rests <- struct{}{} }}},
		Graph:   input.Config{YAML: graph(t, dir, "resources: {file: [{name: "+dir+"/x, content: x}]}\n")},
		Metrics: Metrics{Address: "127.0.0.1:0", Textfile: textfile},
	})
	if err != nil {
		t.Fatal(err)
	}
	var scraped []byte
	var scrapeErr error
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		<-rests
		// The observer that counts may hear of the event after this loop.
		for scrapeErr == nil && !bytes.Contains(scraped, []byte("mgmt_converged 1\n")) {
			scraped, scrapeErr = scrape("http://" + d.exporter.listener.Addr().String() + "/metrics")
		}
	}()
	if _, err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(textfile)
	if err != nil || scrapeErr != nil {
		t.Fatal(err, scrapeErr)
	}
	for _, want := range []string{
		"mgmt_responding 1\n", `mgmt_changes_total{class="intended",kind="file"} 1` + "\n", `mgmt_resources{state="ok"} 1` + "\n", "mgmt_converged 1\n",
	} {
		if !bytes.Contains(scraped, []byte(want)) {
			t.Errorf("%s is missing in:\n%s", want, scraped)
		}
		if !bytes.Contains(written, []byte(want)) {
			t.Errorf("%s is missing at the end:\n%s", want, written)
		}
	}
}

func scrape(url string) ([]byte, error) {
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
