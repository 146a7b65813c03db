package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// DeployFlags are the flags of deploy. Other verbs about deploys use some of them. A deploy goes to one topic, and is either made of a graph or
// is that of an earlier number. A store is opened at the first question, and closed at the end of the verb.
type DeployFlags struct {
	remote.Daemon
	remote.Signing
	Store remote.Direct
	// Its flags are those of a program. The bounds are the defaults, and each host computes the variables of a graph in YAML.
	input inputs.Flags

	topic string
	Dry   bool
	// The zero value means all hosts at once.
	batch  string // as deploy.ParseBatch reads it
	failed int    // how many failed hosts stop it
	backTo int64  // the number of an earlier deploy; 0 for none
	// The operator before gets ErrTaken at the next step, and lets no further batch go.
	takeover bool        // a deploy that is under way is replaced
	patience cli.Seconds // how long one host may take
	leaving  cli.Leaving
	missing  cli.Choice      // what becomes of the hosts that have not taken it at the end; the empty word is ok
	expires  string          // how long a host may accept it for the first time
	trusted  []deploy.Public // whose signatures count; none in a dry run without a key
}

// NewDeploy makes the verb deploy.
// It ends with 0 when the rollout is done, with 4 when it has stopped or hosts are missing, and with 1 for all else.
func NewDeploy(a *cli.App) *cobra.Command {
	f := &DeployFlags{Signing: remote.Signing{App: a}, patience: cli.Seconds(10 * time.Minute)}
	cmd := &cobra.Command{
		Use:   "deploy FILE... --to TOPIC",
		Short: "Give a graph to all hosts of a topic",
		Long: `Deploy checks a graph, signs it, and puts it into the store. The hosts of the topic take
it over, batch by batch: the next batch goes when the last one has converged. Where
--max-failed hosts have failed, it stops, and the other hosts keep what they have.

A topic is all, host:NAME, or group:ROLE; mgmt hosts allow says which roles a host has.
A host takes deploys that a key of its setting trusted_keys has signed for its store.
All that the graph includes goes with it. A program (docs/typescript.md) runs here and
not on the hosts, which get the graph that it makes. A host that has not taken a deploy when it
expires does not take it any more; the hosts that have it go on with it.

When deploy is interrupted, no further batch goes. The same command goes on with it, also on
another machine. While one deploy to a topic is under way, another one is refused;
--take-over replaces it.

A host that is not there when the others have converged takes the deploy when it is
back. With --missing fail, which is the default, deploy names these hosts, and those that
have taken too long, and ends with 4; with wait it waits for them before that,
--patience at most; with ok it names them, and ends with 0. mgmt hosts remove takes off
a host that does not come back.`,
		Example: `  mgmt deploy keygen
  mgmt deploy site.yaml --to all --dry-run
  mgmt deploy web.yaml --to group:web --batch 10% --max-failed 2
  mgmt deploy main.ts --to all --var sites=3
  mgmt deploy --to group:web --back-to 3`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.Closing(f.run(cmd.Context(), args)) },
	}
	f.Reach(cmd)
	f.Store.Flags(cmd)
	f.input.ProgramFlags(cmd)
	cli.TypesFlag(a, cmd)
	cli.GuardFlag(a, cmd) // a writer of root's graph gets root's key, and with it all hosts
	fl := cmd.Flags()
	fl.StringVar(&f.topic, "to", "", "the `topic` whose hosts take it")
	fl.BoolVar(&f.Dry, "dry-run", false, "check all, say which hosts would take it, and write nothing")
	fl.StringVar(&f.batch, "batch", "", "how many hosts take it at once: a `number`, or a share as 10% (default all)")
	fl.IntVar(&f.failed, "max-failed", 1, "stop where so many hosts have failed")
	fl.Int64Var(&f.backTo, "back-to", 0, "deploy the files of this earlier `number` again, under a new one")
	cli.Choose(cmd, &f.missing, "missing", "", "hosts that have not taken it at the end: name them, wait for them, or fail", "fail", "wait", "ok")
	fl.Var(&f.leaving, "leaving", "what becomes of the work of its resources when they leave with a later deploy, where they do not say it (default keep)")
	fl.BoolVar(&f.takeover, "take-over", false, "also where another deploy to the topic is under way, which it replaces")
	fl.StringVar(&f.expires, "expires", "30d", "how long hosts may take it for the first time, as 12h or 30d; never for always")
	f.signFlags(cmd, "a")
	cmd.AddCommand(newKeygen(a))
	return cmd
}

