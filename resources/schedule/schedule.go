package schedule

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/traits"
)

func init() { engine.RegisterResource("schedule", func() engine.Res { return (&Res{}).Default() }) }

var (
	_ engine.Res            = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.CollectableRes = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Res chooses some of the live hosts for a task.
type Res struct {
	traits.Base
	traits.Recvable
	traits.Sendable
	traits.Overlapping
	traits.Collectable

	init  *engine.Init
	own   *office // where nothing is shared; else nil
	place *hosts.Place
	stand func() // starts the lease of the office
	seen  *atomic.Pointer[hosts.Choice]
	told  hosts.Rule // the rule of another host that was warned of last

	Schedule string `yaml:"schedule" lang:"schedule" mgmt:"identity" doc:"The name of the schedule, the same on all hosts; the name of the resource if absent."`
	Topic    string `yaml:"topic" lang:"topic" mgmt:"identity" doc:"The hosts that share it: all, group:ROLE or host:NAME; all if absent."`
	Strategy string `yaml:"strategy" lang:"strategy" mgmt:"enum=sticky|hash|alpha|rr,lend" doc:"Which hosts are chosen."`
	Count    int    `yaml:"count" lang:"count" mgmt:"lend" doc:"How many hosts are chosen; all of them where there are fewer."`
	Withdraw bool   `yaml:"withdraw" lang:"withdraw" mgmt:"lend" doc:"This host is no candidate: it only looks who is chosen."`
}

// Sends are the values that a schedule sends.
type Sends struct {
	Hosts []string `yaml:"hosts" lang:"hosts" doc:"The chosen hosts, sorted by name."`
	Text  string   `yaml:"text" lang:"text" doc:"The same as a text, one host a line."`
	Mine  bool     `yaml:"mine" lang:"mine" doc:"Whether this host is one of them. It is false while the store does not prove that."`

	proof world.Proof // of Mine
}

var _ world.Proved = (*Sends)(nil)

// SentProof names the lease without which this host is not chosen. Who is chosen needs none: that stays as it was last.
func (s *Sends) SentProof(key string) (world.Proof, bool) { return s.proof, s.Mine && key == "mine" }

// Default chooses one host, and stays with it.
func (x *Res) Default() engine.Res { return &Res{Strategy: hosts.Sticky, Count: 1} }

func (x *Res) topic() string    { return cmp.Or(x.Topic, hosts.All) }
func (x *Res) schedule() string { return cmp.Or(x.Schedule, x.Name()) }

func (x *Res) rule() hosts.Rule { return hosts.Rule{Strategy: x.Strategy, Count: x.Count} }

// Validate refuses topics that no host has, and rules that cannot be followed.
func (x *Res) Validate() error {
	if err := hosts.CheckTopic(x.Topic); err != nil {
		return err
	}
	return x.rule().Check()
}

// Init keeps the handle, and the place that an earlier resource of the schedule has.
func (x *Res) Init(init *engine.Init) error {
	o, _ := init.Shared.(*office)
	if o == nil {
		x.own = newOffice(context.Background())
		o = x.own
	}
	s := o.scheduler(init)
	x.init, x.seen, x.stand = init, &atomic.Pointer[hosts.Choice]{}, o.start
	x.place = s.Place(x.topic(), x.schedule())
	return nil
}

// Cleanup ends the use of the place. The last user of a schedule withdraws.
func (x *Res) Cleanup() error {
	x.place.End()
	if x.own != nil {
		return x.own.Close()
	}
	return nil
}

// Watch gives an event with each other choice. It outlives a loss of the store.
func (x *Res) Watch(ctx context.Context) error {
	running := sync.OnceFunc(x.init.Running)
	tell := func(err error) {
		running()
		if err != nil {
			hosts.WarnLost(x.init.Log, err, "the hosts that were chosen last go on to count")
		}
		x.init.Event()
	}
	for c := range x.place.Follow(ctx, tell) {
		x.keep(c)
		running()
		x.init.Event()
	}
	return nil
}

// CheckApply makes this host a candidate, or withdraws it, and sends the choice.
func (x *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	c, err := x.now(ctx)
	if err != nil {
		return false, err
	}
	right := x.differs(c)
	if apply {
		if c, err = x.bring(ctx, c, right); err != nil {
			return false, err
		}
	}
	x.compare(c)
	s := &Sends{Hosts: append([]string{}, c.Hosts...), Mine: c.Mine}
	s.proof = world.Proof{Lease: c.Lease, Of: "the choice of this host by the schedule " + x.topic() + "/" + x.schedule()}
	for _, host := range s.Hosts {
		s.Text += host + "\n"
	}
	return right, x.init.Send(s)
}

// compare warns of a host that states another rule for the schedule, once for each rule. The rule that was written last counts.
func (x *Res) compare(c hosts.Choice) {
	own := x.rule()
	if c.Own != own || c.Rule == own {
		x.told = own
		return
	}
	if x.told == c.Rule {
		return
	}
	x.told = c.Rule
	x.init.Log.Warn("another host states another rule for this schedule, and wrote it last: its rule counts; state one rule on all hosts",
		"own_strategy", own.Strategy, "own_count", own.Count, "strategy", c.Rule.Strategy, "count", c.Rule.Count)
}

// now returns the choice that the Watch has seen, else the one of this moment.
func (x *Res) now(ctx context.Context) (hosts.Choice, error) {
	if c := x.seen.Load(); c != nil && !x.place.Stale(*c) {
		return x.place.Prove(*c), nil
	}
	return x.ask(ctx)
}

// ask reads the choice of this moment, and keeps it for a loss of the store.
func (x *Res) ask(ctx context.Context) (hosts.Choice, error) {
	c, err := x.place.Ask(ctx)
	if err == nil && x.seen.Load() != nil { // without a Watch the answer would never be renewed
		x.keep(c)
	}
	return c, err
}

// keep notes a choice, unless a newer one is known: the Watch may be behind an answer of ask.
func (x *Res) keep(c hosts.Choice) {
	for old := x.seen.Load(); old == nil || old.Revision <= c.Revision; old = x.seen.Load() {
		if x.seen.CompareAndSwap(old, &c) {
			return
		}
	}
}

// differs reports the changes of the own record, and whether there are none.
func (x *Res) differs(c hosts.Choice) (right bool) {
	there := c.Own != hosts.Rule{}
	switch {
	case x.Withdraw && there:
		x.init.Change(engine.Change{Field: "withdraw", From: "false", To: "true"})
	case x.Withdraw:
		return true
	case !there:
		x.init.Change(engine.Change{Verb: engine.Created})
	case c.Own.Strategy != x.Strategy:
		x.init.Change(engine.Change{Field: "strategy", From: c.Own.Strategy, To: x.Strategy})
	case c.Own.Count != x.Count:
		x.init.Change(engine.Change{Field: "count", From: fmt.Sprint(c.Own.Count), To: fmt.Sprint(x.Count)})
	default:
		return true
	}
	return false
}

// bring puts the own record right, and returns the choice with it. Where it is right already, the record may be that of
// an earlier daemon: it then comes under the lease of this one.
func (x *Res) bring(ctx context.Context, c hosts.Choice, right bool) (hosts.Choice, error) {
	switch {
	case x.Withdraw:
		x.place.Withdraw()
		if right {
			return c, nil
		}
	case x.place.Stands(x.rule()) && right:
		return c, nil
	case x.place.Stands(x.rule()): // another process has altered it
		x.place.Again()
	}
	x.stand()
	var err error
	if x.Withdraw {
		err = x.place.Gone(ctx)
	} else {
		err = x.place.Stand(ctx, x.rule())
	}
	if err != nil {
		return c, err
	}
	return x.ask(ctx)
}

// Read returns the schedule as this host stands for it in the store.
func (x *Res) Read(ctx context.Context) (engine.Res, error) {
	c, err := x.place.Ask(ctx)
	if err != nil {
		return nil, err
	}
	r := &Res{Schedule: x.Schedule, Topic: x.Topic, Strategy: c.Own.Strategy, Count: c.Own.Count}
	if c.Own == (hosts.Rule{}) {
		r.Strategy, r.Count, r.Withdraw = c.Rule.Strategy, c.Rule.Count, true
	}
	r.SetKind(x.Kind())
	r.SetName(x.Name())
	return r, nil
}

// Sends returns the type of the sent values.
func (x *Res) Sends() any { return &Sends{} }

// Cmp compares the parameters.
func (x *Res) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Shared is the lease of all schedules of a daemon.
func (x *Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "schedule", func(ctx context.Context, _ engine.Host) (engine.Shared, error) { return newOffice(ctx), nil }
}

// Doc describes the kind.
func (x *Res) Doc() string {
	return strings.ReplaceAll(`Chooses some of the live hosts for a task, and sends which they are.

Every host whose graph has the schedule is a candidate as long as it lives. All of them come to the same answer without
asking each other, from what is in the store that they share. A host that dies loses its place at the end of its lease
(15 s unless 'lease' says another), and the next one takes it. When a daemon ends in order, its place moves at once.

The strategies differ in who is chosen, and in what moves when hosts come and go:

- 'sticky': the hosts that have been candidates for the longest time. A host that comes back stands behind the others,
  so nothing moves. With a count of 1 it is the election of a leader.
- 'hash': each schedule orders the hosts in another way, so many schedules spread evenly. Only the places of a host that
  goes move, and a host that comes back gets them again.
- 'alpha': the first hosts by name. The choice can be told in advance.
- 'rr': in turn by name. Each schedule of a topic begins behind the hosts of the 'rr' schedule before it, by name.

Give all hosts the same strategy and count. Where they differ, the one that was written last counts for all.

'mine' is true only while the lease of this host proves it. While the store is out of reach 'hosts' stays as it was last,
and 'mine' becomes false before another host can be chosen. Under noop this host looks, and is no candidate.`, "'", "`")
}
