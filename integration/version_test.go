package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// inCheckout is a checkout with nothing but what makes its version.
// versionFile has the number of the next release.
const versionFile = "internal/version/VERSION"

type inCheckout struct {
	t   *testing.T
	dir string
}

func newCheckout(t *testing.T) inCheckout {
	t.Helper()
	enginetest.Need(t, "git", "git")
	c := inCheckout{t, t.TempDir()}
	script, err := os.ReadFile("../packaging/version")
	if err == nil {
		err = os.Mkdir(filepath.Join(c.dir, "packaging"), 0o700)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.dir, filepath.Dir(versionFile)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "packaging/version"), script, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.git("init", "-q")
	return c
}

func (c inCheckout) git(args ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", append([]string{"-C", c.dir, "-c", "user.name=test", "-c", "user.email=test@localhost"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (c inCheckout) number(text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, versionFile), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c inCheckout) commit() {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", "edit")
}

func (c inCheckout) version() (string, error) {
	out, err := exec.CommandContext(c.t.Context(), filepath.Join(c.dir, "packaging/version")).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// versions are those of a checkout over its life, each of which has to be newer than those before.
func versions(t *testing.T) []string {
	t.Helper()
	c, list := newCheckout(t), []string{"0+79814f1"} // the last is as mgmt had it before VERSION
	keep := func() {
		v, err := c.version()
		if err != nil {
			t.Fatalf("%v: %s", err, v)
		}
		list = append(list, v)
	}
	c.number("0.9.0\n")
	c.commit()
	keep()
	for range 9 {
		c.commit()
	}
	keep() // the tenth sorts behind the ninth
	c.git("tag", "-a", "-m", "a release", "v0.9.0")
	keep()
	c.commit()
	keep()
	c.number("0.10.0\n")
	keep() // with an edit
	c.commit()
	keep()
	c.git("tag", "v0.10.0")
	keep()
	return list
}

// TestFindingD9Order: dpkg and rpm agree that each version is newer than the one before.
func TestFindingD9Order(t *testing.T) {
	dpkg := enginetest.Need(t, "dpkg", "dpkg")
	list := versions(t)
	t.Log(list)
	for i, form := range []string{"", `0.9.0~git1\.\w+`, `0.9.0~git10\.\w+`, `0.9.0`, `0.9.0\+git11\.\w+`, `0.10.0~git11\.\w+\.dirty`, `0.10.0~git12\.\w+`, `0.10.0`} {
		if i > 0 && !regexp.MustCompile("^"+form+"$").MatchString(list[i]) {
			t.Errorf("%s is not %s", list[i], form)
		}
	}
	for i, older := range list {
		for _, newer := range list[i+1:] {
			if out, err := exec.CommandContext(t.Context(), dpkg, "--compare-versions", older, "lt", newer).CombinedOutput(); err != nil {
				t.Errorf("dpkg: %s is not older than %s: %v %s", older, newer, err, out)
			}
			// rpm takes a hash that begins with a digit for a number, so what had no number is not ordered.
			if i > 0 && rpmCompare(older, newer) >= 0 {
				t.Errorf("rpm: %s is not older than %s", older, newer)
			}
		}
	}
}

// TestFindingD9RPMOrder: the order of these tests is rpm's own; the pairs are of its manual.
func TestFindingD9RPMOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0", "2.0", -1}, {"2.0.1", "2.0", 1}, {"5.5p1", "5.5p10", -1}, {"10xyz", "10.1xyz", -1},
		{"1.0~rc1", "1.0", -1}, {"1.0~rc1", "1.0~rc2", -1}, {"1.0~rc1~git123", "1.0~rc1", -1}, {"1.0+git1", "1.0", 1}, {"1.010", "1.10", 0},
	} {
		if got := rpmCompare(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := rpmCompare(c.b, c.a); got != -c.want {
			t.Errorf("%s and %s: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

// TestFindingD9NoNumber: a file without a number is an error with a place, also of make.
func TestFindingD9NoNumber(t *testing.T) {
	c := newCheckout(t)
	for _, text := range []string{"", "\n", "one", "v1.2.3", "1.2", "1.2.3\n4", "01.2.3", "1.2.3-4", "$(id)", strings.Repeat("1", 9000)} {
		c.number(text)
		got, err := c.version()
		if err == nil || !strings.HasPrefix(got, versionFile+":1:1: ") || !strings.HasSuffix(got, "such as 1.2.3") || len(got) > 200 {
			t.Errorf("%.20q: %s, %v", text, got, err)
		}
	}
	for text, col := range map[string]string{"99999999999999999999.1.2": "1", "1.4294967296.0": "3", "1.20.1234567890": "6"} {
		c.number(text + "\n")
		got, err := c.version()
		if err == nil || !strings.HasPrefix(got, versionFile+":1:"+col+": a number of the version "+text+" has more than nine digits") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	c.number("999999999.999999999.999999999\n")
	if got, err := c.version(); err != nil {
		t.Error(got, err)
	}
	if err := os.Remove(filepath.Join(c.dir, versionFile)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.version(); err == nil || !strings.HasPrefix(got, versionFile+": the file is missing") {
		t.Errorf("without a file: %s, %v", got, err)
	}
	for _, version := range []string{"abcdef0", "1.2.4294967296"} {
		out, err := exec.CommandContext(t.Context(), "../packaging/build", t.TempDir(), version).CombinedOutput()
		if err == nil || !strings.Contains(string(out), version+" is not a version") {
			t.Errorf("packaging/build: %v, %s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "..", "build", "GO=true")
	cmd.Env = append(os.Environ(), "MGMT_VERSION_FILE="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "gives no version") {
		t.Errorf("make build: %v, %s", err, out)
	}
}

var rpmSegment = regexp.MustCompile(`[0-9]+|[A-Za-z]+|~`)

// rpmCompare compares as rpm does: segments of digits, of letters, and the tilde, which sorts before the end.
func rpmCompare(a, b string) int {
	x, y := rpmSegment.FindAllString(a, -1), rpmSegment.FindAllString(b, -1)
	for i := range max(len(x), len(y)) {
		if order := segmentCompare(at(x, i), at(y, i)); order != 0 {
			return order
		}
	}
	return 0
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// segmentCompare ranks the tilde below the end, that below letters, and letters below numbers.
func segmentCompare(a, b string) int {
	rank := func(s string) int {
		switch {
		case s == "~":
			return 0
		case s == "":
			return 1
		case s[0] > '9':
			return 2
		}
		return 3
	}
	if rank(a) != rank(b) {
		return sign(rank(a) - rank(b))
	}
	if rank(a) == 3 {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if len(a) != len(b) {
			return sign(len(a) - len(b))
		}
	}
	return strings.Compare(a, b)
}

func sign(n int) int { return min(1, max(-1, n)) }
