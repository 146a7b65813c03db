package backends

import (
	"context"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// zypperLists are the lists of repositories that zypper keeps as they came. The first kind has the
// paths in /etc and of the programs, and the second all paths. zypper fetches the second only
// where it is told to.
var zypperLists = []string{"/var/cache/zypp/raw/*/repodata/*primary.xml*", "/var/cache/zypp/raw/*/repodata/*filelists.xml*"}

// readLists prints the names and paths in lists. They are large, so the elements are chosen before they are read. Folders are left out,
// and lists for which the program that unpacks them is not there: zypper does not need it.
// The lists are arguments and no part of the script, so no path can become a command.
const readLists = `for list; do
case $list in
*.gz) tool=gzip ;;
*.zst) tool=zstd ;;
*.xz) tool=xz ;;
*.bz2) tool=bzip2 ;;
*) cat -- "$list"; continue ;;
esac
command -v $tool >/dev/null || continue
$tool -dcq -- "$list" || echo "<broken>$list</broken>"
done | grep -oE -e '<broken>.*</broken>' -e '<name>[^<]*</name>' -e '<package [^>]*name="[^"]*"' -e '<file( type="ghost")?>[^<]*</file>'`

var (
	listedName = lazyregexp.New(`^<(?:name>|package .*name=")([^<"]*)`)
	listedFile = lazyregexp.New(`^<file[^>]*>([^<]*)<`)
)

// contents reads the lists that are there.
// Without lists the answer is empty, and not an error.
// Exit status 1 is that of grep which finds nothing.
func (z *zypper) contents(ctx context.Context, args ContentsArgs) (map[string][]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	var lists []string
	for _, pattern := range zypperLists {
		found, err := filepath.Glob(z.at(pattern))
		if err != nil {
			return nil, err
		}
		lists = append(lists, found...)
	}
	if len(lists) == 0 {
		return map[string][]string{}, nil
	}
	lines, err := z.lines(ctx, []int{1}, append([]string{"sh", "-c", readLists, "sh"}, lists...)...)
	if err != nil {
		return nil, err
	}
	return listedFiles(lines, args.Names)
}

// listedFiles returns the paths of the packages with these names: each stands behind the name of its package.
// A list that cannot be unpacked is an error, since half an answer would make wrong edges.
func listedFiles(lines, names []string) (map[string][]string, error) {
	out, name := map[string][]string{}, ""
	for _, line := range lines {
		if list, broken := strings.CutPrefix(line, "<broken>"); broken {
			return nil, fmt.Errorf("the list %s cannot be read: fetch it again by zypper refresh --force", strings.TrimSuffix(list, "</broken>"))
		}
		if m := listedName.FindStringSubmatch(line); m != nil {
			name = html.UnescapeString(m[1])
		} else if m := listedFile.FindStringSubmatch(line); m != nil && slices.Contains(names, name) {
			out[name] = append(out[name], html.UnescapeString(m[1]))
		}
	}
	for name, paths := range out {
		slices.Sort(paths)
		out[name] = slices.Compact(paths)
	}
	return out, nil
}
