package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// deployFlags are the flags of deploy. Other verbs about deploys use some of them. A deploy goes to one topic, and is either made of a graph or
// is that of an earlier number. A store is opened at the first question, and closed at the end of the verb.
type deployFlags struct {
	remote
	app   *app
	store direct
	// The verb adds no flags of an input: the bounds are the defaults, and no variable is set.
	input input

	topic string
	dry   bool
	// The zero value means all hosts at once.
	batch  string // as deploy.ParseBatch reads it
	failed int    // how many failed hosts stop it
	backTo int64  // the number of an earlier deploy; 0 for none
	// The operator before gets ErrTaken at the next step, and lets no further batch go.
	takeover bool     // a deploy that is under way is replaced
	sign     string   // the file with the key; empty for the default
	trust    []string // files with further public keys, for the signature of an earlier deploy
	patience seconds  // how long one host may take
}

// newDeploy makes the verb deploy.
// It ends with 0 when the rollout is done, with 4 when it has stopped, and with 1 for all else.
func newDeploy(a *app) *cobra.Command {
	f := &deployFlags{app: a, patience: seconds(10 * time.Minute)}
	cmd := &cobra.Command{
		Use:   "deploy FILE... --to TOPIC",
		Short: "Give a graph to all hosts of a topic",
		Long: `Deploy checks a graph, signs it, and puts it into the store. The hosts of the topic take
it over, batch by batch: the next batch goes when the last one has converged. Where
--max-failed hosts have failed, it stops, and the other hosts keep what they have.

A topic is all, host:NAME, or group:ROLE. A host takes deploys that a key of its setting
trusted_keys has signed. All that the graph includes goes with it.

When deploy is interrupted, no further batch goes. The same command goes on with it, also on
another machine. While one deploy to a topic is under way, another one is refused;
--take-over replaces it.`,
		Example: `  mgmt deploy keygen
  mgmt deploy site.yaml --to all --dry-run
  mgmt deploy web.yaml --to group:web --batch 10% --max-failed 2
  mgmt deploy --to group:web --back-to 3`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.closing(f.run(cmd.Context(), args)) },
	}
	f.reach(cmd)
	f.store.flags(cmd)
	a.typesFlag(cmd)
	a.guardFlag(cmd) // a writer of root's graph gets root's key, and with it all hosts
	fl := cmd.Flags()
	fl.StringVar(&f.topic, "to", "", "the `topic` whose hosts take it")
	fl.BoolVar(&f.dry, "dry-run", false, "check all, say which hosts would take it, and write nothing")
	fl.StringVar(&f.batch, "batch", "", "how many hosts take it at once: a `number`, or a share as 10% (default all)")
	fl.IntVar(&f.failed, "max-failed", 1, "stop where so many hosts have failed")
	fl.Int64Var(&f.backTo, "back-to", 0, "deploy the files of this earlier `number` again, under a new one")
	fl.BoolVar(&f.takeover, "take-over", false, "also where another deploy to the topic is under way, which it replaces")
	f.signFlags(cmd, "with --back-to, the")
	cmd.AddCommand(newKeygen(a))
	return cmd
}

// signFlags adds the flags of the verbs that sign a deploy and lead it.
func (f *deployFlags) signFlags(cmd *cobra.Command, trust string) {
	fl := cmd.Flags()
	fl.StringVar(&f.sign, "sign", "", "the `file` with the key that signs it (default deploy.key in the folder mgmt of your configuration)")
	fl.StringArrayVar(&f.trust, "trust", nil, trust+" `file` with a public key that may have signed the earlier deploy, besides your own; repeatable")
	fl.Var(&f.patience, "patience", "how long a host may take before it counts as failed")
}

