package backends

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Where apt has its sources.
// The formats are the two of sources.list(5): one line for each entry, and stanzas of fields.
const (
	aptSources     = "/etc/apt/sources.list"
	aptSourceParts = "/etc/apt/sources.list.d"
)

// sourceFiles returns the files that name repositories, sorted.
// The main file comes first. It may be missing, as it does on newer machines.
func (a *apt) sourceFiles() ([]string, error) {
	parts, err := partsIn(a.at(aptSourceParts), ".list", ".sources")
	return append([]string{a.at(aptSources)}, parts...), err
}

// eachEntry calls do for each entry of all files.
// It stops at the first file that cannot be read. The entries are for reading only.
func (a *apt) eachEntry(do func(path string, at int, e aptEntry)) error {
	files, err := a.sourceFiles()
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := readConfig(path)
		if err != nil {
			return err
		}
		for _, p := range aptPieces(path, text) {
			if p.entry != nil {
				do(path, p.at, p.entry)
			}
		}
	}
	return nil
}

// disabled adds the switched-off repositories to the used ones.
// Apt does not print them, so they are read from the files. A repository that is used in another file counts as used.
func (a *apt) disabled(all map[string]aptRepo) error {
	return a.eachEntry(func(path string, at int, e aptEntry) {
		set := e.set()
		if e.enabled() || !slices.Contains(set.types, "deb") {
			return
		}
		source := fmt.Sprintf("%s:%d", path, at)
		for _, uri := range set.uris {
			for _, suite := range set.suites {
				for _, comp := range set.comps {
					url := strings.TrimSuffix(withoutPassword(uri), "/") + "/"
					name := strings.TrimSpace(url + " " + suite + " " + comp)
					if _, used := all[name]; !used {
						all[name] = aptRepo{Repo{Name: name, URL: url}, source}
					}
				}
			}
		}
	})
}

