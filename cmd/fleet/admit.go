package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/vault"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// admitFlags are those of the verb hosts admit. Deploys are signed and led as deploy does it.
//
// Law: a file of a deploy is decrypted only after its signature was checked. A user of the store could else put a copy of a cipher text
// into a file with a recipient of their own. The operator would then decrypt it for them.
type admitFlags struct {
	app      *cli.App
	store    sharedStore
	signer   *signer
	leader   leader
	identity string
	// unseal decrypts one text by the identity. A text that is not encrypted comes back as it is.
	unseal func(string) (string, error)
	faults []error // of secrets that stay as they are
	yes    bool    // the operator has compared the recipients
}

// newHostsAdmit makes the verb that gives the secrets of a store to new hosts.
// The daemons cannot do that: a host may not write objects, and no host has the key that signs deploys.
func newHostsAdmit(a *cli.App) *cobra.Command {
	f := &admitFlags{app: a, store: sharedStore{app: a}, leader: newLeader(a)}
	f.signer = f.leader.signer
	cmd := &cobra.Command{
		Use: "admit NAME...", Short: "Admit new hosts as readers of secrets", Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Admit signs the keys of hosts into their records, so that secrets are encrypted to these
keys and not to any other key in the store. It shows each new or changed key and asks:
compare the key with the one in the log of mgmt on that host. --yes skips the question, for
programs that have compared the keys. Before admit, start mgmt once on the new host, which
publishes its key, and set its roles with mgmt hosts allow.

Admit then re-encrypts secrets in a store in etcd, so that the hosts can read them: those
of objects to all hosts that read the topic now, and those of deploys in effect to their
recipients and the new hosts. Such a deploy is signed again with a new number, and goes to
all hosts of its topic.

--identity decrypts the secrets: the identity of a person among the recipients, or of an
older host of the topic (age.key in its state folder). Secrets that it cannot decrypt stay
as they are, and admit lists them. Admit may be repeated.`,
		Example: `  mgmt hosts admit web3 --identity /var/lib/mgmt/age.key --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.store.closing(f.admit(cmd.Context(), args))
		},
	}
	f.store.direct.Flags(cmd)
	f.store.direct.ModelsFlag(cmd)
	// Only the operator's own access to the store may read and write all objects.
	_ = cmd.MarkFlagRequired("world")
	cli.GuardFlag(a, cmd)
	cli.Bind(cmd, "identity", (*cli.Place)(&f.identity))
	cmd.Flags().BoolVar(&f.signer.dry, "dry-run", false, "show what would be re-encrypted, and write nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "accept the keys that the hosts have published, without asking")
	f.leader.flags(cmd)
	return cmd
}

