package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
)

// signer has the keys of an operator who deploys, and reads what they have signed: the records of the hosts, and earlier deploys.
type signer struct {
	signing remote.Signing
	dry     bool            // nothing is signed, so there may be no key
	trusted []deploy.Public // whose signatures count; none in a dry run without a key
}

// earlier reads the files of an earlier deploy, and the key that signs them again. Anyone who can write to the store
// can put a record there. So the operator signs only files that a trusted key has signed for this topic and number.
func (f *signer) earlier(ctx context.Context, s deploy.Store, topic string, number int64) (key deploy.Key, m deploy.Manifest, b *deploy.Bundle, err error) {
	key, err = f.key()
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
	fleet, err := f.records(ctx, s.World)
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

// key returns the key that signs, and notes the keys that may have signed records and an earlier deploy. A dry run signs nothing: without a key
// it goes on, and says that the signature is not checked.
func (f *signer) key() (key deploy.Key, err error) {
	key, f.trusted, err = f.signing.Keys()
	if !f.dry || !errors.Is(err, remote.ErrNoKey) {
		// A key that is there and cannot be read is an error also for a dry run.
		return key, err
	}
	if f.trusted, err = f.signing.Known(); err == nil && len(f.trusted) == 0 {
		fmt.Fprintln(f.signing.App.Err, "no signature is checked, and the hosts of a group are not known: there is no key of yours, and no --trust")
	}
	return key, err
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

// members looks at the hosts of a topic once.
// A host without a report takes no deploys: it trusts no key.
func (f *signer) members(ctx context.Context, w world.World, topic string) (m members, err error) {
	list, err := hosts.Members(ctx, w)
	if err != nil {
		return m, err
	}
	for _, h := range list {
		m.live = append(m.live, h.Name)
	}
	if m.reports, err = (deploy.Store{World: w}).Reports(ctx); err != nil {
		return m, err
	}
	fleet, err := f.records(ctx, w)
	if err != nil {
		return m, err
	}
	m.fleet = fleet
	m.topic, m.all = fleet.Members(topic, m.live, m.reports), fleet.Expected(topic, m.reports)
	for _, r := range m.reports {
		if slices.Contains(m.live, r.Host) && slices.Contains(r.Topics, topic) && !slices.Contains(m.topic, r.Host) {
			m.claims = append(m.claims, r.Host)
		}
	}
	return m, nil
}

// records reads the records of the hosts. A dry run without a key reads none.
func (f *signer) records(ctx context.Context, w deploy.World) (*deploy.Fleet, error) {
	if len(f.trusted) == 0 {
		return &deploy.Fleet{}, nil
	}
	return f.signing.Fleet(ctx, w, f.trusted)
}

// tellClaims says which hosts take the topic for theirs, and get nothing of it.
func (m *members) tellClaims(w io.Writer, topic string) {
	if len(m.claims) > 0 {
		fmt.Fprintf(w, "no record of the operator gives %s to %s, as they say themselves: they are left out; mgmt hosts allow NAME --role ROLE, or once mgmt api migrate, writes such a record\n", render.Cell(topic), render.Cells(m.claims))
	}
}

// noHosts says that a deploy has reached the store, and no host yet.
func noHosts(topic string) string {
	return "no host that is there takes deploys to " + topic + ": a host needs the public key in its setting trusted_keys, and the role by mgmt hosts allow; those that come later take it"
}
