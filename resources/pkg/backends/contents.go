package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// aptLists is the folder of the lists that apt has fetched from the repositories.
const aptLists = "/var/lib/apt/lists"

// contentLists are the files, as patterns, by which each package manager knows what packages bring that are not installed.
// The lists of apk have nothing of the kind.
var contentLists = map[string][]string{
	"apt":    {aptLists + "/*Contents-*"},
	"dnf":    {"/var/cache/dnf/*/repodata/*filelists*", "/var/cache/libdnf5/*/repodata/*filelists*"},
	"pacman": {"/var/lib/pacman/sync/*.files"},
	"zypper": zypperLists,
}

// ContentsStamp returns a text that changes whenever the answer of Contents may change; empty if
// there are no lists. It runs no tool.
// It costs one look at each list. An answer of Contents stays good as long as the stamp does.
func ContentsStamp(backend string) string {
	var paths []string
	for _, pattern := range contentLists[backend] {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	return stampOf(paths)
}

// stampOf returns a text that is another one whenever a file is; empty where none is there.
// It is made of path, size and time, so it can be compared but not read.
func stampOf(paths []string) string {
	var s strings.Builder
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil {
			fmt.Fprintf(&s, "%s %d %d;", path, st.Size(), st.ModTime().UnixNano())
		}
	}
	return s.String()
}

// readContents prints the lines of lists that match a pattern, which comes first. It ends with the
// status of the reader of the lists, which is handed over by descriptor 3: without a match grep
// fails.
// The pattern is the first argument and no part of the script, so no name can become a command.
const readContents = `pattern=$1; shift
{ status=$({ { /usr/lib/apt/apt-helper cat-file "$@"; echo $? >&3; } | grep -E -e "$pattern" >&4; } 3>&1); } 4>&1
exit "$status"`

// contents reads the Contents lists, which have a line for each path. Behind the path and a blank
// stand the packages that have it, each behind its section. They are large, so the lines are
// chosen before they are read. The machine has them where apt-file is installed, or apt is told to
// fetch them. Names are quoted for grep. A missing list gives no error: then nothing is known.
func (a *apt) contents(ctx context.Context, args ContentsArgs) (map[string][]string, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	files, plain := a.contentFiles(args.Names), make([]string, len(args.Names))
	for i, name := range args.Names {
		name, _, _ = strings.Cut(name, ":")
		plain[i] = regexp.QuoteMeta(name)
	}
	if len(files) == 0 {
		return map[string][]string{}, nil
	}
	pattern := "[ \t,/](" + strings.Join(plain, "|") + ")(,|$)"
	lines, err := a.lines(ctx, nil, append([]string{"sh", "-c", readContents, "sh", pattern}, files...)...)
	if err != nil {
		return nil, err
	}
	return byAsked(args.Names, contentLines(lines)), nil
}

// contentFiles returns the lists of the machine's architecture, and of the architectures in the
// names.
// The list for "all" has the packages that fit every architecture. Several repositories have a
// list each.
func (a *apt) contentFiles(names []string) (files []string) {
	archs := []string{a.arch, "all"}
	for _, name := range names {
		if _, arch, ok := strings.Cut(name, ":"); ok {
			archs = append(archs, arch)
		}
	}
	found, _ := filepath.Glob(filepath.Join(a.at(aptLists), "*Contents-*"))
	for _, file := range found {
		name := filepath.Base(file)
		arch, _, _ := strings.Cut(name[strings.LastIndex(name, "Contents-")+len("Contents-"):], ".")
		if slices.Contains(archs, arch) {
			files = append(files, file)
		}
	}
	return files
}

// contentLines returns the paths of each package that lines of Contents lists name.
// A path may have blanks, so the last blank of a line parts it from the packages.
func contentLines(lines []string) map[string][]string {
	out := map[string][]string{}
	for _, line := range lines {
		at := strings.LastIndexAny(line, " \t")
		if at < 0 {
			continue
		}
		path := "/" + strings.TrimPrefix(strings.TrimRight(line[:at], " \t"), "/")
		for who := range strings.SplitSeq(line[at+1:], ",") {
			name := who[strings.LastIndexByte(who, '/')+1:]
			out[name] = append(out[name], path)
		}
	}
	return out
}

// byAsked returns the paths of packages by the names that were asked for, perhaps with an architecture.
// It sorts the paths in place, and a path that several lists have is there once.
func byAsked(names []string, all map[string][]string) map[string][]string {
	out := map[string][]string{}
	for _, name := range names {
		plain, _, _ := strings.Cut(name, ":")
		if paths := all[plain]; len(paths) > 0 {
			slices.Sort(paths)
			out[name] = slices.Compact(paths)
		}
	}
	return out
}

// contents asks about one package after the other: dnf does not say which of several has a path. Newer releases have the
// lists only where optional_metadata_types has filelists; without them the repository counts as absent.
func (d *dnf) contents(ctx context.Context, args ContentsArgs) (map[string][]string, error) {
	return each(args.Names, CheckName, func(name string) ([]string, error) {
		lines, err := d.lines(ctx, nil, "dnf", "-q", "-C", "--setopt=color=never", "repoquery", "--latest-limit=1", "-l", name)
		if _, none := errors.AsType[*UnreachableError](err); none {
			return nil, nil
		}
		return withoutFolders(lines), err
	})
}

// withoutFolders sorts paths. It leaves out the folders of other paths, and texts that are not
// paths.
func withoutFolders(paths []string) []string {
	folders := map[string]bool{}
	for _, p := range paths {
		folders[filepath.Dir(p)] = true
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return folders[p] || !strings.HasPrefix(p, "/") })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// contents reads lines with a name, perhaps behind that of a repository, and a path without the
// first slash. The path of a folder ends in a slash.
// pacman -F reads the databases that pacman -Fy has fetched; without them the answer is empty.
func (p *pacman) contents(ctx context.Context, args ContentsArgs) (map[string][]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	lines, err := p.lines(ctx, []int{1}, append([]string{"pacman", "--color=never", "-Fl"}, args.Names...)...)
	out := map[string][]string{}
	for _, line := range lines {
		name, path, ok := strings.Cut(line, " ")
		if name = name[strings.LastIndexByte(name, '/')+1:]; ok && path != "" && !strings.HasSuffix(path, "/") {
			out[name] = append(out[name], "/"+path)
		}
	}
	return only(out, args.Names), err
}
