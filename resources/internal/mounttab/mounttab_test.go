package mounttab

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseMounts(t *testing.T) {
	all, err := ParseMounts(`22 28 0:20 / /proc rw,nosuid,relatime shared:1 master:2 - proc proc rw
30 28 8:1 /sub\040dir /a\040b\134 rw,noatime - ext4 /dev/s\040da rw,errors=remount-ro
31 30 0:44 / /a\040b\134 ro - tmpfs none rw,size=64k
`)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	if m := all[1]; m.ID != 30 || m.Device != "8:1" || m.Root != "/sub dir" || m.Point != `/a b\` || m.Type != "ext4" || m.Source != "/dev/s da" ||
		!slices.Equal(m.Options, []string{"rw", "noatime"}) || !slices.Equal(m.Super, []string{"rw", "errors=remount-ro"}) {
		t.Errorf("%+v", m)
	}
	if m := At(all, `/a b\`); m == nil || m.Type != "tmpfs" {
		t.Errorf("on top is %+v", m)
	}
	if m := At(all, "/none"); m != nil {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{"x\n", "1 2 3:4 / / rw\n", "x 2 3:4 / / rw - a b c\n", "1 2 3:4 / / - a b c\n"} {
		if _, err := ParseMounts(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if all, err := ReadMounts(); err != nil || At(all, "/") == nil {
		t.Errorf("of this machine: %v", err)
	}
}

func TestTable(t *testing.T) {
	const text = "# a comment\n/dev/a  /  ext4 errors=remount-ro 0 1 # root\n\nUUID=1 /b\\040c/ ext4\nx y\nq /b\\040c z o 1 x\n/dev/d /b\\040c ext4 ro"
	table := Parse(text)
	if table.String() != text {
		t.Errorf("%q", table)
	}
	l, ok := table.Find("/b c")
	if !ok || l.Device != "UUID=1" || table.Count("/b c") != 2 || l.Options != nil {
		t.Errorf("%+v %d", l, table.Count("/b c"))
	}
	if l, ok := table.Find("/"); !ok || l.PassNo != 1 || l.Freq != 0 || len(l.Options) != 1 {
		t.Errorf("%+v", l)
	}
	table.Set(Line{Device: "UUID=1", Point: "/b c", Type: "ext4", Options: []string{"defaults"}})
	if got, want := table.String(), "# a comment\n/dev/a  /  ext4 errors=remount-ro 0 1 # root\n\nUUID=1 /b\\040c/ ext4\nx y\nq /b\\040c z o 1 x\n"; got == want {
		t.Error("another point is the same line") // /b c/ is not written /b c
	}
	table = Parse("a /x b\nno end")
	table.Set(Line{Device: "a#", Point: "/y", Type: "t", Options: []string{`c="d,e"`, "f"}, PassNo: 2})
	if got := table.String(); got != "a /x b\nno end\na\\043 /y t c=\"d,e\",f 0 2\n" {
		t.Errorf("%q", got)
	}
	table.Remove("/x")
	if got := table.String(); !strings.HasPrefix(got, "no end\n") {
		t.Errorf("%q", got)
	}
}

// TestTableLaws: what is set is found, nothing else changes, setting twice is setting
// once, and what is removed is gone.
func TestTableLaws(t *testing.T) {
	word := rapid.StringMatching(`[a-z/ \\#,="\t]{0,6}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			text.WriteString(rapid.StringMatching(`([a-z/\\#0-9,]{0,4}[ \t]){0,6}(\n|)`).Draw(t, "line"))
		}
		table := Parse(text.String())
		if table.String() != text.String() {
			t.Fatalf("%q became %q", text.String(), table)
		}
		l := Line{
			Device: "d" + word.Draw(t, "device"), Point: "/" + word.Draw(t, "point"), Type: "t" + word.Draw(t, "type"),
			PassNo: rapid.IntRange(0, 2).Draw(t, "pass"),
		}
		others := slices.DeleteFunc(table.Lines(), func(o Line) bool { return (row{line: &o}).at(l.Point) })
		table.Set(l)
		once := table.String()
		again := Parse(once)
		got, ok := again.Find(l.Point)
		if !ok || !got.Equal(l) || again.Count(l.Point) != 1 {
			t.Fatalf("%+v became %+v in %q", l, got, once)
		}
		if again.Set(l); again.String() != once {
			t.Fatalf("%q became %q", once, again)
		}
		again.Remove(l.Point)
		if !slices.EqualFunc(again.Lines(), others, Line.Equal) {
			t.Fatalf("others were %v and are %v", others, again.Lines())
		}
	})
}

