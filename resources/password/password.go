package password

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/private"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("password", func() engine.Res { return &Res{} })
}

var (
	_ engine.Res            = (*Res)(nil)
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

const (
	// 64 characters of 62 kinds are 381 bits, which is more than any use needs. A user who types
	// it sets a shorter one.
	defaultLength = 64
	// 4,096 characters bound the file and the work of a look.
	maxLength      = 4096
	defaultCharset = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// tokenFile is the name below the VarDir of the resource.
	tokenFile = "token"
)

// Res makes a random password once, keeps it, and sends it.
type Res struct {
	traits.Base
	traits.Refreshable
	traits.Sendable
	traits.Overlapping

	// init is of one life of the resource, from Init to Cleanup.
	init *engine.Init
	held schema.Secret // the password where it is not saved; empty for none

	Length        int    `yaml:"length" lang:"length" doc:"How many characters it has." mgmt:"param,min=1,max=4096"`
	Charset       string `yaml:"charset" lang:"charset" doc:"The characters to choose from, each with the same chance; letters and digits when absent." mgmt:"param"`
	Saved         bool   `yaml:"saved" lang:"saved" doc:"Keep it over restarts, in a file that only the program's user can read. Otherwise it is made anew with each start." mgmt:"param"`
	CheckRecovery bool   `yaml:"check_recovery" lang:"check_recovery" doc:"Make it anew when the kept password is damaged or does not fit length and charset. Otherwise that is a failure." mgmt:"param"`
}

// Sends is what a password sends.
type Sends struct {
	Password schema.Secret `yaml:"password" lang:"password" doc:"The password."`
}

// Default returns a password of 64 letters and digits that is kept.
func (x *Res) Default() engine.Res {
	return &Res{Length: defaultLength, Saved: true, CheckRecovery: true}
}

// Validate refuses parameters of which no password can be made.
func (x *Res) Validate() error {
	var errs []error
	if x.Length < 1 || x.Length > maxLength {
		errs = append(errs, fmt.Errorf("length is %d, it must be from 1 to %d", x.Length, maxLength))
	}
	if x.Charset == "" {
		return errors.Join(errs...)
	}
	seen := map[rune]bool{}
	// A character that stands twice would have twice the chance, and the password less entropy
	// than its user expects.
	for _, r := range x.Charset {
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r):
			errs = append(errs, fmt.Errorf("charset holds %q, which can't be printed", r))
		case seen[r]:
			errs = append(errs, fmt.Errorf("charset holds %q twice", r))
		}
		seen[r] = true
	}
	if len(seen) < 2 {
		errs = append(errs, errors.New("charset needs at least two characters"))
	}
	return errors.Join(errs...)
}

// Init keeps the handle.
func (x *Res) Init(init *engine.Init) error {
	// Without saved, each life of the resource makes its own password: none goes over a restart.
	x.init, x.held = init, schema.Secret{}
	return nil
}

// Cleanup has nothing to release; kept files go with the folder.
func (x *Res) Cleanup() error { return nil }

// Watch watches the file that keeps the password.
func (x *Res) Watch(ctx context.Context) error {
	if !x.Saved {
		return watches.Idle(ctx, x.init)
	}
	// The folder may not be there yet. The host watches a path that is to come, too.
	dir, err := x.init.VarDir("")
	if err != nil {
		return err
	}
	sub, err := x.init.Host.Watch(ctx, []string{filepath.Join(dir, tokenFile)}, events.Options{})
	if err != nil {
		return err
	}
	defer sub.Close()
	x.init.Running()
	for {
		select {
		case <-sub.C():
			x.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// CheckApply makes the password if there is none that fits, or on a refresh.
func (x *Res) CheckApply(_ context.Context, apply bool) (bool, error) {
	k, err := x.look()
	if err != nil {
		return false, err
	}
	// The order of the cases is that of their weight: a missing password is made even where its
	// file has a wrong mode.
	switch {
	case k.password.IsZero():
		for _, c := range k.changes {
			x.init.Change(c)
		}
	case x.init.Refresh():
		x.init.Change(engine.Change{Verb: engine.Refreshed})
	// The content is right, and only the mode is corrected: the same password is written into a new
	// private file.
	case k.mode != private.Mode:
		x.init.Change(engine.Change{Field: "saved", From: modeText(k.mode), To: modeText(private.Mode)})
		return false, x.finish(k.password, apply)
	default:
		return true, x.send(k.password)
	}
	if !apply {
		return false, nil
	}
	password, err := makePassword(x.charset(), x.Length)
	if err != nil {
		return false, err
	}
	return false, x.finish(password, true)
}

// finish keeps the password, if it may, and sends it.
func (x *Res) finish(password schema.Secret, apply bool) error {
	if apply {
		if err := x.keep(password); err != nil {
			return err
		}
	}
	return x.send(password)
}

// send hands the password to its receivers, as a secret: the engine hides it, and everything
// derived from it.
func (x *Res) send(password schema.Secret) error {
	return x.init.Send(&Sends{Password: password})
}

// charset returns the characters to choose from.
func (x *Res) charset() []rune {
	if x.Charset == "" {
		return []rune(defaultCharset)
	}
	return []rune(x.Charset)
}

// modeText shows the mode of the file in a change, as chmod takes it.
func modeText(m fs.FileMode) string { return fmt.Sprintf("mode %#o", m.Perm()) }

// Sends returns the type of the sent values.
func (x *Res) Sends() any { return &Sends{} }

// Cmp compares the parameters.
func (x *Res) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Doc describes the kind.
func (x *Res) Doc() string {
	return `Makes a random password once, keeps it, and sends it to others.

It is sent as a secret: neither logs nor plans nor errors show it, nor anything that a receiver derives from it. It is
chosen by the random source of the system for cryptography, each character with the same chance.

It is kept in a file that only the program's user can read, so the same one is sent after a restart; with ` + "`saved: false`" + ` it
lives in memory only, and each start makes another. A notification makes it anew, and so does another ` + "`length`" + ` or ` + "`charset`" + `, a
damaged file, or a deleted one. A file that others can read is made private again.

Under noop a kept password is sent; a password that would be made is unknown to its receivers.`
}
