package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
)

// deployFlags are those of the verb deploy. A deploy goes to one topic, and is either made of a graph or is that of an earlier number.
type deployFlags struct {
	app    *cli.App
	store  sharedStore
	signer *signer
	bundle bundler
	leader leader
	topic  string
	// The zero value means all hosts at once.
	batch  string // as deploy.ParseBatch reads it
	failed int    // how many failed hosts stop it
	backTo int64  // the number of an earlier deploy; 0 for none
	// The operator before gets ErrTaken at the next step, and lets no further batch go.
	takeover bool // a deploy that is under way is replaced
	leaving  cli.Leaving
	expires  string // how long a host may accept it for the first time
}

// NewDeploy makes the verb deploy.
// It ends with 0 when the rollout is done, with 4 when it has stopped or hosts are missing, and with 1 for all else.
func NewDeploy(a *cli.App) *cobra.Command {
	f := &deployFlags{app: a, store: sharedStore{app: a}, bundle: bundler{app: a}, leader: newLeader(a)}
	f.signer = f.leader.signer
	cmd := &cobra.Command{
		Use:   "deploy FILE... --to TOPIC",
		Short: "Roll out a graph to the hosts of a topic",
		Long: `Deploy checks a graph, signs it, and puts it into the store. The hosts of the topic apply
it in batches; the next batch starts once the last one has converged. If --max-failed hosts
fail, deploy stops, and the other hosts keep what they have.

A topic is all, host:NAME, or group:ROLE; mgmt hosts allow sets the roles of a host. A host
accepts deploys that a key in its setting trusted_keys has signed for its store. Included
files are part of the deploy. A program (docs/typescript.md) runs here; the hosts get the
graph that it generates. After a deploy expires, no further host takes it; those that have
it keep it.

If deploy is interrupted, no further batch starts. The same command continues it, on any
machine. A second deploy to the topic is refused meanwhile, unless --take-over replaces the
first.

A host that is away while the others converge takes the deploy when it returns. With
--missing fail, the default, deploy lists such hosts, and those that took too long, and
exits with code 4; with wait, it first waits for them, at most --patience; with ok, it
lists them and exits with 0. To drop a host for good, use mgmt hosts remove.`,
		Example: `  mgmt deploy keygen
  mgmt deploy site.yaml --to all --dry-run
  mgmt deploy web.yaml --to group:web --batch 10% --max-failed 2
  mgmt deploy main.ts --to all --var sites=3
  mgmt deploy --to group:web --back-to 3`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.store.closing(f.run(cmd.Context(), args)) },
	}
	f.store.flags(cmd)
	f.bundle.input.ProgramFlags(cmd)
	f.bundle.policy.Flag(cmd)
	cli.TypesFlag(a, cmd)
	cli.GuardFlag(a, cmd) // a writer of root's graph gets root's key, and with it all hosts
	fl := cmd.Flags()
	fl.StringVar(&f.topic, "to", "", "`topic` to deploy to")
	fl.BoolVar(&f.signer.dry, "dry-run", false, "check everything, show which hosts would take the deploy, and write nothing")
	fl.StringVar(&f.batch, "batch", "", "hosts per batch: a `number`, or a share such as 10% (default all)")
	fl.IntVar(&f.failed, "max-failed", 1, "stop where so many hosts have failed")
	fl.Int64Var(&f.backTo, "back-to", 0, "deploy the files of this earlier `number` again, under a new number")
	cli.Choose(cmd, &f.leader.missing, "missing", "", "hosts that have not taken it at the end: name them, wait for them, or fail", "fail", "wait", "ok")
	fl.Var(&f.leaving, "leaving", "what becomes of the work of its resources when they leave with a later deploy, where they do not say it (default keep)")
	fl.BoolVar(&f.takeover, "take-over", false, "replace another deploy to the topic that is under way")
	fl.StringVar(&f.expires, "expires", "30d", "how long hosts may take it for the first time, as 12h or 30d; never for always")
	f.leader.flags(cmd)
	cmd.AddCommand(newKeygen(a))
	return cmd
}

