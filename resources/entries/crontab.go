package entries

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/crontab"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/internal/textpart"
)

// This kind is for crontab(1); the kind cron is for timers of systemd.
func init() {
	provided.Register("crontab", func() (*provider.Kind, error) { return crontabKind(newCrontabs) })
}

func crontabKind(make func() provider.Provider) (*provider.Kind, error) {
	return provider.New(crontabDefinition(), make, provider.Rooted())
}

// Fields and words are those of crontab(5).
// crontabDefinition has one attribute for each of the five times, with the bounds that package
// crontab knows.
func crontabDefinition() provider.Definition {
	attributes := []provider.Attribute{
		{Name: "job", Type: `Pattern[/\A[^\s[:cntrl:]]([^\n\r[:cntrl:]]*[^\s[:cntrl:]])?\z/]`, Role: provider.Namevar, Doc: "The name of the job: the comment above it."},
		{Name: "user", Type: `Pattern[/\A[^\s:\/-][^\s:\/]*\z/, /\A\z/]`, Role: provider.Namevar, Doc: "Whose crontab it is in; empty for the user that mgmt runs as."},
		{Name: "target", Type: `Variant[Enum[''], Pattern[/\A\/[^\n]*\z/]]`, Role: provider.Namevar, Doc: "A file to edit in place of asking the crontab command, as in a chroot; it has no column for the user."},
		{Name: "ensure", Type: provided.EnsureType, Default: provided.Present, HasDefault: true, Doc: "Whether the job is there."},
		{Name: "command", Type: `Optional[Pattern[/\A[^\s[:cntrl:]][^\n\r]*\z/]]`, Doc: "The command that is run. As in any crontab, % begins its input, and \\% is a percent sign. It is needed to add a job."},
		{Name: "special", Type: "Optional[Enum['', " + strings.Join(crontab.Specials(), ", ") + ", annually, midnight]]", Doc: "A word for when to run it, in place of the times; empty for none."},
	}
	for _, f := range crontab.Fields() {
		attributes = append(attributes, provider.Attribute{
			Name: f.Name, Type: timeType, Doc: fmt.Sprintf("The %s: a number from %d to %d, a range, */n, a name where there are some, several of them, or * for any.", f.Name, f.Min, f.Max),
		})
	}
	attributes = append(attributes, provider.Attribute{
		Name: "environment", Type: `Optional[Array[Pattern[/\A[A-Za-z_][A-Za-z0-9_]*[ \t]*=[^\n\r]*\z/]]]`,
		Doc: "Settings above the job, NAME=value. They hold for all that stands below, too: that is how cron works.",
	})
	return provider.Definition{
		Name: "crontab",
		Doc: `A job in a user's crontab, as the ` + "`crontab`" + ` command shows it.

A job is known by the comment above it, ` + "`# mgmt name: backup`" + `. A job that Puppet has made has ` + "`# Puppet Name: backup`" + `, and is taken
over as it is: the comment is replaced when something else of it is altered. All other lines stay as they are, byte for byte.

Times that are not given are left alone, and are * for a job that is made. Different ways of writing the same time are the same:
` + "`sun`, `0` and `7`" + `, or ` + "`30,0` and `[0, 30]`" + `; ` + "`absent`" + ` is Puppet's word for *.

The title is ` + "`backup of alice`" + `, or the name of a job of the user that mgmt runs as, and may end in ` + "`in /path/of/crontab`" + `.`,
		Attributes: attributes,
		TitlePatterns: []provider.TitlePattern{
			{Pattern: `\A(?<job>.+) of (?<user>[^\s:\/-][^\s:\/]*) in (?<target>\/.*)\z`},
			{Pattern: `\A(?<job>.+) in (?<target>\/.*)(?<user>)\z`},
			{Pattern: `\A(?<job>.+) of (?<user>[^\s:\/-][^\s:\/]*)(?<target>)\z`},
			{Pattern: `\A(?<job>.+)(?<user>)(?<target>)\z`},
		},
		Require:  []provider.Relation{{Kind: "user", Titles: []string{"$user"}}, {Kind: "file", Titles: []string{"$target"}}, {Kind: "package", Titles: []string{"cron"}}},
		Features: provider.Canonicalize | provider.SimpleGetFilter,
	}
}

