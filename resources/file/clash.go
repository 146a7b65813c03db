package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Clashes names the parameters for which this file and another one of the same path have different
// wishes. One may have the content and another one the owner: a parameter of only one of them does
// not clash. Nor does a parameter that can't be told before the thing is there.
// It looks at declared values only and does no I/O. The graph builder asks each pair of files of
// one path, and puts the places of both into the error.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	if !ok {
		return r.PartClash(other)
	}
	if a, b := r.Wants(), o.Wants(); a != b && a != "" && b != "" {
		return fmt.Errorf("one wants %s, the other one %s", b, a)
	}
	switch {
	case r.bodied() && o.bodied() && !r.sameBody(o) && r.Keep == o.Keep:
		return errors.New("they want different contents")
	case (r.Purge || o.Purge) && r.Source != o.Source:
		return errors.New("one purges what the other one copies")
	case differ(r.given("owner", r.Owner), o.given("owner", o.Owner), sameAccount):
		return errors.New("they want different owners")
	case differ(r.given("group", r.Group), o.given("group", o.Group), sameAccount):
		return errors.New("they want different groups")
	case differ(r.given("mode", string(r.Mode)), o.given("mode", string(o.Mode)), r.bothModes):
		return errors.New("they want different modes")
	case differ(r.given("selinux", r.SELinux), o.given("selinux", o.SELinux), never):
		return errors.New("they want different SELinux labels")
	}
	return nil
}

// folderWriter is a kind that may make a whole folder. It says what it and a file of the same path want
// differently; into is false where it makes a file.
type folderWriter interface {
	FolderClash(file *Res) (into bool, err error)
}

// PartClash says what the file and a resource of another kind, which writes a file of
// that path, want differently.
// Owner and mode may stand in either, so only the type of thing and the content are compared.
func (r *Res) PartClash(other engine.Res) error {
	if _, ok := engine.As[engine.ClashingRes](other); !ok {
		return fmt.Errorf("a %s is no file", other.Kind())
	}
	if t, ok := other.(folderWriter); ok {
		if into, err := t.FolderClash(r); into {
			return err
		}
	}
	switch wants := r.Wants(); {
	case wants != "" && wants != "a file":
		return fmt.Errorf("the file wants %s, and the %s writes a file", wants, other.Kind())
	case r.bodied() && !r.Keep: // others may edit a kept content
		return fmt.Errorf("the file has a content of its own, and the %s writes one too", other.Kind())
	}
	return nil
}

// differ reports whether two values are both given and are not the same.
// same is asked only for two different texts.
func differ(a, b string, same func(a, b string) bool) bool {
	return a != "" && b != "" && a != b && !same(a, b)
}

// never is for texts that mean the same only if they are equal.
func never(string, string) bool { return false }

// sameAccount reports whether two different words may be one account: a name and a number, which
// are not looked up here.
func sameAccount(a, b string) bool { return isNumber(a) != isNumber(b) }

// isNumber reports whether an account is given by its number.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// bothModes reports whether the second mode leaves the result of the first one alone, or can't be
// judged because it will be received.
func (r *Res) bothModes(a, b string) bool {
	one, err1 := schema.Mode(a).Apply(0, r.IsFolder())
	both, err2 := schema.Mode(b).Apply(one, r.IsFolder())
	again, err3 := schema.Mode(a).Apply(both, r.IsFolder())
	return again == both || errors.Join(err1, err2, err3) != nil
}

// Wants returns the wanted type of thing at the path, such as "a folder" or "nothing there"; empty where anything may be. Other kinds
// of the same path ask for it.
func (r *Res) Wants() string {
	switch {
	case r.State == Absent:
		return "nothing there"
	case r.Symlink:
		return "a link"
	case r.IsFolder():
		return "a folder"
	case r.makes() || r.bodied():
		return "a file"
	}
	return ""
}

// bodied reports whether the content is managed, also if it is yet to come.
func (r *Res) bodied() bool {
	return r.hasBody() || r.Symlink || r.given("content", "") != ""
}

// sameBody reports whether two files have the same content, or get it from the
// same place.
// Contents are compared by their bytes, sources and fragments only by their paths.
func (r *Res) sameBody(o *Res) bool {
	if a, b := r.given("content", ""), o.given("content", ""); a != "" || b != "" {
		return a == b
	}
	return (r.Content == nil) == (o.Content == nil) && (r.Content == nil || *r.Content == *o.Content) &&
		r.Source == o.Source && slices.Equal(r.Fragments, o.Fragments)
}

// given returns the value of a parameter, or where it will come from.
// A received value stands as its sender and key: two files that receive the same one agree.
func (r *Res) given(key, value string) string {
	if s := r.Recv()[key]; s != nil {
		return s.Res.String() + "." + s.Key
	}
	return value
}

var _ declaration.Exposing = (*Res)(nil)

// Exposes says that the content is in the file, and which mode that has.
func (r *Res) Exposes(params []string) (string, schema.Mode) {
	if len(params) > 0 && !slices.Contains(params, "content") || r.State == Absent {
		return "", ""
	}
	return r.filePath(), r.Mode
}