// signFlags adds the flags of the verbs that sign a deploy and lead it.
func (f *DeployFlags) signFlags(cmd *cobra.Command, trust string) {
	f.Signing.Flags(cmd, trust)
	cmd.Flags().Var(&f.patience, "patience", "how long a host may take before it counts as failed")
}

// run checks all before it writes anything.
// From the first write on, the store has the deploy, and another operator can go on with it.
func (f *DeployFlags) run(ctx context.Context, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	world, err := f.world(ctx)
	if err != nil {
		return err
	}
	s := deploy.Store{World: world}
	now := engine.SystemClock{}.Now()
	o := deploy.Order{Topic: f.topic, By: remote.Operator(), Time: now, Batch: f.batch, MaxFailed: f.failed, Takeover: f.takeover, BackTo: f.backTo, Leaving: engine.Leaving(f.leaving)}
	if after, _ := lifetime(f.expires); after > 0 {
		o.Expires = now.Add(after)
	}
	var key deploy.Key
	if f.backTo > 0 {
		key, err = f.old(ctx, world, &o)
	} else {
		err = f.bundle(ctx, world, &o, args)
	}
	if err != nil {
		return err
	}
	if f.backTo == 0 {
		// The key is read as late as possible: faults of the graph are told without one.
		if key, f.trusted, err = f.verifying(); err != nil {
			return err
		}
	}
	if f.Dry {
		if err := f.tellUnread(ctx, s, o.Content); err != nil {
			return remote.Explained(err)
		}
		return f.preview(ctx, s, o)
	}
	fleet, err := f.Founded(ctx, world, key, f.trusted, "")
	if err != nil {
		return err
	}
	o.Store = fleet.Store
	if err := f.tellUnread(ctx, s, o.Content); err != nil {
		return remote.Explained(err)
	}
	// A second operator who was faster makes Begin fail with deploy.ErrBusy.
	lead, err := s.Begin(ctx, key, o)
	if err != nil {
		return remote.Explained(err)
	}
	return f.lead(ctx, s, lead)
}

// acceptance is how long a deploy may be accepted for the first time, unless the operator says another time. It is long enough for a host
// that was off for a holiday, and short enough that a copy of an old deploy is of no use for long.
const acceptance = 30 * 24 * time.Hour

// lifetime reads how long a deploy may be accepted: a duration, whole days as 30d, or never, which is 0.
func lifetime(text string) (time.Duration, error) {
	if text == "never" || text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > 100*365*24*time.Hour {
		return 0, fmt.Errorf("--expires=%s: write a time as 12h or 30d, or never", text)
	}
	return d, nil
}

// check refuses flags that contradict each other.
// All of it is said at once.
func (f *DeployFlags) check(args []string) error {
	var errs []error
	if err := checkTopic(f.topic); err != nil {
		errs = append(errs, err)
	}
	if _, err := deploy.ParseBatch(f.batch); err != nil {
		errs = append(errs, fmt.Errorf("--batch: %w", err))
	}
	if f.failed < 1 {
		errs = append(errs, fmt.Errorf("--max-failed=%d: write how many hosts may fail before it stops, at least 1", f.failed))
	}
	switch {
	case f.backTo == 0 && len(args) == 0:
		errs = append(errs, errors.New("no graph is given: name its files, or an earlier deploy with --back-to"))
	case f.backTo < 0:
		errs = append(errs, fmt.Errorf("--back-to=%d: write the number of an earlier deploy, as mgmt deploys shows it", f.backTo))
	case f.backTo > 0 && len(args) > 0:
		errs = append(errs, errors.New("--back-to takes the files of an earlier deploy, so name no file"))
	}
	if _, err := lifetime(f.expires); err != nil {
		errs = append(errs, err)
	}
	if !slices.ContainsFunc(args, inputs.IsProgram) {
		errs = append(errs, f.input.ProgramOnly(f.App)...)
	}
	return errors.Join(errs...)
}

// checkTopic checks the form of a topic. Whether it has hosts is asked later.
// The forms are all, host:NAME and group:ROLE, as package hosts names topics.
func checkTopic(topic string) error {
	kind, name, _ := strings.Cut(topic, ":")
	switch {
	case topic == "":
		return errors.New("it is not said who takes it: write --to all, --to host:NAME or --to group:ROLE")
	case topic == hosts.All, (kind == "host" || kind == "group") && name != "":
		return nil
	}
	return fmt.Errorf("--to=%s is no topic: write all, host:NAME or group:ROLE", topic)
}

