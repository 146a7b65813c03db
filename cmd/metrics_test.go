package cmd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/yaml"
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
		{"0.0.0.0:0", false, "--prometheus-remote"},
		{"[::]:0", false, "other machines could read"},
		{"192.0.2.1:0", false, "other machines could read"},
		{"127.0.0.1", false, "missing port"},
		{taken.Addr().String(), false, "address already in use"},
	} {
		x, err := (&metricsFlags{addr: c.addr, remote: c.remote}).open()
		switch {
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v", c.addr, err)
		case err == nil && c.want != "":
			t.Errorf("%q is taken", c.addr)
		}
		if err == nil {
			x.close()
		}
	}
	for _, name := range []string{"mgmt.txt", filepath.Join(t.TempDir(), "none", "mgmt.prom")} {
		if _, err := (&metricsFlags{textfile: name}).open(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMetricsOfRun: a scrape tells of the run that goes on, the textfile of its end.
func TestMetricsOfRun(t *testing.T) {
	path, dir := graphFile(t, "resources: {file: [{name: $DIR/x, content: x}]}")
	textfile := filepath.Join(dir, "mgmt.prom")
	x, err := (&metricsFlags{addr: "127.0.0.1:0", textfile: textfile}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	var scraped []byte
	var scrapeErr error
	converged := make(chan struct{}, 1)
	e, err := mgmt.New(mgmt.Options{Registry: engine.DefaultRegistry(), Observer: x.observe(mgmt.Observer{
		Converged: func(bool, mgmt.Counts) { ask(converged) },
	}), ConvergedExit: false})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := x.start(ctx, e, slog.New(slog.DiscardHandler))
	go func() {
		defer cancel()
		<-converged
		scraped, scrapeErr = scrape("http://" + x.listener.Addr().String() + "/metrics")
	}()
	if err := e.Run(ctx, yaml.New(path, yaml.Options{})); err != nil {
		t.Fatal(err)
	}
	stop()
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