func TestDiffer(t *testing.T) {
	mount := func(options, super string) Mount {
		return Mount{Type: "ext4", Options: SplitOptions(options), Super: SplitOptions(super)}
	}
	for _, c := range []struct {
		want, options, super, fix string
	}{
		{"", "rw,relatime", "rw", ""},
		{"defaults,noauto,nofail,_netdev,x-systemd.automount", "rw,relatime", "rw", ""},
		{"noatime", "rw,noatime", "rw", ""},
		{"noatime", "rw,relatime", "rw", "noatime"},
		{"", "rw,noatime", "rw", "relatime"},
		{"", "rw", "rw", "relatime"},
		{"strictatime", "rw", "rw", ""},
		{"ro", "rw,relatime", "rw", "ro"},
		{"", "ro,relatime", "rw", "rw"},
		{"", "rw,relatime", "ro", "rw"},
		{"bind", "rw,relatime", "ro,size=1k", ""},
		{"bind,ro", "ro,relatime", "rw", ""},
		{"user", "rw,nosuid,nodev,noexec,relatime", "rw", ""},
		{"user,exec", "rw,nosuid,nodev,relatime", "rw", ""},
		{"noexec,user,exec", "rw,nosuid,nodev,noexec,relatime", "rw", "exec"},
		{"", "rw,nosuid,nodev,relatime", "rw", "suid,dev"},
		{"size=1g,mode=0755", "rw,relatime", "rw,size=1048576k,mode=755", ""},
		{"size=1g,mode=0755", "rw,relatime", "rw,size=1024k,mode=750", "size=1g,mode=0755"},
		{"size=50%,uid=ada", "rw,relatime", "rw,size=1024k,uid=7", ""},
		{"data=journal", "rw,relatime", "rw,data=ordered", "data=journal"},
		{"commit=5", "rw,relatime", "rw", ""},
		{"uid=8", "rw,relatime", "rw,uid=7", "uid=8"},
	} {
		m := mount(c.options, c.super)
		if got := strings.Join(Differ(SplitOptions(c.want), m), ","); got != c.fix {
			t.Errorf("%q of %s %s: %q, and not %q", c.want, c.options, c.super, got, c.fix)
		}
	}
	sealed := mount("ro,relatime", "ro")
	sealed.Type = "iso9660"
	if got := Differ(nil, sealed); got != nil {
		t.Errorf("of a disc: %v", got)
	}
}

func TestSameOptions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"", "defaults", true}, {"ro,noexec", "noexec,ro", true}, {"size=1k,x-a=b", "x-a=b,size=1k", true},
		{"ro", "rw", false}, {"ro,rw", "rw,ro", false}, {"user,exec", "exec,user", false}, {"size=1k,size=2k", "size=2k,size=1k", false},
		{"noatime,relatime", "relatime,noatime", false}, {"ro", "ro,ro", false},
	} {
		if got := SameOptions(SplitOptions(c.a), SplitOptions(c.b)); got != c.same {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
}

func TestBelow(t *testing.T) {
	all := []Mount{{Point: "/"}, {Point: "/a"}, {Point: "/a/b"}, {Point: "/ab"}, {Point: "/a/b/c"}}
	if got := Below(all, "/a"); !slices.Equal(got, []string{"/a/b", "/a/b/c"}) {
		t.Errorf("below /a is %v", got)
	}
	if got := Below(all, "/"); len(got) != 4 {
		t.Errorf("below / is %v", got)
	}
}

// TestHolders: who has a file open or mapped, or works in a folder.
func TestHolders(t *testing.T) {
	all, err := ReadMounts()
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	is := func(h Holder) bool { return h.PID == pid && h.Command != "" }
	if m := At(all, "/proc"); m == nil || slices.ContainsFunc(Holders("/proc", Mount{ID: -1, Point: "/none"}), is) {
		t.Error("we use what is not there")
	} else if open, err := os.Open("/proc/self/status"); err != nil || !slices.ContainsFunc(Holders("/proc", *m), is) {
		t.Errorf("that we have a file open is not seen: %v", err)
	} else {
		_ = open.Close()
	}
	proc := t.TempDir()
	if err := os.Mkdir(proc+"/7", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"comm": "a thing\n", "maps": "00-01 r--p 00000000 fd:2a 99   /m/lib.so\n"} {
		if err := os.WriteFile(proc+"/7/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(Holders(proc, Mount{Device: "253:42", Point: "/m"}), Holders(proc, Mount{Device: "253:42", Point: "/n"}), Holders(proc, Mount{Device: "8:1", Point: "/m"})); got != "[a thing (process 7)] [] []" {
		t.Errorf("who has mapped a file: %s", got)
	}
}

func TestForKernel(t *testing.T) {
	got := ForKernel(SplitOptions("defaults,noauto,ro,bind,x-a=b,X-mount.mkdir,comment=x,size=1k,users"))
	if want := []string{"ro", "size=1k"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
