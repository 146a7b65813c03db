package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/gapi"
)

// apiFlags are those of all verbs of api.
// Each verb has one of its own, made with the verb.
type apiFlags struct {
	// The daemon of this machine is asked by default, over its socket.
	daemon remote.Daemon
	// In its place, store names another daemon (--server) or a store in etcd (--world).
	store remote.Direct
	app   *cli.App
	out   printer
}

// newFlags returns the flags of one verb.
func newFlags(a *cli.App) *apiFlags { return &apiFlags{app: a, out: printer{app: a}} }

// client asks the daemon, with --server that of another machine, and with --world the store itself.
// It connects to nothing yet. So a fault of the flags is the error of the first request, and passes
// through told as all others do.
func (f *apiFlags) client() *api.Client {
	if f.store.Server != "" {
		t, err := f.store.ServerTransport()
		if err != nil {
			t = remote.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, err })
		}
		return &api.Client{HTTP: t}
	}
	if f.store.Given() {
		return &api.Client{HTTP: f.store.Transport(f.app)}
	}
	return &api.Client{HTTP: f.daemon.Client().Transport()}
}

// flags adds where the daemon is, and how to write the answer, which is this document; see cli.Forms.
func (f *apiFlags) flags(cmd *cobra.Command, doc any) {
	f.daemon.Reach(cmd)
	f.store.ObjectFlags(cmd)
	cli.Forms(cmd, &f.out.form, "how to write it", doc, "table")
}