// world is the store that the deploys are in: that of the daemon, or with --world the store
// itself. The caller ends with closing, which closes the store.
// A daemon serves the store on its socket to root, to its own user and to the group of
// api_write_group.
func (f *DeployFlags) world(ctx context.Context) (engine.World, error) {
	if f.Store.Given() {
		w, err := f.Store.Open(ctx, f.App)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	return &store.Client{HTTP: f.Daemon.Client().Transport()}, nil
}

// Closing lets go of the store after a verb.
// The error of the verb counts more than an error of closing.
func (f *DeployFlags) Closing(err error) error { return cmp.Or(err, f.Store.Close()) }

// bundle reads the graphs with all that they include, and checks what the hosts will get.
// The check reads the bundle as a host decodes it, and no file, so a lack of a host is found here.
func (f *DeployFlags) bundle(ctx context.Context, w engine.World, o *deploy.Order, args []string) error {
	b, err := f.collect(ctx, args)
	if err != nil {
		return f.diagnose(err)
	}
	o.Graphs = b.Graphs
	// Encode bounds the files at deploy.MaxBundle, and refuses names that lead out of the bundle.
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return err
	}
	if b, err = deploy.Decode(o.Content); err != nil {
		return err
	}
	return f.validate(ctx, w, b)
}

// diagnose writes findings, each with its place.
// Another error passes as it is.
func (f *DeployFlags) diagnose(err error) error {
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		render.PrintDiagnostics(f.App.Err, f.App.Program(), ds)
		return cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	return err
}

// validate builds the graph of a bundle as a host does. Secrets are unknown here, and each host reads them with its own identity.
// Its expressions see the other hosts and the schedules of the store. Whether a backend can do it is for each host to say.
// The kinds are those of this program: a host with another version may still refuse the graph.
func (f *DeployFlags) validate(ctx context.Context, w engine.World, b *deploy.Bundle) error {
	o := f.bounds()
	view := daemon.View(ctx, w, o, gapi.Env{})
	defer view.Close()
	d, err := view.Load(b).Result()
	if err != nil {
		return f.diagnose(err)
	}
	if _, ds := gapi.Build(f.App.Kinds(), d); ds.Err() != nil {
		return f.diagnose(ds)
	}
	return nil
}

// bounds returns how the graphs of a bundle are read here: the hosts have identities for the secrets, and the operator may have none.
func (f *DeployFlags) bounds() yaml.Options {
	in := f.input
	in.Blind = true
	return in.Unchecked(f.App).Foreign()
}

// collect reads files by absolute paths, and names them below the folder that all of them share.
// A file outside of it would have no name on a host: an absolute path in an include is found by validate.
// The files of a folder are graphs, as they are for mgmt run.
func (f *DeployFlags) collect(ctx context.Context, args []string) (*deploy.Bundle, error) {
	read := map[string][]byte{}
	var graphs []string
	o := f.bounds()
	o.Source = f.App.Source()
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		if inputs.IsProgram(path) {
			name, text, err := f.made(ctx, arg, read)
			if err != nil {
				return nil, err
			}
			read[name] = text
			graphs = append(graphs, name)
			continue
		}
		first := true
		folder := false
		if info, err := f.App.Asking().Stat(context.Background(), path); err == nil {
			folder = info.IsDir()
		}
		_, err = yaml.Files(path, o, nil, func(name string, src []byte) {
			// The reader calls back with each file that it has opened, the named graph first.
			// A template or data next to the graphs of a folder is no graph.
			if first && !folder || folder && filepath.Dir(name) == path && yaml.IsGraphName(filepath.Base(name)) {
				graphs = append(graphs, name)
			}
			first = false
			read[name] = src
		})
		if err != nil {
			return nil, err
		}
	}
	b := &deploy.Bundle{}
	base := commonFolder(read)
	for name, src := range read {
		// The order of a map is random here. Encode sorts the files, so equal files have one digest.
		b.Files = append(b.Files, deploy.File{Name: under(base, name), Data: src})
	}
	for _, name := range graphs {
		if !slices.Contains(b.Graphs, under(base, name)) {
			b.Graphs = append(b.Graphs, under(base, name))
		}
	}
	return b, nil
}

