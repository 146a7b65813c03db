package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control/api"
)

// newAPIWatch makes the verb that follows changes. It outlives the daemon: it waits for the next
// one, and goes on where it was. Revisions are those of the store.
func newAPIWatch(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var since int64
	var topics []string
	cmd := &cobra.Command{
		Use: "watch [TABLE]", Short: "Show objects, and stream their changes", Args: cobra.MaximumNArgs(1),
		Long: `Watch shows the objects of one table or all, and then each change as it happens. With
--since, it shows only changes after that revision; if the store no longer has that
revision, watch prints relist and shows all objects.

If the daemon stops, watch waits until one answers again, and continues with the first
change that it has not shown.`,
		Example: "  mgmt api watch file\n  mgmt api watch --since 4711 -o json",
	}
	f.verb(cmd, api.Change{}, func(ctx context.Context, args []string) error {
		query := url.Values{}
		if len(args) > 0 {
			query.Set("table", args[0])
		}
		if topics != nil {
			query.Set("topic", strings.Join(topics, ","))
		}
		if cmd.Flags().Changed("since") {
			// The flag with 0 differs from no flag: it asks for changes alone, without the objects at
			// the beginning.
			query.Set("since", strconv.FormatInt(since, 10))
		}
		return f.watch(ctx, query)
	})
	cmd.Flags().Int64Var(&since, "since", 0, "show only changes after this `revision`")
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "only objects of this `topic`; may be repeated")
	return cmd
}

// watch writes the changes until the user ends it. A loss of the daemon is told on the other stream, once.
// It blocks until ctx ends, and waits for a daemon between two connections.
// The first request must be answered: a wrong socket or table is an error at once. Only later losses
// are waited out.
func (f *apiFlags) watch(ctx context.Context, query url.Values) error {
	tell := func(err error) {
		if err == nil {
			fmt.Fprintln(f.app.Err, "the daemon is back, and the watch goes on")
			return
		}
		fmt.Fprintf(f.app.Err, "the daemon has ended, and the watch waits for it: %s\n", render.Visible(err.Error()))
	}
	// The client yields the changes of one revision together, so a reconnection shows none twice.
	for c, err := range f.client().Watch(ctx, query, clock.System{}, tell) {
		if err == nil {
			err = f.out.change(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change writes one change on a line.
// A bookmark is for programs alone.
// JSON has one change on each line. The columns of the text are the revision, the action, and the
// object.
func (p *printer) change(c api.Change) error {
	return p.form.Item(p.app.Out, c, func(w io.Writer) error { return changeText(w, c) })
}

// changeText writes one change for people.
func changeText(w io.Writer, c api.Change) error {
	// It has a revision and no object: a program stores it to go on from there.
	if c.Action == "bookmark" {
		return nil
	}
	text := c.Error
	if c.Object != nil {
		var o api.Object
		if err := render.Unmarshal(c.Object, &o); err != nil {
			return err
		}
		text = shortFields(o)
	}
	name := ""
	if c.Table != "" {
		name = c.Table + "[" + c.ID + "]"
	}
	_, err := fmt.Fprintf(w, "%-8d %-7s %s\n", c.Revision, c.Action, render.Visible(strings.TrimSpace(name+" "+render.OneLine(text))))
	return err
}

// newAPIDump makes the verb that writes all objects as apply takes them.
// It writes YAML by default, since its output is a file and no list for a screen.
// The dump is of one revision, so no reference in it leads to an object that came later.
// It asks the daemon of this machine alone: it has neither --world nor --server.
func newAPIDump(a *cli.App) *cobra.Command {
	f := newFlags(a)
	cmd := &cobra.Command{
		Use: "dump", Short: "Print all objects in the format of apply", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Dump prints all objects of all tables at one revision of the store, with secrets
encrypted as stored. mgmt api apply recreates the objects, also in another store, where
their versions start again. If this program cannot read a record, dump reports it, prints
the others, and exits with code 1. Only those who may change objects may dump them.`,
		Example: "  mgmt api dump > objects.yaml\n  mgmt api apply -f objects.yaml",
	}
	f.daemon.Reach(cmd)
	// The flags are made here and not by verb, whose default is a table.
	cli.Forms(cmd, &f.out.form, "how to write it", api.Object{}, "yaml", "json", "table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return told(f.dump(cmd.Context())) }
	return cmd
}

// dump writes the objects as they come.
// The last line of the daemon says that no object is missing.
// A reader knows by the exit code whether the dump is whole, and holds all.
func (f *apiFlags) dump(ctx context.Context) error {
	var bad []error
	ended := false
	for line, err := range api.Lines[api.Dumped](ctx, f.client(), api.Request{Method: http.MethodGet, Path: "/v1/api:dump"}) {
		switch {
		case err != nil:
			return err
		case line.End:
			ended = true
		case line.Error != "":
			// A record that cannot be read must not keep the others from being saved.
			bad = append(bad, errors.New(line.Error))
		default:
			err = f.out.dumped(line)
		}
		if err != nil {
			return err
		}
	}
	// The line with end is the proof that nothing is missing, whatever the transport says.
	if !ended {
		bad = append(bad, errors.New("the dump is not whole: the daemon has ended it too early"))
	}
	return errors.Join(bad...)
}

// dumped writes one object as a document of its own. The fields stand next to the table, unless a field has that name.
// The document is the same in YAML and JSON, and apply reads both.
func (p *printer) dumped(line api.Dumped) error {
	var o api.Object
	if err := render.Unmarshal(line.Object, &o); err != nil {
		return err
	}
	text := fmt.Sprintf("%s[%s] %s\n", line.Table, render.Visible(fmt.Sprint(o["id"])), render.Visible(shortFields(o)))
	// The word table is that of the form. A field of the same name moves one level down, as objectOf
	// reads it.
	if _, taken := o["table"]; taken || o["object"] != nil {
		o = api.Object{"object": o}
	}
	o["table"] = line.Table
	return p.form.Item(p.app.Out, o, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// newAPICheck makes the verb that looks for records that cannot be read, and for references to
// nothing. It ends with 1 where it finds one. It only reads.
// The exit code serves a monitor: no output need be read.
func newAPICheck(a *cli.App) *cobra.Command {
	f := newFlags(a)
	cmd := &cobra.Command{
		Use: "check", Short: "Check every record for errors", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Check reads every record of the store. It reports unreadable records (bad_record,
migration_failed), records of a newer version (schema_too_new), and references to neither
an object nor a resource of the graph (ref_not_found). The exit code is 0 if there are no
errors, and 1 otherwise.`,
	}
	f.verb(cmd, []api.Checked{}, func(ctx context.Context, _ []string) error {
		var done []api.Checked
		if _, err := f.client().Ask(ctx, api.Request{Method: http.MethodGet, Path: "/v1/api:check"}, &done); err != nil {
			return err
		}
		err := f.out.checked(done)
		faults := 0
		for _, c := range done {
			faults += len(c.Faults)
		}
		if faults > 0 {
			err = errors.Join(err, fmt.Errorf("%s found", render.Plural(faults, "fault")))
		}
		return err
	})
	return cmd
}

// checked writes the outcome of check, table by table.
// Each fault is a row of its own, so a script can count them.
// A table without records has no line.
func (p *printer) checked(done []api.Checked) error {
	t := render.Table{{"TABLE", "READABLE", "FAULT", "OBJECT", "DETAIL"}}
	for _, c := range done {
		t.Row(c.Table, c.Records, "", "", "")
		for _, x := range c.Faults {
			t.Row(c.Table, "", x.Code, x.ID, x.Detail)
		}
	}
	return p.write(done, t)
}