// New makes the verb api with its own verbs.
// The verbs hold no lock and keep nothing: the daemon decides between callers that meet.
func New(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Read and change the objects in the store of the running daemon",
		Long: `Api reads and changes the objects in the running daemon's store. Each kind of resource
is a table: the id of an object is the name of the resource, and its fields are the
parameters. Models add further tables.

A field has one of these forms:

  mode=0644          text, read by the type of the field
  tags:='["a"]'      JSON; null clears the field
  password@FILE      content of a file; @- is standard input. A secret is given only so.

Root, the daemon's user and members of the group in api_write_group may change objects.
With --world, --cert and --key, a verb uses a store in etcd directly, with the rights of
its user there. With --server, --cert, --key and --ca, it uses the daemon of another
machine that has api_listen.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newAPIKinds(a), newAPIList(a), newAPIGet(a), newAPICreate(a), newAPIUpdate(a), newAPIApply(a), newAPIDelete(a), newAPICall(a),
		newAPIWatch(a), newAPIDump(a), newAPIMigrate(a), newAPICheck(a), newAPISchema(a),
	)
	return cmd
}

// verb makes one verb of api.
// All errors pass through told, so each verb ends with 1 and says how to go on.
// It closes the store of --world after the verb, also after an error.
func (f *apiFlags) verb(cmd *cobra.Command, doc any, run func(ctx context.Context, args []string) error) *cobra.Command {
	f.flags(cmd, doc)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = f.complete
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd.Context(), args)
		return told(errors.Join(err, f.store.Close()))
	}
	return cmd
}

// told returns an error with all that the server has found.
// The place in a body that this program has made says nothing to its user, so the fields alone are named.
func told(err error) error {
	// A problem with one finding, or with none, says all in its own text.
	p, ok := errors.AsType[*httpd.Problem](err)
	if !ok || len(p.Errors) < 2 {
		return remote.Explained(err)
	}
	var lines []string
	for _, e := range p.Errors {
		lines = append(lines, withHint(e))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// completeIndex offers the indexes of the table that is given.
// Without a table, or without a daemon, it offers nothing.
func (f *apiFlags) completeIndex(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompletionWait)
	defer cancel()
	if len(args) > 0 {
		if table, err := f.table(ctx, args[0]); err == nil {
			for _, x := range table.Indexes {
				words = append(words, x.Name)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// complete offers tables, ids, and the operations of call.
// Completion waits for the daemon only a moment, and offers nothing where none answers. No file is ever meant.
// The number of the arguments decides: a table comes first, then an id, and then an operation.
func (f *apiFlags) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompletionWait)
	defer cancel()
	var words []string
	switch len(args) {
	case 0:
		tables, _ := f.client().Tables(ctx, "")
		for _, t := range tables {
			words = append(words, t.Table)
		}
	case 1:
		// The limit is the longest page of the API. Of a larger table, only the first ids are
		// offered.
		for o, err := range f.client().List(ctx, args[0], url.Values{"limit": {"1000"}}) {
			if id, ok := o["id"].(string); err == nil && ok && strings.HasPrefix(id, word) {
				words = append(words, id)
			}
		}
	case 2:
		if table, err := f.table(ctx, args[0]); err == nil && cmd.Name() == "call" {
			for _, op := range table.Operations {
				words = append(words, op.Name)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// newAPIKinds makes the verb that lists the tables. It opens no store.
func newAPIKinds(a *cli.App) *cobra.Command {
	f := newFlags(a)
	return f.verb(&cobra.Command{
		Use: "kinds", Short: "List the tables", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}, []api.Table{}, func(ctx context.Context, _ []string) error {
		tables, err := f.client().Tables(ctx, "")
		if err != nil {
			return err
		}
		t := render.Table{{"TABLE", "INDEXES", "DOC"}}
		for _, table := range tables {
			var indexes []string
			for _, x := range table.Indexes {
				indexes = append(indexes, x.Name)
			}
			t.Row(table.Table, strings.Join(indexes, ","), cli.FirstSentence(table.Doc))
		}
		return f.out.write(tables, t)
	})
}

// newAPIList makes the verb that lists objects. With -o json it writes them as they come, however many they are. The
// conditions go to the daemon as text, which reads them by the types of the fields.
// Without --limit there is no bound: the daemon writes a list page by page, and so does the verb.
func newAPIList(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var index string
	var topics []string
	var first bool
	var limit int
	cmd := &cobra.Command{
		Use: "list TABLE [FIELD=VALUE...]", Short: "List the objects of a table",
		Long: `List prints the objects of a table, sorted by id. FIELD=VALUE selects objects by the value
of a field, which may be a path, such as address.port, or with --index a field of the
index.`,
		Example: `  mgmt api list file
  mgmt api list port --index mac mac=fa:16:3e:00:00:01 -o json`,
		Args: cli.Needs("table"),
	}
	f.verb(cmd, []api.Object{}, func(ctx context.Context, args []string) error {
		query := url.Values{}
		for _, arg := range args[1:] {
			key, form, value := cli.SplitArg(arg)
			// JSON and files have no meaning here, since the daemon reads the text by the type of the
			// field.
			if form != cli.FormText || key == "" {
				return fmt.Errorf("%q is no condition: write FIELD=VALUE", arg)
			}
			// The prefix keeps a field called limit or topic apart from the parameter of that name.
			query.Set("where."+key, value)
		}
		// An empty list of topics differs from none: --topic '' asks for the objects without a topic.
		for key, set := range map[string]bool{"index": index != "", "first": first, "limit": limit > 0, "topic": topics != nil} {
			if set {
				query.Set(key, map[string]string{"index": index, "first": "true", "limit": strconv.Itoa(limit), "topic": strings.Join(topics, ",")}[key])
			}
		}
		return f.out.list(f.client().List(ctx, args[0], query))
	})
	fl := cmd.Flags()
	fl.StringVar(&index, "index", "", "search the index of this `name`")
	_ = cmd.RegisterFlagCompletionFunc("index", f.completeIndex)
	fl.StringSliceVar(&topics, "topic", nil, "only objects of this `topic`; may be repeated")
	fl.BoolVar(&first, "first", false, "show only the object with the smallest id")
	fl.IntVar(&limit, "limit", 0, "at most so many objects, 1000 at most (default all)")
	return cmd
}

// newAPIGet makes the verb that shows one object: the object itself, the objects that it refers to, or its state on the
// hosts. It ends with 1 where there is no such object.
func newAPIGet(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var deep, status bool
	cmd := &cobra.Command{
		Use: "get TABLE ID", Short: "Show an object", Args: cli.Exactly("table", "id"),
		Example: "  mgmt api get file /etc/motd -o yaml\n  mgmt api get file /etc/motd --status",
	}
	f.verb(cmd, api.Object{}, func(ctx context.Context, args []string) error {
		q := api.Request{Method: http.MethodGet, Path: api.PathOf(args[0], args[1])}
		if status {
			q.Path += "/status"
		}
		if deep {
			q.Query = url.Values{"resolve": {"deep"}}
		}
		var o api.Object
		if _, err := f.client().Ask(ctx, q, &o); err != nil {
			return err
		}
		// An empty table would look like a fault. In JSON and YAML an empty object says it well.
		if status && len(o) == 0 && !f.out.form.Document() {
			fmt.Fprintf(a.Err, "%s: note: no host has told of it yet; the hosts of its topic do so when they have taken it over\n", a.Program())
			return nil
		}
		return f.out.object(o)
	})
	cmd.Flags().BoolVar(&deep, "deep", false, "also show the objects that it refers to")
	cmd.Flags().BoolVar(&status, "status", false, "show its status on each host")
	cmd.MarkFlagsMutuallyExclusive("deep", "status")
	return cmd
}

// newAPICreate makes the verb that creates an object. It never writes over one: that is an error which says how to go on.
// The answer is the object as it was stored, with its defaults and its version.
func newAPICreate(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var dry bool
	cmd := &cobra.Command{
		Use: "create TABLE ID [FIELD=VALUE...]", Short: "Create an object", Args: cli.Needs("table", "id"),
		Example: `  mgmt api create file /etc/motd content='Hello.' mode=0644`,
	}
	f.verb(cmd, api.Object{}, func(ctx context.Context, args []string) error {
		body, err := f.body(ctx, args[0], args[1], args[2:])
		if err != nil {
			return err
		}
		return f.send(ctx, api.Request{Method: http.MethodPost, Path: api.PathOf(args[0]), Body: body, Query: dryRun(dry)})
	})
	dryFlag(cmd, &dry)
	return cmd
}

// newAPIUpdate makes the verb that merges fields into an object. Without a condition the change takes effect, be there another
// writer or not; with one it is refused where the object has changed since.
func newAPIUpdate(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var dry bool
	var version, revision int64
	cmd := &cobra.Command{
		Use: "update TABLE ID FIELD=VALUE...", Short: "Change fields of an object", Args: cli.Needs("table", "id", "field"),
		Long: `Update changes the given fields of an object, and keeps the others. With --if-version or
--if-rev, it fails if another writer has changed the object since.`,
		Example: `  mgmt api update file /etc/motd content='Good bye.' --if-version 3`,
	}
	f.verb(cmd, api.Object{}, func(ctx context.Context, args []string) error {
		if version > 0 {
			// The version is a field of the body, and the revision a condition of HTTP (RFC 9110,
			// If-Match).
			args = append(args, "version:="+strconv.FormatInt(version, 10))
		}
		body, err := f.body(ctx, args[0], args[1], args[2:])
		if err != nil {
			return err
		}
		// PUT on a table merges the fields, and PUT on an object would clear the missing ones.
		// By default its answer has no body.
		q := api.Request{Method: http.MethodPut, Path: api.PathOf(args[0]), Body: body, Query: dryRun(dry), Header: []string{"Prefer", "return=representation"}}
		if revision > 0 {
			q.Header = append(q.Header, "If-Match", strconv.Quote(strconv.FormatInt(revision, 10)))
		}
		return f.send(ctx, q)
	})
	dryFlag(cmd, &dry)
	cmd.Flags().Int64Var(&version, "if-version", 0, "change the object only if it has this `version`")
	cmd.Flags().Int64Var(&revision, "if-rev", 0, "change the object only if it has this `revision`, its ETag")
	return cmd
}

// newAPICall makes the verb that calls an operation. It asks for the table first, so that a wrong name is told with the
// nearest, and arguments have the types that the model says.
func newAPICall(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var dry bool
	cmd := &cobra.Command{
		Use: "call TABLE ID OPERATION [ARGUMENT=VALUE...]", Short: "Call an operation of an object", Args: cli.Needs("table", "id", "operation"),
		Long: `Call changes an object by an operation of its model. Every table with lists has the
operations add and remove, which are safe for concurrent writers.`,
		Example: `  mgmt api call account alice add field=groups value=adm`,
	}
	f.verb(cmd, api.Object{}, func(ctx context.Context, args []string) error {
		table, err := f.table(ctx, args[0])
		if err != nil {
			return err
		}
		i := slices.IndexFunc(table.Operations, func(op api.Operation) bool { return op.Name == args[2] })
		if i < 0 {
			var names []string
			for _, op := range table.Operations {
				names = append(names, op.Name)
			}
			return fmt.Errorf("%s has no operation %q%s", table.Table, args[2], cli.Meant(args[2], names))
		}
		fields, err := fields(f.app, table.Operations[i].Args, args[3:])
		if err != nil {
			return err
		}
		body, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		// This colon parts the id from the operation. A colon inside of an id is escaped.
		return f.send(ctx, api.Request{Method: http.MethodPost, Path: api.PathOf(args[0], args[1]) + ":" + api.Escape(args[2]), Body: body, Query: dryRun(dry)})
	})
	dryFlag(cmd, &dry)
	return cmd
}

// newAPISchema makes the verb that tells what a table is, for people, or the whole description, for programs.
// The types are those of the daemon, also where this program has other kinds or models.
func newAPISchema(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var openapi bool
	cmd := &cobra.Command{
		Use: "schema [TABLE]", Short: "Show the fields of the tables, or the description of the API", Args: cobra.MaximumNArgs(1),
		Example: "  mgmt api schema file\n  mgmt api schema --openapi > openapi.json",
	}
	f.verb(cmd, []api.Table{}, func(ctx context.Context, args []string) error {
		if openapi {
			return f.openapi(ctx)
		}
		tables, err := f.client().Tables(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		t := render.Table{{"FIELD", "TYPE", "DOC"}}
		for _, table := range tables {
			for _, field := range table.Fields {
				need := ""
				if field.Required {
					need = ", required"
				}
				t.Row(table.Table+"."+field.Name, field.Type+need, render.OneLine(field.Doc))
			}
		}
		return f.out.write(tables, t)
	})
	cmd.Flags().BoolVar(&openapi, "openapi", false, "print the OpenAPI 3.1 description of all tables")
	return cmd
}

// openapi copies the description.
// It is copied as it comes, and not held in memory.
// The flag --output does not concern it: OpenAPI is JSON.
func (f *apiFlags) openapi(ctx context.Context) error {
	resp, err := f.client().Do(ctx, api.Request{Method: http.MethodGet, Path: httpd.DescriptionPath})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(f.app.Out, resp.Body)
	return err
}

// dryFlag adds the flag that has the daemon check and write nothing.
// The daemon then answers as it would have after the change, so a dry run also shows the defaults.
func dryFlag(cmd *cobra.Command, dry *bool) {
	cmd.Flags().BoolVar(dry, "dry-run", false, "check everything, and write nothing")
}

// dryRun is that flag as the daemon takes it.
func dryRun(dry bool) url.Values {
	if dry {
		return url.Values{"dry_run": {"1"}}
	}
	return nil
}

// send sends a change, and shows the object as it is then.
// The object has the values that the daemon has read from the text, such as numbers, and the version.
func (f *apiFlags) send(ctx context.Context, q api.Request) error {
	var o api.Object
	if _, err := f.client().Ask(ctx, q, &o); err != nil {
		return err
	}
	return f.out.object(o)
}

// table asks for one table.
// Its types are those of the daemon, whose kinds and models may be others than those of this program.
func (f *apiFlags) table(ctx context.Context, name string) (*api.Table, error) {
	tables, err := f.client().Tables(ctx, name)
	if err != nil {
		return nil, err
	}
	// The daemon tells of an unknown table with 404, so another number is a fault of the daemon.
	if len(tables) != 1 {
		return nil, fmt.Errorf("the daemon knows %d tables %s", len(tables), name)
	}
	return &tables[0], nil
}

// body returns the JSON of an object with fields from the command line.
// The id is the argument's, also where a field of that name is given.
// It asks the daemon for the types of the fields first, so each change costs two requests.
func (f *apiFlags) body(ctx context.Context, name, id string, args []string) ([]byte, error) {
	table, err := f.table(ctx, name)
	if err != nil {
		return nil, err
	}
	fields, err := fields(f.app, table.Fields, args)
	if err != nil {
		return nil, err
	}
	// An id is text also where it looks like a number, so it is never read by a type.
	if fields["id"], err = json.Marshal(id); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// fields reads arguments by the types of fields. All that is wrong is said at once; the daemon checks the values.
// Nothing is sent before all of them can be read.
func fields(a *cli.App, known []api.Field, args []string) (map[string]json.RawMessage, error) {
	// A nil message is a field that could not be read: the loop goes on to find further faults.
	out := map[string]json.RawMessage{}
	var errs []error
	for _, arg := range args {
		key, form, rest := cli.SplitArg(arg)
		i := slices.IndexFunc(known, func(k api.Field) bool { return k.Name == key })
		switch {
		case form == "" || key == "":
			errs = append(errs, fmt.Errorf("%q is no field: write FIELD=VALUE, FIELD:=JSON or FIELD@FILE", arg))
			continue
		case out[key] != nil:
			errs = append(errs, fmt.Errorf("%s is given twice", key))
			continue
		case i < 0:
			var names []string
			for _, k := range known {
				names = append(names, k.Name)
			}
			errs = append(errs, fmt.Errorf("there is no %q%s", key, cmp.Or(cli.Meant(key, names), "; write "+strings.Join(names, ", "))))
			continue
		}
		value, err := field(a, known[i], form, rest)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
		out[key] = value
	}
	return out, errors.Join(errs...)
}

// field reads one argument.
// A secret never stands on the command line, where every user can see it. Text for a number that is none goes to the
// daemon as text, which says what is wrong with it.
func field(a *cli.App, k api.Field, form, rest string) (json.RawMessage, error) {
	switch {
	case k.Secret && form != cli.FormFile:
		// The arguments of a process are in /proc/PID/cmdline, which all users can read; see proc(5).
		return nil, cli.ErrSecret
	case form == cli.FormJSON:
		if !json.Valid([]byte(rest)) {
			return nil, errors.New("it is no JSON; text stands in double quotes there")
		}
		return json.RawMessage(rest), nil
	case form == cli.FormFile:
		data, err := cli.ReadSource(a, rest, gapi.Source{})
		if err != nil {
			return nil, err
		}
		// Editors and echo(1) end a file with one line end, which is hardly ever meant as a part of
		// the value.
		return json.Marshal(string(bytes.TrimSuffix(data, []byte("\n"))))
	}
	switch k.JSON {
	// A list as text could be split in several ways, so JSON alone is taken.
	case "array", "object":
		return nil, fmt.Errorf("it is %s: write it as JSON, %s:=%s", k.Type, k.Name, map[string]string{"array": `'["a"]'`, "object": `'{"key": "value"}'`}[k.JSON])
	case "boolean", "integer", "number":
		// Only FIELD:=null clears a field. The plain word null is text, and the daemon refuses it for
		// a number.
		if rest != "null" && json.Valid([]byte(rest)) {
			return json.RawMessage(rest), nil
		}
	}
	return json.Marshal(rest)
}