// timeType is a number, a text, or several. Canonicalize knows the form of a text.
const timeType = "Optional[Variant[Integer[0, 59], String[1], Array[Variant[Integer[0, 59], String[1]], 1]]]"

// crontabSpools are where the crontabs lie. They are watched, and tell who has one;
// they are read and written by the command only.
// Only root, and the group of the program, may list them on most machines. Elsewhere changes are
// seen by looking once a minute.
func crontabSpools() []string { return []string{"/var/spool/cron/crontabs", "/var/spool/cron"} }

// crontabs is the provider of crontab.
// The program is run for each user; only the spools are read directly, for the names of
// users.
// It lives for one transaction. It keeps no text between two calls, since another program may edit
// a crontab at any time.
type crontabs struct {
	program string
	spools  []string
	self    func() string // the user that we are
}

func newCrontabs() provider.Provider {
	return &crontabs{program: "crontab", spools: crontabSpools(), self: sync.OnceValue(whoami)}
}

// table is a crontab: that of a user, or a file.
// A target comes before a user: with both, the file is edited and the user only names the
// resource.
type table struct{ user, target string }

// crontabName is what a Name of a job holds.
// After Canonicalize the user is never empty.
// The names of jobs are compared as they are written, with upper and lower case.
type crontabName struct {
	job string
	table
}

func crontabNameOf(n provider.Name) crontabName {
	v := n.Values()
	return crontabName{v[0], table{v[1], v[2]}}
}

// record has the namevars, and a title that the first title pattern reads back.
func (n crontabName) record() provider.Record {
	title := n.job + " of " + n.user
	if n.target != "" {
		title += " in " + n.target
	}
	return provider.Record{"title": title, "job": n.job, "user": n.user, "target": n.target}
}

// Canonicalize says who the user is, and gives times their one form.
// An error here is that of the declaration and stops the resource before anything is
// read.
func (c *crontabs) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		if provided.Str(r, "user") == "" {
			r["user"] = c.self()
		}
		if err := canonicalTimes(r); err != nil {
			return nil, err
		}
		if err := canonicalEnvironment(r); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// A special word such as daily stands in place of all five times.
// canonicalTimes returns an error for a time that cron would refuse, before anything is written. A
// number and the same number as text are one time.
func canonicalTimes(r provider.Record) error {
	if s := provided.Str(r, "special"); s != "" {
		special, err := crontab.Special(s)
		if err != nil {
			return err
		}
		r["special"] = special
	}
	for _, f := range crontab.Fields() {
		if !provided.Manages(r, f.Name) {
			continue
		}
		if provided.Str(r, "special") != "" {
			return fmt.Errorf("%s and special exclude each other", f.Name)
		}
		list := provided.Strs(r, f.Name)
		if list == nil {
			list = []string{fmt.Sprint(r[f.Name])}
		}
		text, err := f.Canonical(strings.Join(list, ","))
		if err != nil {
			return err
		}
		r[f.Name] = text
	}
	return nil
}

// canonicalEnvironment gives each setting the form NAME=value, without blanks around the sign. The
// order is kept, since cron lets the last one of a name count.
func canonicalEnvironment(r provider.Record) error {
	if !provided.Manages(r, "environment") {
		return nil
	}
	list := provided.Strs(r, "environment")
	for i := range list {
		var err error
		if list[i], err = crontab.Setting(list[i]); err != nil {
			return err
		}
	}
	r["environment"] = provided.Array(list)
	return nil
}

// Get asks for each crontab once.
// An error concerns all jobs of its crontab, and is told once for each name. The next name asks
// again, since only a text that was read is kept.
func (c *crontabs) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		if f.All {
			c.all(ctx, rt, yield)
			return
		}
		files := map[table]*crontab.File{}
		for _, name := range f.Names {
			n := crontabNameOf(name)
			if files[n.table] == nil {
				file, err := c.load(ctx, rt, n.table)
				if err != nil {
					if !yield(n.record(), err) {
						return
					}
					continue
				}
				files[n.table] = file
			}
			if r, ok := findJob(files[n.table], n); ok && !yield(r, nil) {
				return
			}
		}
	}
}

