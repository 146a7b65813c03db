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

func Example() {
	a, err := engine.AbilitiesOf(&NoteRes{})
	fmt.Println("refreshable:", a.Refreshable, "recvable:", a.Recvable, "sends:", a.Sends != nil, err)
	// Output: refreshable: true recvable: true sends: false <nil>
}
