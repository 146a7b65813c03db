package integration_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reactivegraph/mgmt/internal/await"
)

func init() { commands["asks"] = cmdAsks }

// cmdAsks asks the daemon of the script's state folder, and keeps the answer,
// which has to be a good one: asks PATH FILE
func cmdAsks(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "asks PATH FILE")
	socket := filepath.Join(ts.Getenv("MGMT_PREFIX"), "mgmt.sock")
	client := http.Client{Timeout: await.Left(), Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	resp, err := client.Get("http://mgmt" + args[0])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s: %s", args[0], resp.Status, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}
