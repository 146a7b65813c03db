package entries

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/keyring"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
)

// The definition is parsed when the kind is first used, and not at the start of every program.
func init() {
	provided.Register("apt_key", func() (*provider.Kind, error) { return aptKeyKind(newAptKeys) })
}

// aptKeyKind makes the kind with another provider in tests. The function make is called for each
// transaction, so that a provider needs no locks.
func aptKeyKind(make func() provider.Provider) (*provider.Kind, error) {
	return provider.New(aptKeyDefinition(), make, provider.Rooted())
}

// Files and formats are those of apt-secure(8) and sources.list(5).
// aptKeyDefinition has the two attributes that are the name first: id and keyring. Everything that
// gpg tells about a key is read-only, so a graph can test it but not ask for it.
func aptKeyDefinition() provider.Definition {
	// A parameter says how to get a key. It is not compared with the machine.
	parameter := func(name, typ, doc string) provider.Attribute {
		return provider.Attribute{Name: name, Type: typ, Role: provider.Parameter, Doc: doc}
	}
	// A read-only attribute is filled in by Get alone.
	told := func(name, typ, doc string) provider.Attribute {
		return provider.Attribute{Name: name, Type: typ, Role: provider.ReadOnly, Doc: doc}
	}
	return provider.Definition{
		Name: "apt_key",
		Doc: `A public key that apt checks packages with, in one of its keyring folders.

The folders are ` + "`/etc/apt/keyrings` and `/usr/share/keyrings`, whose files a source names with `signed-by`" + `, and
` + "`/etc/apt/trusted.gpg.d`" + `, whose keys may sign any source; apt-key itself is gone. A key is one file of its own in
` + "`/etc/apt/keyrings`" + `, named by its fingerprint, unless ` + "`keyring`" + ` says which file it shall be in: a path that ends in
` + "`.asc`" + ` is written as text. Without keyring a key that is in any of the files is present, and an absent one is taken out of all of
them; other keys of a file stay as they are, byte for byte.

The id is compared with the fingerprint of the key itself, whatever the source says. A key from the net needs all 40 digits of
it. Of a source with several keys only the wanted one is taken. gpg is needed to look at keys.

The title is the id, or ` + "`6F6B15509CF8E59E6E469F327F438280EF8D349F in /etc/apt/keyrings/tool.gpg`" + `.`,
		Attributes: []provider.Attribute{
			{Name: "id", Type: `Variant[Pattern[/\A(0x)?[0-9a-fA-F]{8}\z/], Pattern[/\A(0x)?[0-9a-fA-F]{16}\z/], Pattern[/\A(0x)?[0-9a-fA-F]{40}\z/]]`,
				Role: provider.Namevar, Doc: "The fingerprint of the key, or the last 16 or 8 digits of it."},
			{Name: "keyring", Type: `Variant[Enum[''], Pattern[/\A\/[^\n]*\.(gpg|asc)\z/]]`, Role: provider.Namevar, Doc: "The file; empty for any of those in the folders of apt."},
			{Name: "ensure", Type: provided.EnsureType, Default: provided.Present, HasDefault: true, Doc: "Whether the key is there."},
			parameter("content", "Optional[String[1]]", "The key as text, with its BEGIN and END lines."),
			parameter("source", `Optional[Pattern[/\A(https?:\/)?\/[^\s]+\z/]]`, "A file with the key, or its address on the net."),
			parameter("server", `Optional[Pattern[/\A(hkps?:\/\/|https?:\/\/)?[A-Za-z0-9.:\[\]-]+\z/]]`, "The key server to ask, such as keyserver.ubuntu.com: by https, unless it begins with hkp:// or http://."),
			told("fingerprint", "Optional[String]", "All digits of the key's fingerprint."),
			told("file", "Optional[String]", "The first of the files that it was found in."),
			told("type", "Optional[String]", "The algorithm: rsa, dsa, ecc, elgamal or other."),
			told("size", "Optional[Integer]", "The size in bits."),
			told("created", "Optional[String]", "Date the key was created, in ISO format."),
			told("expiry", "Optional[String]", "Date until which it is valid, in ISO format; nothing for ever."),
			told("expired", "Optional[Boolean]", "Whether that is over."),
			told("revoked", "Optional[Boolean]", "Whether its owner has revoked it."),
		},
		TitlePatterns: []provider.TitlePattern{
			{Pattern: `\A(?<id>(0x)?[0-9a-fA-F]+) in (?<keyring>\/.*)\z`},
			{Pattern: `\A(?<id>(0x)?[0-9a-fA-F]+)(?<keyring>)\z`},
			{Pattern: `\A(?<keyring>)`, Doc: "Any other text, with id as an own parameter."},
		},
		Require: []provider.Relation{
			{Kind: "file", Titles: []string{"$source", "$keyring"}},
			{Kind: "package", Titles: []string{"apt", "gnupg", "gpg"}},
		},
		Features: provider.Canonicalize | provider.SimpleGetFilter,
	}
}

// aptKeyName is what a Name of a key holds.
// An empty keyring means any file of the folders.
// The id is in the form of Canonicalize. It is comparable, and serves as the key of maps.
type aptKeyName struct{ id, keyring string }

// aptKeyNameOf takes the values in the order of the definition: first id, then keyring.
func aptKeyNameOf(n provider.Name) aptKeyName {
	v := n.Values()
	return aptKeyName{v[0], v[1]}
}

// record has the namevars and a title that the title patterns read back as the same name. Without
// more attributes it says for which resource an error is.
func (n aptKeyName) record() provider.Record {
	title := n.id
	if n.keyring != "" {
		title += " in " + n.keyring
	}
	return provider.Record{"title": title, "id": n.id, "keyring": n.keyring}
}

