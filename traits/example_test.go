package traits_test

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// NoteRes can be notified, and receives values: each ability is a struct to embed.
type NoteRes struct {
	traits.Base        // kind, name and metaparameters
	traits.Refreshable // other resources may notify it
	traits.Recvable    // its parameters may receive what others send
	traits.Unwatched   // there is nothing to watch

	Text string `yaml:"text"`
}

func (r *NoteRes) Default() engine.Res                            { return &NoteRes{} }
func (r *NoteRes) Validate() error                                { return nil }
func (r *NoteRes) Init(*engine.Init) error                        { return nil }
func (r *NoteRes) Cleanup() error                                 { return nil }
func (r *NoteRes) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (r *NoteRes) Cmp(o engine.Res) error                         { return engine.CmpFields(r, o) }

// CoinRes sends which side is up.
type CoinRes struct {
	traits.Base
	traits.Sendable
	traits.Unwatched

	init *engine.Init
}

// CoinSends has the values that a coin sends: each field with a key is one.
type CoinSends struct {
	Side string `yaml:"side" doc:"The side that is up."`
}

func (r *CoinRes) Default() engine.Res       { return &CoinRes{} }
func (r *CoinRes) Validate() error           { return nil }
func (r *CoinRes) Init(i *engine.Init) error { r.init = i; return nil }
func (r *CoinRes) Cleanup() error            { return nil }
func (r *CoinRes) Cmp(o engine.Res) error    { return engine.CmpFields(r, o) }
func (r *CoinRes) Sends() any                { return &CoinSends{} }

// CheckApply sends at each run, also when all was right.
func (r *CoinRes) CheckApply(context.Context, bool) (bool, error) {
	return true, r.init.Send(&CoinSends{Side: "heads"})
}

// A resource that sends values says their types by Sends, and sends them by Init.Send.
func ExampleSendable() {
	coin := &CoinRes{}
	a, err := engine.AbilitiesOf(coin)
	fmt.Println("sends:", a.Sends != nil, err)
	_ = coin.Init(&engine.Init{Send: func(v any) error { fmt.Printf("%+v\n", v); return nil }})
	fmt.Println(coin.CheckApply(context.Background(), true))
	// Output:
	// sends: true <nil>
	// &{Side:heads}
	// true <nil>
}

func Example() {
	a, err := engine.AbilitiesOf(&NoteRes{})
	fmt.Println("refreshable:", a.Refreshable, "recvable:", a.Recvable, "sends:", a.Sends != nil, err)
	// Output: refreshable: true recvable: true sends: false <nil>
}
