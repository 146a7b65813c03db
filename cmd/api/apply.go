package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// newAPIApply makes the verb that creates or updates the objects of a file. The daemon checks all of them together, before it writes
// one.
// It may be repeated: objects that are as the file has them are not written, and count as the same.
func newAPIApply(a *cli.App) *cobra.Command {
	f := newFlags(a)
	var dry bool
	var file string
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Create or update the objects in a file", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Apply creates or replaces the objects in a file; an existing object gets exactly these
fields. The file is YAML with one or more documents, or JSON with a sequence or list of
values. Each object names its table next to its fields:

  table: file
  id: /etc/motd
  content: Hello.

If there are errors, apply reports them all with their positions, and writes nothing. The
objects take effect in one transaction if the limits of the store allow it; otherwise apply
reports the number of transactions, and may be repeated.`,
		Example: `  mgmt api apply -f objects.yaml
  mgmt api dump -o json | mgmt api apply -f -`,
	}
	f.verb(cmd, api.Done{}, func(ctx context.Context, _ []string) error {
		if file == "" {
			// The flag is not marked as required: cobra's own message would not say that - is
			// standard input.
			return errors.New("the file is not given: write -f FILE, or -f - for standard input")
		}
		return f.apply(ctx, file, dry)
	})
	cmd.Flags().StringVarP(&file, "file", "f", "", "`file` with the objects; - is standard input")
	_ = cmd.MarkFlagFilename("file", yaml.FlagExtensions("yaml")...)
	dryFlag(cmd, &dry)
	cli.GuardFlag(a, cmd)
	return cmd
}

// apply reads the file and sends its objects.
// A file with faults of its own is sent as a dry run. So the faults that only the daemon finds are told together with them.
func (f *apiFlags) apply(ctx context.Context, file string, dry bool) error {
	name, text, err := readObjects(f.app, file)
	if err != nil {
		return err
	}
	docs, said := documents(name, text, maxObjects)
	var objects []*declaredObject
	places := map[string]schema.Pos{}
	for _, n := range docs {
		o, ds := objectOf(n)
		said.Add(ds...)
		if o == nil {
			continue
		}
		// Two declarations of one object contradict each other, even where they are equal today.
		if at, twice := places[o.String()]; twice {
			said.Errorf(o.at.Pos, "%v is there twice, the first time at %v", o, at)
			continue
		}
		places[o.String()] = o.at.Pos
		objects = append(objects, o)
	}
	found := said.All()
	switch {
	// A file without objects is likely the wrong file, so it is an error and no success.
	case len(objects) == 0 && found.Err() == nil:
		return fmt.Errorf("%s has no object", name)
	case len(objects) == 0:
		return found.Err()
	}
	done, err := f.sendObjects(ctx, objects, dry || found.Err() != nil) // the faults of the others are told, too
	if p, ok := errors.AsType[*httpd.Problem](err); ok {
		err = located(objects, p, found)
	} else if err == nil {
		err = found.Err()
	}
	if err != nil {
		return err
	}
	return f.out.applied(objects, done, dry)
}

// sendObjects sends all objects at once, in one request.
// A request that was lost may have taken effect; the same file again does no harm.
// The order is that of the file. The answer has one result for each, in the same order.
func (f *apiFlags) sendObjects(ctx context.Context, objects []*declaredObject, dry bool) (*api.Done, error) {
	// The JSON is written by hand, so that each number keeps the digits and each field the order of
	// the file.
	body := []byte(`{"operations":[`)
	for i, o := range objects {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendText(append(body, `{"op":"apply","table":`...), o.table)
		body = appendText(append(body, `,"id":`...), o.id)
		fields := *o.fields // the id stands next to them, as text
		fields.Pairs = slices.DeleteFunc(slices.Clone(fields.Pairs), func(p schema.Pair) bool { return p.Key == "id" })
		body = append(appendJSON(append(body, `,"object":`...), &fields), '}')
	}
	body = append(body, "]}"...)
	// With split, the daemon checks all objects together and bounds no time. With loose, a number
	// stands for a text where the field is text, as a person writes YAML.
	query := url.Values{"split": {"1"}, "loose": {"1"}}
	if dry {
		query.Set("dry_run", "1")
	}
	done := &api.Done{}
	_, err := f.client().Ask(ctx, api.Request{Method: http.MethodPost, Path: "/v1/api:txn", Query: query, Body: body, Header: []string{"Prefer", "return=minimal"}}, done)
	// The results belong to the objects by their places alone, so the numbers must agree.
	if err == nil && len(done.Results) != len(objects) {
		err = fmt.Errorf("the daemon has answered for %d of %d objects", len(done.Results), len(objects))
	}
	return done, err
}

// located returns the findings of the daemon with their places in the file, together with the findings of this program.
// They are in the order of the file. A problem that names no object is told as it came.
// A finding of the daemon names its place as operations[N], which only this program knows. One
// finding about something else makes all of them come as the daemon has written them.
func located(objects []*declaredObject, p *httpd.Problem, found schema.Diagnostics) error {
	for _, x := range p.Errors {
		o, pos := placeOf(objects, x)
		if o == nil {
			return errors.Join(found.Err(), p)
		}
		found = append(found, schema.Diagnostic{Severity: schema.Error, Pos: pos, Message: o.String() + ": " + withHint(x)})
	}
	if len(p.Errors) == 0 {
		return errors.Join(found.Err(), p)
	}
	// The sort is stable, so several findings about one place keep the order of the daemon.
	sorted.Stable(found, func(x, y schema.Diagnostic) int {
		return cmp.Or(cmp.Compare(x.Pos.Line, y.Pos.Line), cmp.Compare(x.Pos.Col, y.Pos.Col))
	})
	return found.Err()
}

// withHint is the text of a finding with the way out.
// It has no place: the caller knows whether that is of a file.
func withHint(x httpd.Finding) string {
	if x.Hint == "" {
		return x.Detail
	}
	return x.Detail + " (" + x.Hint + ")"
}

// applied tells what has become of each object, in the order of the file.
// Same means that nothing was written for the object.
// The last line is for people; a program reads the results as JSON.
func (p *printer) applied(objects []*declaredObject, done *api.Done, dry bool) error {
	return p.form.Write(p.app.Out, done, func(w io.Writer) error { return appliedText(w, objects, done, dry) })
}

// appliedText writes a row for each object, and how many of them have changed.
func appliedText(w io.Writer, objects []*declaredObject, done *api.Done, dry bool) error {
	count := map[string]int{}
	t := render.Table{{"OBJECT", "RESULT"}}
	for i, o := range objects {
		t.Row(o.String(), done.Results[i])
		count[done.Results[i]]++
	}
	if err := t.Write(w); err != nil {
		return err
	}
	end := ""
	switch {
	case dry:
		end = "; nothing was written"
	case done.Transactions > 1:
		end = fmt.Sprintf("; the store took them in %d transactions", done.Transactions)
	}
	_, err := fmt.Fprintf(w, "%d created, %d changed, %d the same%s\n", count["created"], count["changed"], count["same"], end)
	return err
}