// Canonicalize writes ids in upper case and without 0x.
// Two spellings of one fingerprint would else be two resources.
// It computes only. The engine calls it for the declared values and for the answers of Get.
func (*aptKeys) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		r["id"] = keyring.Canonical(provided.Str(r, "id"))
	}
	return records, nil
}

// held is a key in a file.
// One key may be in several files; each is a held of its own.
type held struct {
	file string
	key  keyring.Key
}

// Get reads each file once, and asks gpg once for all keys that were found.
// An error is that of one name and does not keep the others from being yielded.
//
// An error of gpg ends the whole answer: without its facts no key could be described. Names
// with an error come before the keys, which are in the order of the filter or of the folders.
func (a *aptKeys) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		found, errs := a.gather(rt, f)
		facts, err := a.facts(ctx, rt, found)
		if err != nil {
			yield(nil, err)
			return
		}
		for n, err := range errs {
			if !yield(n.record(), err) {
				return
			}
		}
		for _, n := range found {
			if !yield(n.full(facts), nil) {
				return
			}
		}
	}
}

// sighting is a key that was found, by the name by which it was asked for.
// The name keeps the short id of the declaration, while the key has its whole fingerprint. So Get
// can answer with the same name, as the engine needs it to find the resource.
type sighting struct {
	aptKeyName
	held
}

// gather looks for the keys that the filter asks for. The errors are those of single names.
// All folders are read at most once, and only if a name without a keyring is asked for.
// A key without a fingerprint is of another version than 4. It can not be named, so it is left out
// of the list of all keys.
func (a *aptKeys) gather(rt *provider.Runtime, f provider.Filter) ([]sighting, map[aptKeyName]error) {
	var found []sighting
	if f.All {
		for _, h := range a.held(rt) {
			if h.key.Fingerprint != "" {
				found = append(found, sighting{aptKeyName{h.key.Fingerprint, h.file}, h})
			}
		}
		return eachOnce(found), nil
	}
	errs := map[aptKeyName]error{}
	var all []held
	for _, name := range f.Names {
		n := aptKeyNameOf(name)
		// A named keyring is read for its own name. The folders are read for the first name
		// without one.
		among, err := all, error(nil)
		switch {
		case n.keyring != "":
			among, err = readRing(safepath.Of(rt.Host), n.keyring)
		case all == nil:
			all = a.held(rt)
			among = all
		}
		s, ok, err2 := n.findIn(among)
		switch {
		case err != nil:
			errs[n] = err
		case err2 != nil:
			errs[n] = err2
		case ok:
			found = append(found, s)
		}
	}
	return found, errs
}

// eachOnce leaves each key out that is a second time in its file.
// A file with one key twice is legal: the program cat makes such a file of two exports.
func eachOnce(list []sighting) []sighting {
	seen := map[aptKeyName]bool{}
	var out []sighting
	for _, s := range list {
		if !seen[s.aptKeyName] {
			out = append(out, s)
		}
		seen[s.aptKeyName] = true
	}
	return out
}

// findIn finds the key of the name. Two keys can have the same short id, by accident or
// on purpose.
// A short id of 8 digits can be forged in minutes, so two keys with one id are an error
// and not a choice.
// It returns the first key that fits, in the order of the list, and false if none does. The same
// key may be in several files.
func (n aptKeyName) findIn(list []held) (s sighting, ok bool, err error) {
	for _, h := range list {
		switch {
		case !h.key.Is(n.id):
		case !ok:
			s, ok = sighting{n, h}, true
		case s.key.Fingerprint != h.key.Fingerprint:
			return s, false, fmt.Errorf("two keys have the id %s, %s in %s and %s in %s: give all 40 digits", n.id, s.key.Fingerprint, s.file, h.key.Fingerprint, h.file)
		}
	}
	return s, ok, nil
}

// full is the record of a key.
// Dates are in the form of RFC 3339 without the time of day. A key that never expires has no
// expiry.
func (s sighting) full(facts map[string]keyring.Facts) provider.Record {
	r := s.record()
	r["ensure"], r["fingerprint"], r["file"] = provided.Present, s.key.Fingerprint, s.file
	f, ok := facts[s.key.Fingerprint]
	if !ok {
		return r // gpg does not know its sort
	}
	r["type"], r["size"], r["created"] = f.Type, int64(f.Size), f.Created.Format(time.DateOnly)
	r["expired"], r["revoked"] = f.Expired, f.Revoked
	if !f.Expires.IsZero() {
		r["expiry"] = f.Expires.Format(time.DateOnly)
	}
	return r
}

// Files says in which file the key is, if one is said, or in which it would be added.
// A file in one of the watched folders needs no second watch, but it does no harm.
func (a *aptKeys) Files(wanted provider.Record) []string {
	id := keyring.Canonical(provided.Str(wanted, "id"))
	if file := provided.Str(wanted, "keyring"); file != "" || provided.Str(wanted, "ensure") == provided.Absent || len(id) != 40 {
		return provided.Elsewhere(file)
	}
	return []string{a.ownFile(id)}
}

// ownFile returns the file of a key for which no keyring is named.
func (a *aptKeys) ownFile(fingerprint string) string {
	return filepath.Join(a.folders[0], fingerprint+".gpg")
}

// Watch watches the folders.
// The contents of the folders matter too, since gpg may add a key to a file in place. Other
// keyrings are looked at once a minute. It blocks until ctx ends; one goroutine of the engine runs
// it.
func (a *aptKeys) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	return provided.WatchPaths(ctx, rt, a.folders, events.Options{Contents: true}, time.Minute, armed, changed)
}
