package backends

import (
	"context"
	"slices"
	"strings"
)

// nonfree are the components of Debian and of Ubuntu in which is what has no free licence.
var nonfree = []string{"non-free", "non-free-firmware", "restricted", "multiverse"}

// community are the components that Ubuntu has and does not look after.
var community = []string{"universe", "multiverse"}

// origins tells where packages come from: the component tells whether they are free, and origin and
// component whether this machine's distribution looks after them. A version that several
// repositories have counts as that of the best of them.
// It reads two answers of apt-cache, whatever the number of packages, and fetches nothing.
func (a *apt) origins(ctx context.Context, args OriginsArgs) (map[string]Origin, error) {
	names := sortedKeys(args.Pkgs)
	if err := checkApt(names); err != nil || len(names) == 0 {
		return map[string]Origin{}, err
	}
	lists, err := a.lines(ctx, nil, "apt-cache", "policy")
	if err != nil {
		return nil, err
	}
	lines, err := a.lines(ctx, nil, append([]string{"apt-cache", "policy", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	vendors, places, candidate := aptVendors(lists), aptPlaces(lines), a.asked(candidates(lines), names)
	out := map[string]Origin{}
	for _, name := range names {
		version := args.Pkgs[name]
		if version == "" {
			version = candidate[name]
		}
		plain, _, _ := strings.Cut(name, ":")
		from := slices.Concat(places[[2]string{name, version}], places[[2]string{plain, version}])
		for _, place := range from {
			is := a.originOf(place, vendors[place])
			was, seen := out[name]
			if !seen || is.Free && !was.Free || is.Supported && !was.Supported && is.Free == was.Free {
				out[name] = is
			}
		}
	}
	return out, nil
}

// originOf says what a repository means. A place is such as "http://mirror.example/debian bookworm/main".
// Without the name of the distribution nothing counts as looked after.
func (a *apt) originOf(place, vendor string) Origin {
	_, dist, _ := strings.Cut(place, " ")
	component := dist[strings.LastIndexByte(dist, '/')+1:]
	ours := a.os != "" && strings.EqualFold(strings.ReplaceAll(vendor, " ", ""), strings.ReplaceAll(a.os, " ", ""))
	return Origin{
		Repo: place, Free: !slices.Contains(nonfree, component),
		Supported: ours && (a.os != "Ubuntu" || !slices.Contains(community, component)),
	}
}

// aptPlace reads a line such as "500 http://mirror.example/debian bookworm/main amd64 Packages";
// any other line gives nothing.
func aptPlace(line string) (place string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[len(f)-1] != "Packages" {
		return "", false
	}
	return withoutPassword(f[1]) + " " + f[2], true
}

// aptVendors returns who publishes each repository, as apt-cache policy without names tells.
// The line with the release stands below that of the repository. The field o is the Origin of the
// Release file.
func aptVendors(lines []string) map[string]string {
	out, place := map[string]string{}, ""
	for _, line := range lines {
		if p, ok := aptPlace(line); ok {
			place = p
		}
		release, ok := strings.CutPrefix(strings.TrimSpace(line), "release ")
		for part := range strings.SplitSeq(release, ",") {
			if o, is := strings.CutPrefix(part, "o="); ok && is {
				out[place] = o
			}
		}
	}
	return out
}

// aptPlaces returns the repositories that have each version of a package.
// The key is a pair of the name and a version. The levels of the page differ by their indent: none
// for a name, five for a version, eight and more for a repository.
func aptPlaces(lines []string) map[[2]string][]string {
	out := map[[2]string][]string{}
	var at [2]string
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case indent == 0:
			at = [2]string{strings.TrimSuffix(line, ":"), ""}
		case indent >= 8:
			if p, ok := aptPlace(line); ok {
				out[at] = append(out[at], p)
			}
		case (strings.HasPrefix(line, " *** ") || indent == 5) && len(line) > 5:
			at[1] = strings.Fields(strings.TrimPrefix(line, " ***"))[0]
		}
	}
	return out
}
