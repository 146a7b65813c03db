package entries

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/authkeys"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
)

// Tests make the kind with a file of users of their own.
func init() {
	provided.Register("ssh_authorized_key", func() (*provider.Kind, error) { return sshKeyKind(accounts{passwdPath}) })
}

func sshKeyKind(a accounts) (*provider.Kind, error) {
	return provider.New(sshKeyDefinition(), func() provider.Provider { return &sshKeys{accounts: a, self: sync.OnceValue(whoami)} }, provider.Rooted())
}

// The form of a line is that of sshd(8), in its part about authorized_keys.
// sshKeyDefinition lists short types too, such as ed25519 of ssh-keygen(1).
// Canonicalize writes them in full.
func sshKeyDefinition() provider.Definition {
	types := authkeys.Types()
	for i, t := range types {
		types[i] = "'" + t + "'"
	}
	types = append(types, "rsa", "dsa", "dss", "ed25519", "'ed25519-sk'", "'ecdsa-sk'")
	return provider.Definition{
		Name: "ssh_authorized_key",
		Doc: `A public key with which a user may log in by SSH: a line of his ` + "`~/.ssh/authorized_keys`" + `.

A key is known by its comment, the text at the end of the line. All other lines stay as they are, byte for byte; if the comment
stands there more often than once, the first line is made right and the others are removed. A key that is not of the given type
is refused, as is a key that is cut off.

The file is made with the mode 0600, its folder with 0700, both of the user's. Neither is touched if it belongs to another user. A
link of that user is followed only to files and folders of the same user, and mgmt works there with the rights of that user. Links
in the home of root, or of the user that mgmt runs as, are not followed in these two places.

The title is ` + "`alice@laptop for bob`" + `, or the comment alone, and may end in ` + "`in /path/of/the/file`" + `.`,
		Attributes: []provider.Attribute{
			{Name: "comment", Type: `Pattern[/\A[^\s[:cntrl:]]([^\n\r[:cntrl:]]*[^\s[:cntrl:]])?\z/]`, Role: provider.Namevar, Doc: "The name of the key: the comment behind it."},
			{Name: "user", Type: `Pattern[/\A[^\s:\/]*\z/]`, Role: provider.Namevar, Doc: "The user that may log in with it; empty for the user that mgmt runs as."},
			{Name: "target", Type: `Variant[Enum[''], Pattern[/\A\/[^\n]*\z/]]`, Role: provider.Namevar, Doc: "The file; empty for the user's ~/.ssh/authorized_keys."},
			{Name: "ensure", Type: provided.EnsureType, Default: provided.Present, HasDefault: true, Doc: "Whether the key is there."},
			{Name: "type", Type: "Optional[Enum[" + strings.Join(types, ", ") + "]]", Doc: "Of which type the key is. It is needed to add one."},
			{Name: "key", Type: `Optional[Pattern[/\A[A-Za-z0-9+\/]+={0,2}\z/]]`, Doc: "The key in base64, as it stands in the .pub file. It is needed to add one."},
			{Name: "options", Type: `Optional[Array[Pattern[/\A[^\n\r]+\z/]]]`, Doc: "The permitted uses of the key, one by one: no-pty, or command=\"/bin/x\"."},
		},
		TitlePatterns: []provider.TitlePattern{
			{Pattern: `\A(?<comment>.+) for (?<user>[^\s:\/]+) in (?<target>\/.*)\z`},
			{Pattern: `\A(?<comment>.+) for (?<user>[^\s:\/]+)(?<target>)\z`},
			{Pattern: `\A(?<comment>.+) in (?<target>\/.*)(?<user>)\z`},
			{Pattern: `\A(?<comment>.+)(?<user>)(?<target>)\z`},
		},
		Require:  []provider.Relation{{Kind: "user", Titles: []string{"$user"}}, {Kind: "file", Titles: []string{"$target"}}},
		Features: provider.Canonicalize | provider.SimpleGetFilter,
	}
}

// sshKeys is the provider of ssh_authorized_key.
// It has no memory between two calls: a file is read again each time.
type sshKeys struct {
	accounts accounts
	self     func() string // the user that we are
}

// sshKeyName is what a Name of a key holds.
// After Canonicalize the user is never empty.
type sshKeyName struct{ comment, user, target string }

func sshKeyNameOf(n provider.Name) sshKeyName {
	v := n.Values()
	return sshKeyName{v[0], v[1], v[2]}
}

// record has the namevars, and a title that the title patterns read back.
func (n sshKeyName) record() provider.Record {
	title := n.comment + " for " + n.user
	if n.target != "" {
		title += " in " + n.target
	}
	return provider.Record{"title": title, "comment": n.comment, "user": n.user, "target": n.target}
}

// Canonicalize says who the user is, and writes types in full.
func (s *sshKeys) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		r["user"] = cmp.Or(provided.Str(r, "user"), s.self())
		if provided.Manages(r, "type") {
			r["type"] = authkeys.TypeOf(provided.Str(r, "type"))
		}
	}
	return records, nil
}

// keyFile is where the keys of one user are.
// An empty target is the user's own file.
type keyFile struct{ user, target string }

// Get reads each file once.
// An error concerns the keys of its file alone. A yield that returns false ends the call: the
// engine wants no more.
func (s *sshKeys) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		if f.All {
			s.all(ctx, rt, yield)
			return
		}
		files := map[keyFile]*authkeys.File{}
		for _, name := range f.Names {
			n := sshKeyNameOf(name)
			at := keyFile{n.user, n.target}
			if files[at] == nil {
				file, err := s.load(safepath.Of(rt.Host), at)
				if err != nil {
					if !yield(n.record(), err) {
						return
					}
					continue
				}
				files[at] = file
			}
			if r, ok := findKey(files[at], n); ok && !yield(r, nil) {
				return
			}
		}
	}
}

