package resources

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Clashes says what this file and another one of the same path want differently.
// One may have the content and another one the owner: what only one of them gives
// is no clash; nor is what can't be told before it is there.
func (r *FileRes) Clashes(other engine.Res) error {
	o, ok := other.(*FileRes)
	if !ok {
		return r.partClash(other)
	}
	if a, b := r.wants(), o.wants(); a != b && a != "" && b != "" {
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

// differ reports whether two values are both given and are not the same.
func differ(a, b string, same func(a, b string) bool) bool {
	return a != "" && b != "" && a != b && !same(a, b)
}

func never(string, string) bool { return false }

// sameAccount reports whether two different words may be one account: a name and a
// number, of which it is not looked up here who that is.
func sameAccount(a, b string) bool { return isNumber(a) != isNumber(b) }

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// bothModes reports whether the second mode leaves alone what the first one makes,
// or can't be judged because it will be received.
func (r *FileRes) bothModes(a, b string) bool {
	one, err1 := schema.Mode(a).Apply(0, r.isFolder())
	both, err2 := schema.Mode(b).Apply(one, r.isFolder())
	again, err3 := schema.Mode(a).Apply(both, r.isFolder())
	return again == both || errors.Join(err1, err2, err3) != nil
}

// wants returns what shall be at the path, empty where anything may be.
func (r *FileRes) wants() string {
	switch {
	case r.State == FileAbsent:
		return "nothing there"
	case r.Symlink:
		return "a link"
	case r.isFolder():
		return "a folder"
	case r.makes() || r.bodied():
		return "a file"
	}
	return ""
}

// bodied reports whether the content is managed, also if it is yet to come.
func (r *FileRes) bodied() bool {
	return r.hasBody() || r.Symlink || r.given("content", "") != ""
}

// sameBody reports whether two files have the same content, or get it from the
// same place.
func (r *FileRes) sameBody(o *FileRes) bool {
	if a, b := r.given("content", ""), o.given("content", ""); a != "" || b != "" {
		return a == b
	}
	return (r.Content == nil) == (o.Content == nil) && (r.Content == nil || *r.Content == *o.Content) &&
		r.Source == o.Source && slices.Equal(r.Fragments, o.Fragments)
}

// given returns the value of a parameter, or where it will come from.
func (r *FileRes) given(key, value string) string {
	if s := r.Recv()[key]; s != nil {
		return s.Res.String() + "." + s.Key
	}
	return value
}
