package basic

import (
	"cmp"
	"context"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("print", func() engine.Res { return &PrintRes{} })
}

var (
	_ engine.Res            = (*PrintRes)(nil)
	_ engine.RefreshableRes = (*PrintRes)(nil)
	_ engine.RecvableRes    = (*PrintRes)(nil)
	_ engine.GroupableRes   = (*PrintRes)(nil)
	_ engine.OverlappingRes = (*PrintRes)(nil)
	_ engine.UnwatchedRes   = (*PrintRes)(nil)
	_ engine.DescribedRes   = (*PrintRes)(nil)
)

// PrintRes prints a message into the log: once, again whenever it changes, and
// when it is notified.
type PrintRes struct {
	traits.Base
	traits.Groupable
	traits.Recvable
	traits.Refreshable
	traits.Overlapping
	traits.Collectable
	traits.Unwatched

	init    *engine.Init
	printed *string // the last message that was printed; nil for none

	Msg         string `yaml:"msg" lang:"msg" doc:"The message." mgmt:"nowatch,lend"`
	RefreshOnly bool   `yaml:"refresh_only" lang:"refresh_only" doc:"Print only when notified." mgmt:"param,lend"`
}

// Default returns an empty resource.
func (x *PrintRes) Default() engine.Res { return &PrintRes{} }

// Validate accepts everything.
func (x *PrintRes) Validate() error { return nil }

// Init keeps the handle, and initialises the members of the group.
func (x *PrintRes) Init(init *engine.Init) error {
	x.init, x.printed = init, nil
	return x.InitGroup(init)
}

// Cleanup cleans up the members.
func (x *PrintRes) Cleanup() error { return x.CleanupGroup() }

// CheckApply prints the messages that are due. A message alters nothing, so a look prints it,
// without a change. Only the answer to a notification counts as a change, and needs apply.
func (x *PrintRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	refresh := x.init.Refresh()
	fresh := !x.RefreshOnly && (x.printed == nil || *x.printed != x.Msg)
	if refresh {
		x.init.Change(engine.Change{Verb: engine.Refreshed})
	}
	if refresh && apply || fresh && !refresh {
		x.print()
	}
	return x.CheckGroup(ctx, apply, !refresh, nil)
}

func (x *PrintRes) print() {
	msg := x.Msg
	x.printed = &msg
	if received.Tainted(x.init, "msg") {
		msg = schema.Redacted
	}
	x.init.Logf("%s", strings.TrimSuffix(msg, "\n")) // a line of a log ends by itself
}

// Cmp compares the parameters, and the members.
func (x *PrintRes) Cmp(r engine.Res) error {
	return cmp.Or(engine.CmpFields(x, r), x.CmpGroup(r))
}

// GroupKey groups all that print at once, and all that print only when notified.
func (x *PrintRes) GroupKey() string {
	if x.RefreshOnly {
		return "refresh_only"
	}
	return "print"
}

// Doc describes the kind.
func (x *PrintRes) Doc() string {
	return `Prints a message into the log: once at the start, again whenever the message changes, and when it is notified.

A printed message does not count as a change of the machine: a plan and ` + "`--noop`" + ` print it too, and call the resource ok. A notification
that is acted on counts as a change, as everywhere, and is passed on to the resources that this one notifies.

The message can be received. A message that comes from a secret is printed as ` + "`(secret)`" + `. With ` + "`refresh_only`" + ` nothing is
printed except on a notification.`
}
