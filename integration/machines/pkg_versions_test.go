package machines

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// versionRules are scripts that compare versions in another way than the program does, by a name of a backend: they
// read pairs, a line for each, and print -1, 0 or 1.
var versionRules = map[string]string{
	// What dpkg says of each relation by itself.
	"apt": `while read a b; do if dpkg --compare-versions $a gt $b; then echo 1; elif dpkg --compare-versions $a ge $b; then echo 0; else echo -1; fi; done 2>/dev/null`,
	// What the library of rpm makes of an epoch, a version and a release at once.
	"dnf": `exec /usr/bin/python3 -c '
import rpm, sys
def split(s):
    epoch, _, rest = s.rpartition(":")
    version, _, release = rest.rpartition("-")
    return (epoch or "0", version, release) if version else (epoch or "0", rest, None)
for line in sys.stdin:
    a, b = map(split, line.split())
    if a[2] is None or b[2] is None:
        a, b = a[:2] + ("",), b[:2] + ("",)
    print(rpm.labelCompare(a, b))
'`,
	// What pacman makes of a dependency on a package that has this version.
	"pacman": `db=$(mktemp -d); mkdir $db/local; echo 9 >$db/local/ALPM_DB_VERSION
while read a b; do
	rm -rf $db/local/x-*; mkdir $db/local/x-$a; printf "%%NAME%%\nx\n\n%%VERSION%%\n$a\n\n" >$db/local/x-$a/desc
	if pacman -b $db -T "x>$b" >/dev/null; then echo 1; elif pacman -b $db -T "x=$b" >/dev/null; then echo 0; else echo -1; fi
done`,
}

// randomVersion makes a version of the parts in which the rules differ.
func randomVersion(r *rand.Rand, backend string) string {
	parts := []string{"0", "1", "2", "10", "01", "9", "a", "b", "rc", "alpha", ".", ".", "+", "_"}
	if backend == "apt" {
		parts = append(parts[:len(parts)-1], "~")
	} else if backend != "pacman" {
		parts = append(parts, "~", "^")
	}
	var s strings.Builder
	if r.IntN(4) == 0 {
		fmt.Fprintf(&s, "%d:", r.IntN(3))
	}
	fmt.Fprint(&s, r.IntN(3))
	for range r.IntN(4) {
		s.WriteString(parts[r.IntN(len(parts))])
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&s, "-%d", r.IntN(3))
	}
	return s.String()
}

// testVersions: the program orders random versions as the package manager does.
func (d distribution) testVersions(t *testing.T, h *hosts.Host) {
	name := d.backend.Name
	rule := versionRules[name]
	if rule == "" {
		return // zypper has that of dnf
	}
	r := draws(t)
	var pairs strings.Builder
	for range 40 {
		a := randomVersion(r, name)
		if name == "pacman" && !strings.Contains(a, "-") {
			a += "-1" // what is installed has a release
		}
		b := a
		if r.IntN(8) > 0 {
			b = randomVersion(r, name)
		}
		fmt.Fprintln(&pairs, a, b)
	}
	cmd := h.Command(t.Context(), "sh", "-euc", rule)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(pairs.String()), &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	m, seen := d.bind(t, onHost(h)), map[int]int{}
	for line := range strings.Lines(pairs.String()) {
		var a, b string
		var want int
		if _, err := fmt.Sscan(line, &a, &b); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscan(&out, &want); err != nil {
			t.Fatalf("of %s: %v", line, err)
		}
		got, _, err := backends.VersionCmp.Call(t.Context(), m, backends.CompareArgs{A: a, B: b})
		if err != nil || got != want {
			t.Errorf("%s and %s: %d, %v; %s says %d", a, b, got, err, name, want)
		}
		seen[want]++
	}
	if len(seen) < 3 {
		t.Errorf("the answers are %v only", seen)
	}
}