// modRepo makes an entry, or alters all entries that name the repository, wherever they stand. An
// entry that names others, too, is taken apart: they stay as they are.
// Its components that stand in no entry get one together, in a file of their own.
// A repository is named as in a line: the address, the release, and perhaps components. Nothing is
// fetched: the lists come with the next refresh_db.
func (a *apt) modRepo(_ context.Context, args ModRepoArgs) (virtual.Nothing, error) {
	ask, err := parseAptRepo(args.Repo)
	if err != nil {
		return virtual.Nothing{}, err
	}
	if args.URL != nil && !sameSource(*args.URL, ask.uris[0]) {
		return virtual.Nothing{}, fmt.Errorf("the url %s is not that of the repository %s: with apt the name has the address", withoutPassword(*args.URL), args.Repo)
	}
	if err := args.checkKey(); err != nil {
		return virtual.Nothing{}, err
	}
	missing, err := a.missing(ask)
	if err != nil {
		return virtual.Nothing{}, err
	}
	// An entry keeps its state where the parameter is nil.
	alter := func(e aptEntry, hit aptSet) string {
		on := e.enabled()
		if args.Enabled != nil {
			on = *args.Enabled
		}
		return e.with(hit, on, aptOptions{args.Untrusted, args.Key})
	}
	if err := a.editSources(ask, alter); err != nil || len(missing.comps) == 0 {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, a.addSource(missing, args)
}

// missing returns the components of a repository that no entry has.
// An entry that is switched off has them too.
func (a *apt) missing(ask aptSet) (aptSet, error) {
	left := slices.Clone(ask.comps)
	err := a.eachEntry(func(_ string, _ int, e aptEntry) {
		if hit, _ := e.set().take(ask); hit != nil {
			left = slices.DeleteFunc(left, func(c string) bool { return slices.Contains(hit.comps, c) })
		}
	})
	ask.comps = left
	return ask, err
}

// delRepo removes the components of a repository from all entries. That there is none is right.
func (a *apt) delRepo(_ context.Context, args RepoArgs) (virtual.Nothing, error) {
	ask, err := parseAptRepo(args.Repo)
	if err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, a.editSources(ask, func(aptEntry, aptSet) string { return "" })
}

// editSources has alter make the text of the matching entries anew, in all files. A file that then
// is empty goes, unless it is sources.list itself.
// All files are tried; the error names each file that could not be written.
func (a *apt) editSources(ask aptSet, alter func(e aptEntry, hit aptSet) string) error {
	files, err := a.sourceFiles()
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range files {
		errs = append(errs, editConfig(path, path != a.at(aptSources), func(old string) (string, error) {
			return alterPieces(aptPieces(path, old), ask, alter), nil
		}))
	}
	return errors.Join(errs...)
}

// alterPieces returns a text in which alter has made anew what of the entries is asked for.
// Entries that stay as they are keep their bytes: blanks, comments and order.
func alterPieces(pieces []aptPiece, ask aptSet, alter func(e aptEntry, hit aptSet) string) string {
	var out strings.Builder
	gone := false
	for _, p := range pieces {
		if p.entry == nil {
			if !gone || strings.TrimSpace(p.text) != "" { // of the blank lines around a stanza that goes one stays
				out.WriteString(p.text)
			}
			gone = false
			continue
		}
		text := p.text
		if hit, rest := p.entry.set().take(ask); hit != nil && alter(p.entry, p.entry.set()) != p.text {
			text = apart(p, *hit, rest, alter)
		}
		gone = text == ""
		out.WriteString(text)
	}
	return out.String()
}

// apart returns the entries that take the place of one: its remaining part, and the result of alter
// for the rest. The first has the comments.
func apart(p aptPiece, hit aptSet, rest []aptSet, alter func(e aptEntry, hit aptSet) string) string {
	var texts []string
	for _, r := range rest {
		texts = append(texts, p.entry.with(r, p.entry.enabled(), aptOptions{}))
	}
	if made := alter(p.entry, hit); made != "" {
		texts = append(texts, made)
	}
	between := ""
	_, isStanza := p.entry.(stanza)
	if isStanza {
		between = "\n"
	}
	for i, text := range texts {
		if isStanza && i > 0 {
			texts[i] = withoutComments(text)
		}
		if i < len(texts)-1 && !strings.HasSuffix(text, "\n") {
			texts[i] += "\n"
		}
	}
	return strings.Join(texts, between)
}

// withoutComments leaves out the comments of a stanza, so that a copy of it repeats none.
func withoutComments(text string) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }), "")
}

// unsafeInName are runs of characters that apt ignores a file for, if its name has them.
var unsafeInName = lazyregexp.New(`[^A-Za-z0-9.-]+`)

// sourceName returns the name of a file for a repository, as in example.com_debian_stable.
// Two repositories may get one name; addSource then puts both into that file.
func sourceName(set aptSet) string {
	_, address, _ := strings.Cut(plainAddress(set.uris[0]), ":")
	return strings.Trim(unsafeInName.ReplaceAllString(address+"_"+set.suites[0], "_"), "_.")
}

// addSource adds a stanza to the file of a repository.
// The new entry has the form of a stanza, which each apt since version 1.1 reads. An entry that is in the file stays in front of it.
func (a *apt) addSource(set aptSet, args ModRepoArgs) error {
	s := stanza{[]string{"Types: " + set.types[0] + "\n", "URIs: " + set.uris[0] + "\n", "Suites: " + set.suites[0] + "\n"}}
	if set.comps[0] != "" {
		s = s.put("Components", strings.Join(set.comps, " "))
	}
	text := s.with(s.set(), args.Enabled == nil || *args.Enabled, aptOptions{args.Untrusted, args.Key})
	path := filepath.Join(a.at(aptSourceParts), sourceName(set)+".sources")
	return editConfig(path, false, func(old string) (string, error) {
		switch {
		case old == "":
			return text, nil
		case strings.HasSuffix(old, "\n"):
			return old + "\n" + text, nil
		}
		return old + "\n\n" + text, nil
	})
}