// made runs a program, and returns its graph in YAML with a name next to the program. Its faults are told here, where the
// program is. A comment of each resource has its place in the program, relative to that, so that equal programs make equal
// deploys from any folder.
func (f *DeployFlags) made(ctx context.Context, path string, taken map[string][]byte) (name string, text []byte, err error) {
	in := f.input
	in.TS, in.Typed = path, true
	d, err := in.Declared(ctx, f.App)
	if err != nil {
		return "", nil, err
	}
	_, ds := gapi.Build(f.App.Kinds(), d)
	if ds.Err() != nil {
		return "", nil, ds
	}
	render.PrintDiagnostics(f.App.Err, f.App.Program(), ds)
	set, err := in.Options(f.App)
	if err != nil {
		return "", nil, err
	}
	bare := &readable{a: f.App}
	for _, v := range set.Vars {
		if n, _ := jsonnode.Parse(input.Value(v.Text), jsonnode.Options{Nowhere: true}); n != nil {
			bare.input(n)
		}
	}
	for i := range d.Resources {
		bare.resource(&d.Resources[i])
	}
	if ds := bare.found.All(); ds.Err() != nil {
		return "", nil, ds
	}
	if name, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	here := *d
	here.Resources = slices.Clone(d.Resources)
	for i := range here.Resources {
		at := &here.Resources[i].Pos
		if rel, err := filepath.Rel(filepath.Dir(path), at.File); err == nil {
			at.File = filepath.ToSlash(rel)
		}
	}
	for name += ".yaml"; taken[name] != nil; {
		name += "_.yaml"
	}
	var b bytes.Buffer
	err = yaml.Render(&b, &here, yaml.Rendering{Positions: true, Whole: true})
	return name, b.Bytes(), err
}

// under returns the name of a file in a bundle: its path below the base, with slashes on every
// system. The result never begins with a slash.
func under(base, path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, base), string(filepath.Separator)))
}

// commonFolder returns the folder that has all files.
// Names below it keep the relative paths by which the files include each other.
func commonFolder(files map[string][]byte) (base string) {
	for name := range files {
		dir := filepath.Dir(name)
		if base == "" {
			base = dir
		}
		for base != dir && !strings.HasPrefix(dir, strings.TrimSuffix(base, "/")+"/") && filepath.Dir(base) != base {
			base = filepath.Dir(base)
		}
	}
	return base
}

// old takes the content of an earlier deploy, and returns the key that signs it again.
// The graph is validated again, since the program of the operator may be newer than that deploy.
func (f *DeployFlags) old(ctx context.Context, w engine.World, o *deploy.Order) (deploy.Key, error) {
	key, m, b, err := f.earlier(ctx, deploy.Store{World: w}, f.topic, f.backTo)
	if err != nil {
		return key, err
	}
	o.Graphs, o.Leaving = b.Graphs, cmp.Or(o.Leaving, m.Leaving)
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return key, err
	}
	return key, f.validate(ctx, w, b)
}

// earlier reads the files of an earlier deploy, and the key that signs them again. Anyone who can write to the store
// can put a record there. So the operator signs only files that a trusted key has signed for this topic and number.
func (f *DeployFlags) earlier(ctx context.Context, s deploy.Store, topic string, number int64) (key deploy.Key, m deploy.Manifest, b *deploy.Bundle, err error) {
	key, f.trusted, err = f.verifying()
	if err != nil {
		return key, m, nil, err
	}
	record, err := s.Get(ctx, topic, number)
	if err != nil {
		return key, m, nil, remote.Explained(err)
	}
	// Read checks no signature. Only a dry run without any key goes on with its result.
	m, err = record.Read()
	if len(f.trusted) > 0 {
		m, err = record.Verify(f.trusted, topic, number)
	}
	// The key in the record is a claim of its writer, so it is shown in part and in quotes.
	if errors.Is(err, deploy.ErrUntrusted) {
		return key, m, nil, fmt.Errorf("deploy %d to %s is signed by the key %.20q, which is neither yours nor in a file of --trust: "+
			"if you know that key, name the file with its public half by --trust", number, topic, record.Key)
	}
	if err != nil {
		return key, m, nil, fmt.Errorf("deploy %d to %s is not signed again: %w", number, topic, err)
	}
	fleet, err := f.records(ctx, s)
	if err != nil {
		return key, m, nil, err
	}
	// Somebody may have copied a deploy of another store here.
	if fleet.Store != "" && m.Store != fleet.Store {
		return key, m, nil, fmt.Errorf("deploy %d to %s is not signed again: %w: %.60q; mgmt api migrate takes over the deploys of an older mgmt", number, topic, deploy.ErrStore, m.Store)
	}
	content, err := s.Content(ctx, m)
	if err != nil {
		return key, m, nil, remote.Explained(err)
	}
	b, err = deploy.Decode(content)
	return key, m, b, err
}