// run checks all before it writes anything.
// From the first write on, the store has the deploy, and another operator can go on with it.
func (f *deployFlags) run(ctx context.Context, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	world, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	now := clock.System{}.Now()
	o := deploy.Order{Topic: f.topic, By: remote.Operator(), Time: now, Batch: f.batch, MaxFailed: f.failed, Takeover: f.takeover, BackTo: f.backTo, Leaving: engine.Leaving(f.leaving)}
	if after, _ := lifetime(f.expires); after > 0 {
		o.Expires = now.Add(after)
	}
	var key deploy.Key
	if f.backTo > 0 {
		key, err = f.old(ctx, world, &o)
	} else {
		err = f.bundle.fill(ctx, world, &o, args)
	}
	if err != nil {
		return err
	}
	if f.backTo == 0 {
		// The key is read as late as possible: faults of the graph are told without one.
		if key, err = f.signer.key(); err != nil {
			return err
		}
	}
	if f.signer.dry {
		if err := f.tellUnread(ctx, world, o.Content); err != nil {
			return remote.Explained(err)
		}
		return f.preview(ctx, world, o)
	}
	fleet, err := f.signer.signing.Founded(ctx, world, key, f.signer.trusted, "")
	if err != nil {
		return err
	}
	o.Store = fleet.Store
	if err := f.tellUnread(ctx, world, o.Content); err != nil {
		return remote.Explained(err)
	}
	// A second operator who was faster makes Begin fail with deploy.ErrBusy.
	lead, err := deploy.Store{World: world}.Begin(ctx, key, o)
	if err != nil {
		return remote.Explained(err)
	}
	f.leader.undoesLate = f.backTo > 0 && f.leaving == cli.Leaving(engine.LeavingUndo)
	return f.leader.lead(ctx, world, lead)
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
	}
	if _, err := lifetime(f.expires); err != nil {
		errs = append(errs, err)
	}
	if !slices.ContainsFunc(args, inputs.IsProgram) {
		errs = append(errs, f.bundle.input.ProgramOnly(f.app)...)
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

// old takes the content of an earlier deploy, and returns the key that signs it again.
// The graph is validated again, since the program of the operator may be newer than that deploy.
func (f *deployFlags) old(ctx context.Context, w world.World, o *deploy.Order) (deploy.Key, error) {
	key, m, b, err := f.signer.earlier(ctx, deploy.Store{World: w}, f.topic, f.backTo)
	if err != nil {
		return key, err
	}
	o.Graphs, o.Leaving = b.Graphs, cmp.Or(o.Leaving, m.Leaving)
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return key, err
	}
	return key, f.bundle.validate(ctx, w, b)
}

// preview says which hosts would take it.
// It needs neither a key nor the right to write.
// The batches are those of this moment; a deploy looks again before each batch.
func (f *deployFlags) preview(ctx context.Context, w world.World, o deploy.Order) error {
	members, err := f.signer.members(ctx, w, f.topic)
	if err != nil {
		return remote.Explained(err)
	}
	batch, err := deploy.ParseBatch(f.batch)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.app.Out, "would deploy %s (%d bytes, %s) to %s\n", render.Cell(strings.Join(o.Graphs, ", ")), len(o.Content), o.Digest, f.topic)
	members.tellClaims(f.app.Err, f.topic)
	if len(members.topic) == 0 {
		fmt.Fprintln(f.app.Out, noHosts(f.topic))
	}
	for i, list := 1, members.topic; len(list) > 0; i++ {
		// A share counts of all hosts of the topic, and not of the remaining ones.
		n := min(len(list), batch.Of(len(members.topic)))
		fmt.Fprintf(f.app.Out, "batch %d: %s\n", i, render.Cells(list[:n]))
		list = list[n:]
	}
	return nil
}

// mostUnread bounds how many hosts tellUnread names for a file.
const mostUnread = 10

// tellUnread says which hosts of the topic no value of a file of secrets is encrypted to. The deploy goes on, since a host may use no value of the file.
func (f *deployFlags) tellUnread(ctx context.Context, w world.World, content []byte) error {
	b, err := deploy.Decode(content)
	if err != nil {
		return err
	}
	vaults := vaultsOf(b)
	if len(vaults) == 0 {
		return nil
	}
	members, err := f.signer.members(ctx, w, f.topic)
	if err != nil {
		return err
	}
	for _, file := range b.Files {
		recipients, ok := vaults[file.Name]
		n := 0
		for _, r := range members.reports {
			own := cmp.Or(members.fleet.Hosts[r.Host].Sealed, members.fleet.Hosts[r.Host].Recipient)
			if !ok || !members.fleet.Has(r.Host, f.topic) || r.Sealed == "" || own != "" && slices.Contains(recipients, own) {
				continue
			}
			if n++; n > mostUnread {
				continue
			}
			if own != "" {
				fmt.Fprintf(f.app.Err, "%s can read no value of %s: if it needs one, add its recipient to the list and encrypt the file again by mgmt secret rekey: %s\n", render.Cell(r.Host), render.Cell(file.Name), render.Cell(own))
			} else if !slices.Contains(recipients, r.Sealed) {
				fmt.Fprintf(f.app.Err, "%s can read no value of %s: if it needs one, admit it by mgmt hosts admit, which gives its key to the file\n", render.Cell(r.Host), render.Cell(file.Name))
			}
		}
		if n > mostUnread {
			fmt.Fprintf(f.app.Err, "%s can read no value of %s, too\n", render.Plural(n-mostUnread, "further host"), render.Cell(file.Name))
		}
	}
	return nil
}