// admit gives the hosts the secrets of objects, and then those of deploys, since these wait for the hosts.
// A fault of one object or topic stops no other object or topic: all faults are told in the end.
func (f *admitFlags) admit(ctx context.Context, names []string) error {
	f.unseal = func(text string) (string, error) {
		clear, err := vault.IdentityOf(f.identity)(text)
		// The words of the package are about a host. Here a person has named the identity.
		if errors.Is(err, seal.ErrNotForUs) {
			err = errors.New("this identity does not read it")
		}
		return clear, err
	}
	w, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	var key deploy.Key
	if key, f.signer.trusted, err = f.signer.signing.Keys(); err != nil {
		return err
	}
	fleet, err := f.sign(ctx, w, key, names)
	if err != nil {
		return remote.Explained(err)
	}
	var topics []string
	for _, name := range names {
		topics = append(topics, hosts.Topics(name, fleet.Hosts[name].Roles)...)
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	// Objects come first: they need no signature and no waiting, so an interruption loses little.
	if err := f.objects(ctx, w, topics); err != nil {
		return remote.Explained(err)
	}
	if err := f.deploys(ctx, w, fleet, names); err != nil {
		return remote.Explained(err)
	}
	if len(f.faults) == 0 {
		return nil
	}
	return errors.Join(append(f.faults, errors.New("these secrets stay as they are: admit the host again, with an identity that reads them"))...)
}

// sign writes the keys of the hosts into their records, after the operator has seen each new one. It returns the records as they are then, and in a dry
// run as they would be.
func (f *admitFlags) sign(ctx context.Context, w world.World, key deploy.Key, names []string) (*deploy.Fleet, error) {
	fleet, err := f.signer.records(ctx, w)
	if err != nil {
		return nil, err
	}
	claims, err := claimsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	var changed []deploy.HostRecord
	var errs []error
	for _, name := range names {
		h, known := fleet.Hosts[name]
		c := claims[name]
		switch {
		case c.Recipient == "":
			errs = append(errs, fmt.Errorf("the host %s has published no key: start mgmt there once with this store", render.Cell(name)))
			continue
		case !known:
			why := ""
			if err := fleet.Faulty[name]; err != nil {
				why = ": " + err.Error()
			}
			errs = append(errs, fmt.Errorf("no record of yours says what the host %s is for%s: run mgmt hosts allow %s with its roles, or once mgmt api migrate", render.Cell(name), why, render.Cell(name)))
			continue
		}
		if h.Recipient == c.Recipient && h.Sealed == c.Sealed {
			continue
		}
		f.show(h, c)
		h.Recipient, h.Sealed = c.Recipient, c.Sealed
		changed = append(changed, h)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if f.signer.dry {
		for _, h := range changed {
			fleet.Hosts[h.Host] = h
		}
		return fleet, nil
	}
	if len(changed) > 0 {
		if err := cli.Confirm(f.app, f.yes, "Are these the keys of these hosts?"); err != nil {
			return nil, err
		}
	}
	for _, h := range changed {
		h.By, h.Time = remote.Operator(), clock.System{}.Now()
		if err := (deploy.Store{World: w}).SetHost(ctx, key, fleet, h); err != nil {
			return nil, fmt.Errorf("the host %s is not admitted: %w", render.Cell(h.Host), err)
		}
	}
	return fleet, nil
}

// show says which key of a host is new.
func (f *admitFlags) show(h deploy.HostRecord, c claim) {
	for _, r := range []struct{ what, was, now string }{{"secrets", h.Recipient, c.Recipient}, {"secrets of deploys", h.Sealed, c.Sealed}} {
		switch {
		case r.was == r.now:
		case r.now == "":
			fmt.Fprintf(f.app.Err, "%s: %s are no longer encrypted to a key of their own, %s\n", render.Cell(h.Host), r.what, render.Cell(r.was))
		case r.was == "":
			fmt.Fprintf(f.app.Err, "%s: %s are to be encrypted to %s\n", render.Cell(h.Host), r.what, render.Cell(r.now))
		default:
			fmt.Fprintf(f.app.Err, "%s: %s are to be encrypted to %s, and no longer to %s\n", render.Cell(h.Host), r.what, render.Cell(r.now), render.Cell(r.was))
		}
	}
}

// claim is what a host says of itself.
type claim struct {
	Recipient string   // for the secrets of objects
	Sealed    string   // for the files of deploys, where it is another one
	Topics    []string // that it takes for its own
}

// roles returns the roles of the groups that it names, sorted.
func (c *claim) roles() (roles []string) {
	for _, topic := range c.Topics {
		if role, group := strings.CutPrefix(topic, "group:"); group {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// claimsOf reads what the hosts say of themselves.
func claimsOf(ctx context.Context, w world.World) (map[string]claim, error) {
	all, err := seal.Hosts(ctx, w)
	if err != nil {
		return nil, err
	}
	claims := map[string]claim{}
	for _, r := range all {
		claims[r.Host] = claim{Recipient: r.Recipient, Topics: r.Topics}
	}
	reports, err := deploy.Store{World: w}.Reports(ctx)
	for _, r := range reports {
		c := claims[r.Host]
		if c.Topics = append(slices.Clone(c.Topics), r.Topics...); r.Sealed != c.Recipient {
			c.Sealed = r.Sealed
		}
		claims[r.Host] = c
	}
	return claims, err
}

// objects encrypts the secrets of objects again. It blocks as the store does, and writes each object by a transaction of its own.
// An interrupted call has done a part, and the next call does the rest.
func (f *admitFlags) objects(ctx context.Context, w world.World, topics []string) error {
	if err := f.app.LoadModels(f.store.direct.Models).Err(); err != nil {
		return err
	}
	nb := daemon.Objects(w, f.app.Tables(), daemon.ObjectOptions{Host: cli.Hostname(), Secrets: &trust.Secrets{World: w, Readers: f.readers(w)}, Log: slog.New(slog.DiscardHandler)})
	n, err := nb.Reseal(ctx, topics, f.unseal, f.signer.dry)
	// These end the verb. All other errors are about single objects, and the rest was done.
	if errors.Is(err, world.ErrUnavailable) || errors.Is(err, world.ErrCompacted) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		f.faults = append(f.faults, err)
	}
	verb := "encrypted"
	if f.signer.dry {
		verb = "would encrypt"
	}
	_, err = fmt.Fprintf(f.app.Out, "%s again, for the hosts that read them now: the secrets of %s\n", verb, render.Plural(n, "object"))
	return err
}

// readers returns a function that reads the recipients of a topic, as the operator has signed them.
func (f *admitFlags) readers(w world.World) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, topic string) ([]string, error) {
		fleet, err := f.signer.records(ctx, w)
		if err != nil {
			return nil, err
		}
		return fleet.Readers(topic), nil
	}
}

// deploys encrypts the files of the deploys in effect again, topic by topic. A host without a report takes no deploys, and needs none of their
// secrets. It blocks until the hosts of each changed topic have converged.
func (f *admitFlags) deploys(ctx context.Context, w world.World, fleet *deploy.Fleet, names []string) error {
	reports, err := deploy.Store{World: w}.Reports(ctx)
	if err != nil {
		return err
	}
	recipients := map[string][]string{} // of the new hosts, by topic
	var topics []string
	for _, r := range reports {
		h := fleet.Hosts[r.Host]
		// A host that takes no deploys needs none of their secrets.
		if !slices.Contains(names, r.Host) || r.Sealed == "" {
			continue
		}
		for _, topic := range hosts.Topics(r.Host, h.Roles) {
			topics = append(topics, topic)
			recipients[topic] = append(recipients[topic], cmp.Or(h.Sealed, h.Recipient))
		}
	}
	slices.Sort(topics)
	for _, topic := range slices.Compact(topics) {
		if err := f.again(ctx, w, topic, recipients[topic]); err != nil {
			return err
		}
	}
	return nil
}

// again deploys the files of a topic anew, with its secrets for more recipients. A deploy that is not done is left to its operator.
// A change is signed by the operator's key, as a new deploy.
func (f *admitFlags) again(ctx context.Context, w world.World, topic string, more []string) error {
	s := deploy.Store{World: w}
	r, err := s.Rollout(ctx, topic)
	// Number 0 is a topic without any deploy.
	if err != nil || r.Number == 0 || !lacks(ctx, s, topic, r.Number, more) {
		return err
	}
	key, m, b, err := f.signer.earlier(ctx, s, topic, r.Number)
	if err != nil {
		f.faults = append(f.faults, err)
		return nil
	}
	files, err := f.rekeyed(b, more)
	what := fmt.Sprintf("deploy %d to %s", r.Number, render.Cell(topic))
	switch {
	case err != nil:
		f.faults = append(f.faults, fmt.Errorf("%s: %w", what, err))
		return nil
	case len(files) == 0:
		return nil
	case r.State != deploy.Done:
		f.faults = append(f.faults, fmt.Errorf("%s is %s, and stays as it is: end it first", what, r.State))
		return nil
	case f.signer.dry:
		_, err := fmt.Fprintf(f.app.Out, "would sign %s again, with new texts of %s\n", what, render.Cells(files))
		return err
	}
	fleet, err := f.signer.records(ctx, w)
	if err != nil {
		return err
	}
	now := clock.System{}.Now()
	o := deploy.Order{Store: fleet.Store, Topic: topic, Graphs: b.Graphs, By: remote.Operator(), Time: now, Expires: now.Add(acceptance), MaxFailed: 1, Leaving: m.Leaving}
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return err
	}
	lead, err := s.Begin(ctx, key, o)
	if err != nil {
		return err
	}
	return f.leader.lead(ctx, w, lead)
}

// lacks reports whether a deploy has a file of secrets that lacks one of the recipients. It checks no signature and decrypts nothing. So
// the deploy of another operator needs no trust where it needs no change. An unreadable deploy counts as lacking: the caller then tells the reason.
func lacks(ctx context.Context, s deploy.Store, topic string, number int64, more []string) bool {
	record, err := s.Get(ctx, topic, number)
	if err != nil {
		return true
	}
	m, err := record.Read()
	if err != nil {
		return true
	}
	content, err := s.Content(ctx, m)
	if err != nil {
		return true
	}
	b, err := deploy.Decode(content)
	if err != nil {
		return true
	}
	for _, recipients := range vaultsOf(b) {
		if len(missing(more, recipients)) > 0 {
			return true
		}
	}
	return false
}

// missing returns the recipients that a list lacks. The slice is a new one.
// The order is that of the first list.
func missing(more, list []string) []string {
	return slices.DeleteFunc(slices.Clone(more), func(r string) bool { return slices.Contains(list, r) })
}

// rekeyed encrypts the files of a bundle that lack one of the recipients, and returns their names. With an error no file is altered.
// Texts in the clear stay as they are: an operator who has put one there sees it in the sources. A deploy that
// differs from its sources in more than the recipients would be a surprise.
func (f *admitFlags) rekeyed(b *deploy.Bundle, more []string) (names []string, err error) {
	texts := map[string][]byte{}
	var errs []error
	for name, recipients := range vaultsOf(b) {
		lacking := missing(more, recipients)
		if len(lacking) == 0 {
			continue
		}
		text, err := yaml.AppendTexts(b.Map()[name], vault.RecipientsKey, lacking...)
		if err == nil {
			text, err = yaml.MapTexts(text, func(_ []string, text string) (string, error) {
				clear, err := f.unseal(text)
				if err != nil || !seal.Is(text) {
					return text, err
				}
				// The old recipients stay: a person among them reads the file on as before.
				return seal.Seal(append(lacking, recipients...), clear)
			})
		}
		texts[name], names = text, append(names, name)
		errs = append(errs, vault.InFile(name, err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// The bundle is altered at the end, and only where each of its files could be.
	for i := range b.Files {
		if text, ok := texts[b.Files[i].Name]; ok {
			b.Files[i].Data = text
		}
	}
	slices.Sort(names)
	return names, nil
}

// vaultsOf returns the recipients of the files of secrets in a bundle, by their names. A file whose values are encrypted, and that does
// not say to whom, is none: its operator encrypts it again.
// It decrypts nothing.
func vaultsOf(b *deploy.Bundle) map[string][]string {
	vaults := map[string][]string{}
	for _, file := range b.Files {
		// It is the beginning of each encrypted value. The check spares the parsing of all other
		// files.
		if !bytes.Contains(file.Data, []byte("ENC[age,")) {
			continue
		}
		if list, err := vault.RecipientsOf(file.Name, file.Data); err == nil && len(list) > 0 {
			vaults[file.Name] = list
		}
	}
	return vaults
}