// verifying returns the key that signs, and the keys that may have signed records and an earlier deploy. A dry run signs nothing: without a key
// it goes on, and says that the signature is not checked.
func (f *DeployFlags) verifying() (key deploy.Key, list []deploy.Public, err error) {
	key, list, err = f.Keys()
	if !f.Dry || !errors.Is(err, remote.ErrNoKey) {
		// A key that is there and cannot be read is an error also for a dry run.
		return key, list, err
	}
	if list, err = f.Known(); err == nil && len(list) == 0 {
		fmt.Fprintln(f.App.Err, "no signature is checked, and the hosts of a group are not known: there is no key of yours, and no --trust")
	}
	return key, list, err
}

// preview says which hosts would take it.
// It needs neither a key nor the right to write.
// The batches are those of this moment; a deploy looks again before each batch.
func (f *DeployFlags) preview(ctx context.Context, s deploy.Store, o deploy.Order) error {
	members, err := f.members(ctx, s)
	if err != nil {
		return remote.Explained(err)
	}
	batch, err := deploy.ParseBatch(f.batch)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.App.Out, "would deploy %s (%d bytes, %s) to %s\n", render.Cell(strings.Join(o.Graphs, ", ")), len(o.Content), o.Digest, f.topic)
	members.tellClaims(f.App.Err, f.topic)
	if len(members.topic) == 0 {
		fmt.Fprintln(f.App.Out, noHosts(f.topic))
	}
	for i, list := 1, members.topic; len(list) > 0; i++ {
		// A share counts of all hosts of the topic, and not of the remaining ones.
		n := min(len(list), batch.Of(len(members.topic)))
		fmt.Fprintf(f.App.Out, "batch %d: %s\n", i, render.Cells(list[:n]))
		list = list[n:]
	}
	return nil
}

// noHosts says that a deploy has reached the store, and no host yet.
func noHosts(topic string) string {
	return "no host that is there takes deploys to " + topic + ": a host needs the public key in its setting trusted_keys, and the role by mgmt hosts allow; those that come later take it"
}

// members are the hosts of one look.
type members struct {
	live    []string // the hosts with a lease
	topic   []string // the live hosts of the topic, by the operator's records
	all     []string // the hosts of the topic, there or not
	claims  []string // live hosts that say that they have the topic, against these records
	reports []deploy.Report
	fleet   *deploy.Fleet // without records in a dry run without a key
}

// members looks at the hosts once.
// A host without a report takes no deploys: it trusts no key.
func (f *DeployFlags) members(ctx context.Context, s deploy.Store) (m members, err error) {
	world, err := f.world(ctx)
	if err != nil {
		return m, err
	}
	list, err := hosts.Members(ctx, world)
	if err != nil {
		return m, err
	}
	for _, h := range list {
		m.live = append(m.live, h.Name)
	}
	if m.reports, err = s.Reports(ctx); err != nil {
		return m, err
	}
	fleet, err := f.records(ctx, s)
	if err != nil {
		return m, err
	}
	m.fleet = fleet
	m.topic, m.all = fleet.Members(f.topic, m.live, m.reports), fleet.Expected(f.topic, m.reports)
	for _, r := range m.reports {
		if slices.Contains(m.live, r.Host) && slices.Contains(r.Topics, f.topic) && !slices.Contains(m.topic, r.Host) {
			m.claims = append(m.claims, r.Host)
		}
	}
	return m, nil
}

// records reads the records of the hosts. A dry run without a key reads none.
func (f *DeployFlags) records(ctx context.Context, s deploy.Store) (*deploy.Fleet, error) {
	if len(f.trusted) == 0 {
		return &deploy.Fleet{}, nil
	}
	return f.Fleet(ctx, s.World, f.trusted)
}

// tellClaims says which hosts take the topic for theirs, and get nothing of it.
func (m *members) tellClaims(w io.Writer, topic string) {
	if len(m.claims) > 0 {
		fmt.Fprintf(w, "no record of the operator gives %s to %s, as they say themselves: they are left out; mgmt hosts allow NAME --role ROLE, or once mgmt api migrate, writes such a record\n", render.Cell(topic), render.Cells(m.claims))
	}
}
