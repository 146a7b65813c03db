package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

const (
	// It is the wait between two requests, in real time: a person waits for the answer.
	removeEvery = 300 * time.Millisecond // how often a removal is asked for again
	// With removeEvery, the first word comes after about two seconds.
	quietTries = 7 // so many answers say nothing, since most removals are done by then
)

// newAPIDelete makes the verb that deletes an object. It writes nothing to standard output where that went well.
// An object that is not there is an error of the daemon, which ends the verb with 1.
func newAPIDelete(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var dry, thing bool
	cmd := &cobra.Command{
		Use: "delete TABLE ID", Short: "Delete an object", Args: cli.Exactly("table", "id"),
		Long: `Delete removes an object from the store, so its resource leaves the graphs of the hosts.
What the resource manages stays, unless the object has meta.reverse.

With --remove, delete sets the object absent, waits until each host that has it reports ok,
and then deletes it; it names the hosts that it waits for. If it is interrupted, the object
stays absent, and the same command continues.`,
		Example: `  mgmt api delete file /etc/motd --remove`,
	}
	f.verb(cmd, nil, func(ctx context.Context, args []string) error {
		q := api.Request{Method: http.MethodDelete, Path: api.PathOf(args[0], args[1]), Query: dryRun(dry)}
		// A dry run of a removal is that of a deletion: the API has no dry run that asks the hosts.
		if thing && !dry {
			q.Query = url.Values{"remove": {"1"}}
			return f.remove(ctx, cmd, q)
		}
		_, err := f.client().Ask(ctx, q, nil)
		return err
	})
	dryFlag(cmd, &dry)
	cmd.Flags().BoolVar(&thing, "remove", false, "first remove what the resource manages, and wait for that")
	return cmd
}

// remove asks until the thing and the object are gone. The cause of the wait is told when it changes.
// It has no end of its own: a package may take minutes to go, and a host may be away for a day. The user ends it, and loses
// nothing by that. A lost connection is an error, since only the user knows whether the daemon comes back.
// The daemon keeps nothing between two requests. Each request sets the object absent, or deletes it
// where all hosts have said ok.
func (f *apiFlags) remove(ctx context.Context, cmd *cobra.Command, q api.Request) error {
	ctx, stop := f.app.Interruptible(ctx)
	defer stop()
	client, told := f.client(), ""
	for try := 0; ; try++ {
		resp, err := client.Do(ctx, q)
		if err != nil && try > 0 && ctx.Err() != nil {
			return notRemoved(ctx)
		}
		if err != nil {
			return err
		}
		// Only 202 has a body: some host still has the thing. Any other status means that the object
		// is gone.
		var left api.Removal
		if resp.StatusCode == http.StatusAccepted {
			err = json.NewDecoder(httpd.NewBound(resp.Body, httpd.MaxAnswer)).Decode(&left)
		}
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusAccepted {
			return err
		}
		// A failed host is told at once, since it may wait for the operator. All else may be over in
		// a moment.
		if now := waitsFor(left); now != told && (try >= quietTries || len(left.Waiting) > 0 && left.Waiting[0].Error != "") {
			told = now
			fmt.Fprint(cmd.ErrOrStderr(), now)
		}
		select {
		case <-ctx.Done():
			return notRemoved(ctx)
		case <-time.After(removeEvery):
		}
	}
}

// notRemoved is the error of a removal that its user has ended after the first answer.
func notRemoved(ctx context.Context) error {
	return fmt.Errorf("the object is absent and not deleted yet; the same command goes on: %w", context.Cause(ctx))
}

// waitsFor says which hosts a removal waits for, in a line for each. The words are those of the hosts, so none of them moves the
// cursor or forges a line.
func waitsFor(left api.Removal) (text string) {
	if len(left.Waiting) == 0 {
		return "no host has taken the object over yet; delete it without --remove where none will\n"
	}
	for _, h := range left.Waiting {
		line := "waiting for host " + h.Host + ": " + h.State
		if h.Error != "" {
			line += ": " + h.Error
		}
		text += render.Cell(line) + "\n"
	}
	return text
}