// all yields the keys of all users that the machine itself knows. Of files that can't
// be read it warns.
func (s *sshKeys) all(ctx context.Context, rt *provider.Runtime, yield func(provider.Record, error) bool) {
	users, err := s.accounts.all(safepath.Of(rt.Host))
	if err != nil {
		yield(nil, err)
		return
	}
	for _, u := range users {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		file, err := s.load(safepath.Of(rt.Host), keyFile{user: u.name})
		if err != nil {
			rt.Log.Warning(fmt.Sprintf("the keys of %s are left out: %v", u.name, err))
			continue
		}
		seen := map[string]bool{}
		for _, k := range file.Keys() {
			r, _ := findKey(file, sshKeyName{comment: k.Name, user: u.name})
			if !seen[k.Name] && !yield(r, nil) {
				return
			}
			seen[k.Name] = true
		}
	}
}

// load reads a file. A missing user counts as a user without keys.
// openKeys decides with whose rights it reads.
func (s *sshKeys) load(by safepath.Walker, at keyFile) (*authkeys.File, error) {
	u, err := s.accounts.find(by, at.user)
	if isUnknownUser(err) {
		return &authkeys.File{}, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := openKeys(by, u, at.target, false)
	if err != nil || dir == nil {
		return &authkeys.File{}, err
	}
	defer dir.close()
	text, _, err := dir.file.Read()
	if err != nil {
		return nil, err
	}
	return authkeys.Parse(text), nil
}

// findKey returns the record of a name.
// If several lines have the name and differ, the attributes that differ have no value. So Set
// makes one line of them.
func findKey(f *authkeys.File, n sshKeyName) (provider.Record, bool) {
	var found []provider.Record
	for _, k := range f.Find(n.comment) {
		r := n.record()
		r["ensure"], r["type"], r["key"], r["options"] = provided.Present, k.Type, k.Key, provided.Array(k.Options)
		found = append(found, r)
	}
	if len(found) == 0 {
		return nil, false
	}
	return provided.Common(found), true
}

// Set edits each file once.
func (s *sshKeys) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for at, group := range provided.Groups(changes, func(c provider.Change) keyFile {
		n := sshKeyNameOf(c.Name)
		return keyFile{n.user, n.target}
	}) {
		s.edit(rt, at, group)
	}
	return nil
}

// A failure to open concerns all changes of that file.
// edit holds the folder open from the check of its owner to the write. It closes the folder
// itself.
func (s *sshKeys) edit(rt *provider.Runtime, at keyFile, group []provider.Change) {
	by := safepath.Of(rt.Host)
	u, err := s.accounts.find(by, at.user)
	if err != nil {
		provided.Refusals{}.Tell(rt.Log, group, err)
		return
	}
	dir, err := openKeys(by, u, at.target, true)
	if err != nil {
		provided.Refusals{}.Tell(rt.Log, group, err)
		return
	}
	defer dir.close()
	provided.EditAll(rt.Log, dir.file, nil, group, authkeys.Parse, putKey)
}

// Files says in which file the key is, where the resource says so.
func (s *sshKeys) Files(wanted provider.Record) []string {
	return provided.Elsewhere(provided.Str(wanted, "target"))
}

// SearchFiles says in which file the key is, where that depends on the user. A missing user has none: the file of users is
// watched for him.
func (s *sshKeys) SearchFiles(wanted provider.Record) []string {
	if provided.Str(wanted, "target") != "" {
		return nil
	}
	u, err := s.accounts.find(safepath.System(), cmp.Or(provided.Str(wanted, "user"), s.self()))
	if err != nil {
		return []string{s.accounts.passwd}
	}
	return []string{filepath.Join(u.home, sshFolder, sshFile)}
}

// Watch watches the files of all users that the machine itself knows, and looks at
// those elsewhere every now and then. A new user is seen in the file of users.
func (s *sshKeys) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	for ctx.Err() == nil {
		paths := s.paths()
		again, stop := context.WithCancel(ctx)
		err := provided.WatchPaths(again, rt, paths, events.Options{}, time.Minute, armed, func(...provider.Name) {
			changed()
			if !slices.Equal(paths, s.paths()) {
				stop() // and begin again with the others
			}
		})
		stop()
		if err != nil {
			return err
		}
		armed = func() { changed() } // a change between the two watches was not seen
	}
	return nil
}

// paths are the files of all users, and the database of users.
func (s *sshKeys) paths() []string {
	paths := []string{s.accounts.passwd}
	users, _ := s.accounts.all(safepath.System()) // a file that can't be read now is read when it changes
	for _, u := range users {
		if filepath.IsAbs(u.home) {
			paths = append(paths, filepath.Join(u.home, sshFolder, sshFile))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// putKey makes one change.
// The options of the first line stay if the resource does not manage them. Put refuses a key whose
// type inside is not the type before it.
func putKey(f *authkeys.File, c provider.Change) error {
	n := sshKeyNameOf(c.Name)
	if c.Should["ensure"] == provided.Absent {
		f.Remove(n.comment)
		return nil
	}
	var k authkeys.Key
	if found := f.Find(n.comment); len(found) > 0 {
		k = found[0]
	}
	k.Name = n.comment
	if provided.Manages(c.Should, "type") {
		k.Type = provided.Str(c.Should, "type")
	}
	if provided.Manages(c.Should, "key") {
		k.Key = provided.Str(c.Should, "key")
	}
	if provided.Manages(c.Should, "options") {
		k.Options = provided.Strs(c.Should, "options")
	}
	return f.Put(k)
}