// all yields the jobs of all crontabs.
// Several jobs of one name are one record.
// An error of one crontab ends the list. Without all crontabs an answer would be wrong: a job that
// is missing in it counts as absent.
func (c *crontabs) all(ctx context.Context, rt *provider.Runtime, yield func(provider.Record, error) bool) {
	for _, u := range c.users() {
		file, err := c.load(ctx, rt, table{user: u})
		if err != nil {
			yield(nil, err)
			return
		}
		seen := map[string]bool{}
		for _, j := range file.Jobs() {
			r, _ := findJob(file, crontabName{j.Name, table{user: u}})
			if !seen[j.Name] && !yield(r, nil) {
				return
			}
			seen[j.Name] = true
		}
	}
}

// users are those who have a crontab, as far as we may know: we at least.
// Debian keeps the files in /var/spool/cron/crontabs, others in /var/spool/cron. Names
// with tmp. are crontab(1)'s own, while a user edits.
// A spool that can't be listed is left out, since an ordinary user may not read it.
func (c *crontabs) users() []string {
	users := []string{c.self()}
	for _, spool := range c.spools {
		entries, err := os.ReadDir(spool)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "tmp.") && !strings.HasPrefix(e.Name(), ".") {
				users = append(users, e.Name())
			}
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// args are the arguments of the command for the crontab of a user. A user other than root may not
// even name himself.
func (c *crontabs) args(user string, more ...string) []string {
	if user == c.self() {
		return more
	}
	return append([]string{"-u", user}, more...)
}

// load reads a crontab. A missing one is empty.
// A target is read as a file and not by the command.
func (c *crontabs) load(ctx context.Context, rt *provider.Runtime, of table) (*crontab.File, error) {
	if of.target == "" {
		return c.ask(ctx, rt, of.user)
	}
	t, err := textfile.By(safepath.Of(rt.Host), of.target, 0o600)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	return crontab.Parse(text), nil
}

// ask has the command read a crontab, with all its bytes.
// "no crontab for" is the one answer that means an empty crontab. Every other failure
// must not be taken for it, since an edit would then drop all jobs.
// It runs without a shell. A text above textfile.MaxText is an error and never cut, for the same
// reason.
func (c *crontabs) ask(ctx context.Context, rt *provider.Runtime, user string) (*crontab.File, error) {
	res, err := rt.Host.Command(ctx, engine.Command{Argv: append([]string{c.program}, c.args(user, "-l")...), MaxOutput: textfile.MaxText})
	if errors.Is(err, exec.ErrNotFound) {
		return nil, &provider.CommandNotFoundError{Program: c.program, Err: err}
	}
	if err != nil {
		return nil, err
	}
	said := strings.TrimSpace(string(res.Stderr))
	switch {
	case res.ExitCode != 0 && strings.Contains(said, "no crontab for"):
		return &crontab.File{}, nil
	case res.ExitCode != 0 && strings.Contains(said, "unknown") && planning.Makes(rt.Host, "user", user):
		return &crontab.File{}, nil // of a user that a plan makes
	case res.ExitCode != 0:
		planning.Untold(rt.Host)
		return nil, fmt.Errorf("the crontab of %s can't be read: %s -l has ended with %d: %s", user, c.program, res.ExitCode, said)
	case res.Truncated:
		return nil, fmt.Errorf("the crontab of %s is not read: %w", user, &textpart.TooLargeError{Max: textfile.MaxText})
	}
	return crontab.Parse(string(res.Stdout)), nil
}

// findJob returns the record of a name.
// A special word stands for all five times, so a record has one or the other. False means that no
// job has the name.
func findJob(f *crontab.File, n crontabName) (provider.Record, bool) {
	var found []provider.Record
	for _, j := range f.Find(n.job) {
		r := n.record()
		r["ensure"], r["command"], r["special"], r["environment"] = provided.Present, j.Command, j.Special, provided.Array(j.Environment)
		for i, field := range crontab.Fields() {
			if j.Special == "" {
				r[field.Name] = j.Times[i]
			}
		}
		found = append(found, r)
	}
	if len(found) == 0 {
		return nil, false
	}
	return provided.Common(found), true
}

// Set replaces each crontab once.
// A crontab of a user is written by the command alone, which also makes cron notice.
func (c *crontabs) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for of, group := range provided.Groups(changes, func(ch provider.Change) table { return crontabNameOf(ch.Name).table }) {
		if of.target != "" {
			t, err := textfile.By(safepath.Of(rt.Host), of.target, 0o600)
			provided.EditAll(rt.Log, t, err, group, crontab.Parse, putJob)
			continue
		}
		refused := provided.Refusals{}
		err := c.edit(ctx, rt, of.user, group, refused)
		refused.Tell(rt.Log, group, err)
	}
	return nil
}

