package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// MotdRes keeps the text of one file. Each exported field with a tag is a parameter.
type MotdRes struct {
	traits.Base
	traits.Unwatched // there is nothing to watch: a poll, or the sweep, looks again

	Path string `yaml:"path" mgmt:"identity" doc:"The file."`
	Text string `yaml:"text" doc:"The text in it."`

	init *engine.Init
}

func (r *MotdRes) Default() engine.Res       { return &MotdRes{Text: "welcome\n"} }
func (r *MotdRes) Init(i *engine.Init) error { r.init = i; return nil }
func (r *MotdRes) Cleanup() error            { return nil }
func (r *MotdRes) Cmp(o engine.Res) error    { return engine.CmpFields(r, o) }

func (r *MotdRes) Validate() error {
	if !filepath.IsAbs(r.Path) {
		return fmt.Errorf("path: %q is not absolute", r.Path)
	}
	return nil
}

// CheckApply looks, tells each difference before it alters anything, and alters only with apply.
func (r *MotdRes) CheckApply(_ context.Context, apply bool) (bool, error) {
	is, err := os.ReadFile(r.Path)
	if err != nil && !os.IsNotExist(err) {
		return false, err
	}
	if string(is) == r.Text {
		return true, nil
	}
	r.init.Change(engine.Change{Field: "text", From: string(is), To: r.Text})
	if !apply {
		return false, nil
	}
	return false, os.WriteFile(r.Path, []byte(r.Text), 0o644)
}

// A kind is a struct with seven methods. The engine gives it an Init, and calls CheckApply until
// that says that all is well.
func Example() {
	dir, err := os.MkdirTemp("", "motd-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	kinds := engine.NewRegistry() // engine.RegisterResource adds to the one of the program
	if err := kinds.Register("motd", func() engine.Res { return &MotdRes{} }); err != nil {
		panic(err)
	}
	res, err := kinds.New("motd")
	if err != nil {
		panic(err)
	}
	res.SetName("greeting")
	motd := res.(*MotdRes)
	fmt.Println(res.Validate())
	motd.Path = filepath.Join(dir, "motd")

	_ = res.Init(&engine.Init{Change: func(c engine.Change) { fmt.Printf("%s: %s from %q to %q\n", res, c.Field, c.From, c.To) }})
	for range 2 {
		ok, err := res.CheckApply(context.Background(), true)
		fmt.Println("all was well:", ok, err)
	}
	fmt.Println(res.Cleanup())
	// Output:
	// path: "" is not absolute
	// motd[greeting]: text from "" to "welcome\n"
	// all was well: false <nil>
	// all was well: true <nil>
	// <nil>
}
