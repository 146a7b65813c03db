package schema_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestParseMode(t *testing.T) {
	for in, want := range map[string]schema.Mode{
		"":            "",
		"0644":        "0644",
		"644":         "0644",
		"0o644":       "0644",
		"0O755":       "0755",
		"4755":        "4755",
		"04755":       "4755",
		"0":           "0000",
		"000":         "0000",
		"7777":        "7777",
		"u=rwX,go=rX": "u=rwX,go=rX",
		"g+w":         "g+w",
		"+t":          "+t",
		"=":           "=",
		"a=":          "a=",
		"u+r-w=x":     "u+r-w=x",
		"g=u":         "g=u",
		"ugo-s":       "ugo-s",
	} {
		got, err := schema.ParseMode(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"9999":       `"9999" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"493":        `"493" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"; 493 is 0755 in decimal`,
		"12":         `"12" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"17777":      `"17777" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"000644":     `"000644" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"0x1ff":      `"0x1ff" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"-644":       `"-644" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"+0644":      `"+0644" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"`,
		"rwxr-xr-x":  `"rwxr-xr-x" is not a mode: write it as "0644", u=rwX,go=rX or g+w`,
		"u":          `"u" is not a mode: write it as "0644", u=rwX,go=rX or g+w`,
		"u+r,":       `"u+r," is not a mode: write it as "0644", u=rwX,go=rX or g+w`,
		"u=rwq":      `"u=rwq" is not a mode: 'q' is not one of r w x X s t`,
		"u=gr":       `"u=gr" is not a mode: 'g' is not one of r w x X s t`,
		"u=ö":        `"u=ö" is not a mode: 'ö' is not one of r w x X s t`,
		"-rw-r--r--": `"-rw-r--r--" is not a mode: `,
	} {
		_, err := schema.ParseMode(in)
		if in == "-rw-r--r--" { // valid by chmod: - with rw, - with r, and so on
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v", in, err)
		}
		if schema.Mode(in).Validate() == nil {
			t.Errorf("%q is valid", in)
		}
		if got, err := schema.Mode(in).Apply(0o600, false); err == nil || got != 0o600 {
			t.Errorf("%q was applied: %v", in, got)
		}
	}
}

func TestModeLint(t *testing.T) {
	for in, want := range map[string]string{
		"420":  "the mode 420 is read as octal, which is -r---w----; 420 is 0644 in decimal",
		"436":  "the mode 436 is read as octal, which is -r---wxrw-; 436 is 0664 in decimal",
		"644":  "",
		"0644": "",
		"755":  "",
		"000":  "",
		"u=rw": "",
		"4755": "",
		"600":  "",
		"1777": "",
		"511":  "",
		"9999": "",
		"0420": "",
		"0":    "",
		"1000": "",
		"2000": "",
	} {
		if got := schema.Mode(in).Lint(); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestModeOctal(t *testing.T) {
	m, ok := schema.Mode("4750").Octal()
	if want := fs.ModeSetuid | 0o750; !ok || m != want {
		t.Errorf("got %v", m)
	}
	for _, in := range []schema.Mode{"", "u=r", "999"} {
		if _, ok := in.Octal(); ok {
			t.Errorf("%q is octal", in)
		}
	}
}

func TestModeApplyKeepsTheRest(t *testing.T) {
	old := fs.ModeDir | fs.ModeSticky | 0o755
	for mode, want := range map[schema.Mode]fs.FileMode{
		"":     old,
		"0700": fs.ModeDir | 0o700,
		"2770": fs.ModeDir | fs.ModeSetgid | 0o770,
		"o-rx": fs.ModeDir | fs.ModeSticky | 0o750,
	} {
		if got, err := mode.Apply(old, true); err != nil || got != want {
			t.Errorf("%q: %v, %v", mode, got, err)
		}
	}
}

func TestModeX(t *testing.T) {
	const mode = schema.Mode("u=rwX,go=rX")
	for _, tc := range []struct {
		old, want fs.FileMode
		isDir     bool
	}{{0o600, 0o644, false}, {0o700, 0o755, false}, {0o601, 0o755, false}, {0o600, 0o755, true}, {0o7777, 0o755, false}} {
		got, err := mode.Apply(tc.old&0o777|special(tc.old), tc.isDir)
		if want := tc.want&0o777 | special(tc.want); err != nil || got != want {
			t.Errorf("%o: got %v, want %v", tc.old, got, want)
		}
	}
}

// special turns the upper octal digit into Go's bits.
func special(m fs.FileMode) fs.FileMode {
	var out fs.FileMode
	for bit, mode := range map[fs.FileMode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&bit != 0 {
			out |= mode
		}
	}
	return out
}

// TestModeAgreesWithChmod compares symbolic modes with the chmod of the system.
func TestModeAgreesWithChmod(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const clause = `[ugoa]{0,2}([-+=]([rwxXst]{0,3}|[ugo])){1,2}`
	rapid.Check(t, func(rt *rapid.T) {
		mode := rapid.StringMatching(clause+`(,`+clause+`)?`).Draw(rt, "mode")
		start := fs.FileMode(rapid.IntRange(0, 0o777).Draw(rt, "start"))
		start |= rapid.SampledFrom([]fs.FileMode{0, fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky, fs.ModeSetgid | fs.ModeSticky}).Draw(rt, "special")
		path := rapid.SampledFrom([]string{file, folder}).Draw(rt, "path")
		if err := os.Chmod(path, start); err != nil {
			rt.Fatal(err)
		}
		was, err := os.Lstat(path)
		if err != nil {
			rt.Fatal(err)
		}
		if out, err := exec.Command("sh", "-c", `umask 0; exec chmod -- "$1" "$2"`, "sh", mode, path).CombinedOutput(); err != nil {
			rt.Fatalf("chmod %s: %s", mode, out)
		}
		want, err := os.Lstat(path)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := schema.Mode(mode).Apply(was.Mode(), path == folder)
		if err != nil || got != want.Mode() {
			rt.Fatalf("%s on %v: got %v, %v, chmod made %v", mode, was.Mode(), got, err, want.Mode())
		}
	})
}