// edit has the command replace a crontab.
// An unchanged text is not written.
// The text goes through standard input, so no copy of it lies in a folder for temporary files.
// crontab(1) checks the text, and keeps the old one if it finds an error.
//
// Between the reading and the writing another program may write: crontab(1) has no lock for that.
// Its change would then be lost.
func (c *crontabs) edit(ctx context.Context, rt *provider.Runtime, user string, group []provider.Change, refused provided.Refusals) error {
	f, err := c.ask(ctx, rt, user)
	if err != nil {
		return err
	}
	old := f.String()
	for _, ch := range group {
		refused.Try(ch, func() error { return putJob(f, ch) })
	}
	if f.String() == old {
		return nil
	}
	return rt.Command(c.program).Stdin(f.String()).Run(ctx, c.args(user, "-")...)
}

// putJob makes one change.
// Attributes that are not given stay as they are in the file.
// It changes the parsed text in memory only. Put of package crontab refuses a job that lacks a
// command.
func putJob(f *crontab.File, c provider.Change) error {
	n := crontabNameOf(c.Name)
	if c.Should["ensure"] == provided.Absent {
		f.Remove(n.job)
		return nil
	}
	var j crontab.Job
	if found := f.Find(n.job); len(found) > 0 {
		j = found[0]
	}
	j.Name = n.job
	if provided.Manages(c.Should, "command") {
		j.Command = provided.Str(c.Should, "command")
	}
	if provided.Manages(c.Should, "environment") {
		j.Environment = provided.Strs(c.Should, "environment")
	}
	if provided.Manages(c.Should, "special") {
		j.Special = provided.Str(c.Should, "special")
	}
	timesOf(&j, c.Should)
	return f.Put(j)
}

// timesOf gives a job the times that it shall have. A time ends a special one.
// A new job without times runs each minute, as five stars mean in crontab(5).
func timesOf(j *crontab.Job, should provider.Record) {
	if provided.Str(should, "special") != "" {
		j.Times = [5]string{}
		return
	}
	for i, f := range crontab.Fields() {
		if provided.Manages(should, f.Name) {
			j.Special, j.Times[i] = "", provided.Str(should, f.Name)
		}
	}
	if j.Special != "" {
		return
	}
	for i := range j.Times {
		if j.Times[i] == "" {
			j.Times[i] = crontab.Every
		}
	}
}

// Files says in which file the job is, if it is in none of the folders that Watch sees.
func (c *crontabs) Files(wanted provider.Record) []string {
	return provided.Elsewhere(provided.Str(wanted, "target"))
}

// Confined says that only the user of a crontab may read its commands and their environment.
func (c *crontabs) Confined(wanted provider.Record, attribute string) bool {
	return provided.Str(wanted, "target") == "" && (attribute == "command" || attribute == "environment")
}

// Watch watches the folders of the crontabs.
// It blocks until ctx ends. crontab(1) replaces the file of a user, so the contents of the folder
// are watched and not single files.
func (c *crontabs) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	return provided.WatchPaths(ctx, rt, c.spools, events.Options{Contents: true}, time.Minute, armed, changed)
}
