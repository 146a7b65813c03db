package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/keyring"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// aptKeys is the provider of apt_key.
// It is made for one transaction and used by one goroutine at a time. All fields are constant
// after newAptKeys; tests set others.
type aptKeys struct {
	folders []string // where keyrings are; new ones are made in the first
	gpg     string   // the program
	client  *http.Client
}

// sources.list(5) recommends the first folder for keys of the administrator. Keys
// in the second are trusted for every source. The third belongs to packages of the distribution.
func newAptKeys() provider.Provider {
	return &aptKeys{
		folders: []string{"/etc/apt/keyrings", "/etc/apt/trusted.gpg.d", "/usr/share/keyrings"},
		gpg:     "gpg", client: keyClient(),
	}
}

// held returns all keys of all files in the folders. It warns of files in another format.
// Other suffixes are ignored by apt too, see apt-secure(8).
// One unreadable file must not hide the keys of all others, so it costs a warning and not an
// error. The answer is never nil, by which gather knows that the folders were read.
func (a *aptKeys) held(rt *provider.Runtime) []held {
	all, by := []held{}, safepath.Of(rt.Host)
	for _, folder := range a.folders {
		names, _ := atomicfile.AtBy(by, folder).Names() // a missing one has no keys
		for _, name := range names {
			if ext := filepath.Ext(name); ext != ".gpg" && ext != ".asc" {
				continue
			}
			list, err := readRing(by, filepath.Join(folder, name))
			if err != nil {
				rt.Log.Warning(fmt.Sprintf("%s is left out: %v", filepath.Join(folder, name), err))
			}
			all = append(all, list...)
		}
	}
	return all
}

// readRing returns the keys of a file; a missing one has none.
// Both forms are read: binary, and text with BEGIN and END lines.
// The size is bounded by textfile.MaxText. A file that holds a secret key is an error, since it
// was put there by mistake.
func readRing(by safepath.Walker, path string) ([]held, error) {
	t, err := textfile.By(by, path, 0o644)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Read([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []held
	for _, k := range ring {
		list = append(list, held{path, k})
	}
	return list, nil
}

// facts asks gpg about keys, by fingerprint. It is given a home of its own, which is
// removed again: otherwise it would make one for us.
// gpg reads the keys from standard input and has no keyring, so nothing of the user's own
// is touched.
// The output is bounded, and kept out of the log. ReadOnly lets gpg run under noop too. One
// question for all keys costs one process, where a question for each key would start hundreds.
func (a *aptKeys) facts(ctx context.Context, rt *provider.Runtime, found []sighting) (map[string]keyring.Facts, error) {
	if len(found) == 0 || !safepath.Of(rt.Host).System() { // a folder has no programs
		return nil, nil
	}
	home, err := os.MkdirTemp("", "mgmt-gpg-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	raw := map[string][]byte{}
	for _, s := range found {
		raw[s.key.Fingerprint] = s.key.Raw
	}
	var in, out strings.Builder
	for _, fingerprint := range slices.Sorted(maps.Keys(raw)) {
		in.Write(raw[fingerprint])
	}
	gpg := rt.Command(a.gpg).ReadOnly().Quiet().MaxOutput(textfile.MaxText).Stdin(in.String())
	for line, err := range gpg.Lines(ctx, "--homedir", home, "--no-options", "--no-keyring", "--no-autostart", "--batch",
		"--with-colons", "--fixed-list-mode", "--show-keys") {
		if err != nil {
			return nil, err
		}
		out.WriteString(line + "\n")
	}
	return keyring.ParseFacts(out.String())
}

// Set makes each change on its own.
// A key from the net may take up to a minute, and a failure concerns its resource alone.
// It never returns an error itself, since each change has an outcome of its own in the log.
func (a *aptKeys) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for _, c := range changes {
		refused := provided.Refusals{}
		refused.Try(c, func() error {
			if c.Should["ensure"] == provided.Absent {
				return a.remove(rt, aptKeyNameOf(c.Name))
			}
			return a.add(ctx, safepath.Of(rt.Host), aptKeyNameOf(c.Name), c.Should)
		})
		refused.Tell(rt.Log, []provider.Change{c}, nil)
	}
	return nil
}

// remove takes a key out of its file, or of all files.
// Without a keyring it goes from every file that has it; the errors of all are told.
// A file with other keys alone is left as it is.
func (a *aptKeys) remove(rt *provider.Runtime, n aptKeyName) error {
	rings := []string{n.keyring}
	if n.keyring == "" {
		rings = nil
		for _, h := range a.held(rt) {
			if h.key.Is(n.id) {
				rings = append(rings, h.file)
			}
		}
		rings = slices.Compact(rings)
	}
	var errs []error
	for _, f := range rings {
		errs = append(errs, editRing(safepath.Of(rt.Host), f, func(r keyring.Ring) keyring.Ring { return r.Without(n.id) }))
	}
	return errors.Join(errs...)
}

// add puts a key into its file.
// A key of the same id in that file is replaced, as when its time was extended.
// A named keyring decides about the form, by its suffix: .asc is text with armor, as apt reads it
// since version 1.4. The default file is binary.
func (a *aptKeys) add(ctx context.Context, by safepath.Walker, n aptKeyName, should provider.Record) error {
	key, err := a.obtain(ctx, by, n.id, should)
	if err != nil {
		return err
	}
	path := cmp.Or(n.keyring, a.ownFile(key.Fingerprint))
	if err := a.makeFolder(by, filepath.Dir(path)); err != nil {
		return err
	}
	return editRing(by, path, func(r keyring.Ring) keyring.Ring { return append(r.Without(n.id), key) })
}

// makeFolder makes one of the folders of apt that is missing; others are not ours to
// make.
// Old versions of apt have no /etc/apt/keyrings. A missing folder elsewhere is the work of a file
// resource, which also knows its mode. A folder that exists already is fine.
func (a *aptKeys) makeFolder(by safepath.Walker, path string) error {
	if !slices.Contains(a.folders, path) {
		return nil
	}
	dir, name := files.At(by, path)
	if err := dir.Mkdir(name, 0o755); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// editRing replaces the content of a file. A file without a key is removed, since apt does not like
// it.
// Mode 0644 is for a new file: the user _apt, which verifies the sources, has to read it. A change
// by another program during the edit makes textfile call the function again with the new text.
func editRing(by safepath.Walker, path string, change func(keyring.Ring) keyring.Ring) error {
	t, err := textfile.By(by, path, 0o644)
	if err != nil {
		return err
	}
	empty := false
	err = t.Edit(func(old string) (string, error) {
		ring, err := keyring.Read([]byte(old))
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		next := change(ring)
		if empty = len(next) == 0; empty || sameRing(ring, next) {
			return old, nil
		}
		return string(next.Bytes(filepath.Ext(path) == ".asc")), nil
	})
	if err != nil || !empty {
		return err
	}
	return t.Remove()
}

// sameRing compares the keys and not their form. So a file is not rewritten only because its armor
// has other headers or another length of lines.
func sameRing(a, b keyring.Ring) bool {
	return string(a.Bytes(false)) == string(b.Bytes(false))
}