// run checks all before it writes anything.
// From the first write on, the store has the deploy, and another operator can go on with it.
func (f *deployFlags) run(ctx context.Context, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	world, err := f.world(ctx)
	if err != nil {
		return err
	}
	s := deploy.Store{World: world}
	o := deploy.Order{Topic: f.topic, By: operator(), Time: engine.SystemClock{}.Now(), Batch: f.batch, MaxFailed: f.failed, Takeover: f.takeover, BackTo: f.backTo}
	var key deploy.Key
	if f.backTo > 0 {
		key, err = f.old(ctx, world, &o)
	} else {
		err = f.bundle(ctx, world, &o, args)
	}
	if err != nil {
		return err
	}
	if err := f.tellUnread(ctx, s, o.Content); err != nil {
		return explained(err)
	}
	if f.dry {
		return f.preview(ctx, s, o)
	}
	if f.backTo == 0 {
		// The key is read as late as possible: a dry run of a new graph needs none.
		if key, err = f.key(); err != nil {
			return err
		}
	}
	// Begin is the first write. A second operator who was faster makes it fail with deploy.ErrBusy.
	lead, err := s.Begin(ctx, key, o)
	if err != nil {
		return explained(err)
	}
	return f.lead(ctx, s, lead)
}

// check refuses flags that contradict each other.
// All of it is said at once.
func (f *deployFlags) check(args []string) error {
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
	case f.backTo == 0 && len(f.trust) > 0:
		errs = append(errs, errors.New("--trust is for the signature of an earlier deploy: name that with --back-to"))
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
func (f *deployFlags) world(ctx context.Context) (engine.World, error) {
	if f.store.given() {
		w, err := f.store.open(ctx, f.app)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	return &store.Client{HTTP: f.remote.client().Transport()}, nil
}

// closing lets go of the store after a verb.
// The error of the verb counts more than an error of closing.
func (f *deployFlags) closing(err error) error { return cmp.Or(err, f.store.close()) }

// operator says who deploys, for the history.
// It proves nothing: the key does.
func operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + cmp.Or(hostname(), "unknown")
}

// errNoKey tells that the default key is missing.
var errNoKey = errors.New("make one with mgmt deploy keygen, or name its file with --sign")

// key reads the key that signs.
// Only its owner may read the file; ReadKey refuses another mode.
func (f *deployFlags) key() (deploy.Key, error) {
	path, err := f.sign, error(nil)
	if path == "" {
		if path, err = defaultKey(); err != nil {
			return deploy.Key{}, err
		}
		if _, err := os.Stat(path); err != nil {
			return deploy.Key{}, fmt.Errorf("there is no key %s to sign with: %w", path, errNoKey)
		}
	}
	return deploy.ReadKey(path)
}

// bundle reads the graphs with all that they include, and checks what the hosts will get.
// The check reads the bundle as a host decodes it, and no file, so a lack of a host is found here.
func (f *deployFlags) bundle(ctx context.Context, w engine.World, o *deploy.Order, args []string) error {
	b, err := f.collect(args)
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
func (f *deployFlags) diagnose(err error) error {
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		printDiagnostics(f.app.err, f.app.program(), ds)
		return withCode(exitUsage, errors.New(ds.Summary()))
	}
	return err
}

// validate builds the graph of a bundle as a host does. Secrets are unknown here, and each host reads them with its own identity.
// Its expressions see the other hosts and the schedules of the store. Whether a backend can do it is for each host to say.
// The kinds are those of this program: a host with another version may still refuse the graph.
func (f *deployFlags) validate(ctx context.Context, w engine.World, b *deploy.Bundle) error {
	o := f.input.limits(f.app)
	o.Blind = true // the hosts have identities for the secrets, and the operator may have none
	view := openView(ctx, w, o, gapi.Env{})
	defer view.Close()
	d, err := view.Load(b).Result()
	if err != nil {
		return f.diagnose(err)
	}
	if _, ds := gapi.Build(f.app.kinds(), d); ds.Err() != nil {
		return f.diagnose(ds)
	}
	return nil
}

// collect reads files by absolute paths, and names them below the folder that all of them share.
// A file outside of it would have no name on a host: an absolute path in an include is found by validate.
// The files of a folder are graphs, as they are for mgmt run.
func (f *deployFlags) collect(args []string) (*deploy.Bundle, error) {
	read := map[string][]byte{}
	var graphs []string
	o := f.input.limits(f.app)
	o.Source, o.Blind = f.app.source(), true
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		first := true
		folder := false
		if info, err := os.Stat(path); err == nil {
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
func (f *deployFlags) old(ctx context.Context, w engine.World, o *deploy.Order) (deploy.Key, error) {
	key, b, err := f.earlier(ctx, deploy.Store{World: w}, f.topic, f.backTo)
	if err != nil {
		return key, err
	}
	o.Graphs = b.Graphs
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return key, err
	}
	return key, f.validate(ctx, w, b)
}

// earlier reads the files of an earlier deploy, and the key that signs them again. Anyone who can write to the store
// can put a record there. So the operator signs only files that a trusted key has signed for this topic and number.
func (f *deployFlags) earlier(ctx context.Context, s deploy.Store, topic string, number int64) (key deploy.Key, b *deploy.Bundle, err error) {
	key, trusted, err := f.trusted()
	if err != nil {
		return key, nil, err
	}
	record, err := s.Get(ctx, topic, number)
	if err != nil {
		return key, nil, explained(err)
	}
	// Read checks no signature. Only a dry run without any key goes on with its result.
	m, err := record.Read()
	if len(trusted) > 0 {
		m, err = record.Verify(trusted, topic, number)
	}
	// The key in the record is a claim of its writer, so it is shown in part and in quotes.
	if errors.Is(err, deploy.ErrUntrusted) {
		return key, nil, fmt.Errorf("deploy %d to %s is signed by the key %.20q, which is neither yours nor in a file of --trust: "+
			"if you know that key, name the file with its public half by --trust", number, topic, record.Key)
	}
	if err != nil {
		return key, nil, fmt.Errorf("deploy %d to %s is not signed again: %w", number, topic, err)
	}
	content, err := s.Content(ctx, m)
	if err != nil {
		return key, nil, explained(err)
	}
	b, err = deploy.Decode(content)
	return key, b, err
}

// trusted returns the key that signs, and the keys that may have signed an earlier deploy. A dry run signs nothing: without a key
// it goes on, and says that the signature is not checked.
func (f *deployFlags) trusted() (key deploy.Key, list []deploy.Public, err error) {
	if list, err = keysOf("--trust", f.app.source(), f.trust); err != nil {
		return key, nil, err
	}
	key, err = f.key()
	switch {
	case err == nil:
		return key, append(list, key.Public()), nil
	// A key that is there and cannot be read is an error also for a dry run.
	case !f.dry || !errors.Is(err, errNoKey):
		return key, nil, err
	case len(list) == 0:
		fmt.Fprintln(f.app.err, "the signature is not checked: there is no key of yours, and no --trust")
	}
	return key, list, nil
}

// preview says which hosts would take it.
// It needs neither a key nor the right to write.
// The batches are those of this moment; a deploy looks again before each batch.
func (f *deployFlags) preview(ctx context.Context, s deploy.Store, o deploy.Order) error {
	members, err := f.members(ctx, s)
	if err != nil {
		return explained(err)
	}
	batch, err := deploy.ParseBatch(f.batch)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.app.out, "would deploy %s (%d bytes, %s) to %s\n", cell(strings.Join(o.Graphs, ", ")), len(o.Content), o.Digest, f.topic)
	if len(members.topic) == 0 {
		fmt.Fprintln(f.app.out, noHosts(f.topic))
	}
	for i, list := 1, members.topic; len(list) > 0; i++ {
		// A share counts of all hosts of the topic, and not of the remaining ones.
		n := min(len(list), batch.Of(len(members.topic)))
		fmt.Fprintf(f.app.out, "batch %d: %s\n", i, cells(list[:n]))
		list = list[n:]
	}
	return nil
}

// noHosts says that a deploy has reached the store, and no host yet.
func noHosts(topic string) string {
	return "no host that is there takes deploys to " + topic + ": a host needs the public key in its setting trusted_keys, and the topic; those that come later take it"
}

// members are the hosts of one look.
type members struct {
	live    []string // the hosts with a lease
	topic   []string // the live hosts of the topic
	reports []deploy.Report
}

// members looks at the hosts once.
// A host without a report takes no deploys: it trusts no key.
func (f *deployFlags) members(ctx context.Context, s deploy.Store) (m members, err error) {
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
	m.reports, err = s.Reports(ctx)
	for _, r := range m.reports {
		if slices.Contains(m.live, r.Host) && slices.Contains(r.Topics, f.topic) {
			m.topic = append(m.topic, r.Host)
		}
	}
	return m, err
}
