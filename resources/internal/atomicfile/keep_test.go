package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asRoot skips what only root can do; under CI that is an error.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("this test needs root")
	}
	t.Skip("this test needs root")
}

func TestReplaceKeepsModeAndOwner(t *testing.T) {
	asRoot(t)
	for _, mode := range []uint32{0o644, 0o600, 0o4755, 0o2711, 0o000, 0o1777} {
		dir := t.TempDir()
		must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
		must(t, os.Chown(dir+"/f", 12, 34))
		must(t, unix.Chmod(dir+"/f", mode))
		res := write(t, over(t, dir, "f", "new"))
		if res.Stat.Perm() != mode || res.Stat.UID != 12 || res.Stat.GID != 34 || !res.Sure {
			t.Errorf("mode %o: result is %+v", mode, res)
		}
		if got := read(t, dir+"/f"); got != "new" {
			t.Errorf("content is %q", got)
		}
	}
}

func TestReplaceSetsModeAndOwner(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
	n := over(t, dir, "f", "new")
	n.Mode, n.UID, n.GID = 0o6750, 56, 78
	res := write(t, n)
	if res.Stat.Perm() != 0o6750 || res.Stat.UID != 56 || res.Stat.GID != 78 {
		t.Errorf("result is %+v", res.Stat)
	}
}

// A mode that is asked for does not depend on the umask.
func TestModeIgnoresUmask(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	dir := t.TempDir()
	n := text(dir, "f", "x")
	n.Mode = 0o666
	if res := write(t, n); res.Stat.Perm() != 0o666 || !res.Sure {
		t.Errorf("result is %+v", res)
	}
	if res := write(t, text(dir, "g", "x")); res.Stat.Perm() != 0o600 {
		t.Errorf("without a mode, it is %o", res.Stat.Perm())
	}
}

// Whose a new file becomes says nothing about who may read it, and neither does
// the way in which it is made.
func TestNewOwnerKeepsUmask(t *testing.T) {
	asRoot(t)
	for umask, want := range map[int]uint32{0o022: 0o644, 0o077: 0o600, 0o002: 0o664} {
		old := unix.Umask(umask)
		for name, write := range map[string]func(*New) (Result, error){"unnamed": (*New).Write, "beside": beside, "named": nameFirst} {
			for _, owner := range [][2]int{{12, -1}, {-1, 34}, {12, 34}} {
				n := text(t.TempDir(), "f", "x")
				n.UID, n.GID = owner[0], owner[1]
				res, err := write(n)
				if err != nil || res.Stat.Perm() != want || !res.Sure {
					t.Errorf("%s, umask %03o, owner %v: %+v, %v", name, umask, owner, res, err)
				}
				if owner[0] >= 0 && res.Stat.UID != 12 || owner[1] >= 0 && res.Stat.GID != 34 {
					t.Errorf("%s: it belongs to %d:%d", name, res.Stat.UID, res.Stat.GID)
				}
			}
		}
		unix.Umask(old)
	}
}

func attrs(t testing.TB, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	list, err := attrsOf(int(f.Fd()))
	must(t, err)
	all := map[string]string{}
	for _, a := range list {
		all[a.name] = string(a.value)
	}
	return all
}

func TestReplaceKeepsAttributes(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
	want := map[string]string{"user.small": "v", "user.empty": "", "user.big": strings.Repeat("b", 2000)}
	if os.Geteuid() == 0 { // as SELinux keeps its label
		want["security.label"] = "system_u:object_r:etc_t:s0\x00"
		want["trusted.mgmt"] = "t"
	}
	for name, value := range want {
		must(t, unix.Setxattr(dir+"/f", name, []byte(value), 0))
	}
	for way, nameFirst := range ways {
		n := over(t, dir, "f", way)
		n.nameFirst = nameFirst
		write(t, n)
		if got := attrs(t, dir+"/f"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: attributes are %q, want %q", way, got, want)
		}
		if got := read(t, dir+"/f"); got != way {
			t.Errorf("content is %q", got)
		}
	}
}

// What belongs to the old content only is not carried over.
func TestReplaceDropsBoundAttributes(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	must(t, unix.Setxattr(dir+"/f", "security.ima", []byte("\x01hash"), 0))
	write(t, over(t, dir, "f", "new"))
	if n, err := unix.Getxattr(dir+"/f", "security.ima", nil); !errors.Is(err, unix.ENODATA) {
		t.Errorf("it has %d bytes, %v", n, err)
	}
}

// acl is an access list: user::rw- user:12:rw- group::r-- mask::rw- other::---
const acl = "\x02\x00\x00\x00" +
	"\x01\x00\x06\x00\xff\xff\xff\xff" +
	"\x02\x00\x06\x00\x0c\x00\x00\x00" +
	"\x04\x00\x04\x00\xff\xff\xff\xff" +
	"\x10\x00\x06\x00\xff\xff\xff\xff" +
	"\x20\x00\x00\x00\xff\xff\xff\xff"

func TestReplaceKeepsAccessList(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
	if err := unix.Setxattr(dir+"/f", aclAttr, []byte(acl), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system has no access lists")
	}
	res := write(t, over(t, dir, "f", "new"))
	if got := attrs(t, dir+"/f")[aclAttr]; got != acl {
		t.Errorf("access list is %q", got)
	}
	if res.Stat.Perm() != 0o660 {
		t.Errorf("mode is %o", res.Stat.Perm())
	}
}

// A list that the folder gives to new files is not one that the old file had.
func TestReplaceAddsNoAccessList(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("old"), 0o640))
	if err := unix.Setxattr(dir, "system.posix_acl_default", []byte(acl), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system has no access lists")
	}
	res := write(t, over(t, dir, "f", "new"))
	if got := attrs(t, dir+"/f"); len(got) != 0 {
		t.Errorf("attributes are %q", got)
	}
	if res.Stat.Perm() != 0o640 || !res.Sure {
		t.Errorf("result is %+v", res)
	}
}

func TestTempInTheWay(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir, temp string){
		"left by a killed process": func(t *testing.T, dir, temp string) { must(t, os.WriteFile(temp, []byte("half"), 0o600)) },
		"link":                     func(t *testing.T, dir, temp string) { must(t, os.Symlink(dir+"/victim", temp)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(dir+"/victim", []byte("untouched"), 0o600))
			plant(t, dir, dir+"/"+tempName("f"))
			write(t, text(dir, "f", "new"))
			if read(t, dir+"/f") != "new" || read(t, dir+"/victim") != "untouched" {
				t.Errorf("f is %q, victim %q", read(t, dir+"/f"), read(t, dir+"/victim"))
			}
			if got := names(t, dir); !slices.Equal(got, []string{"f", "victim"}) {
				t.Errorf("left are %q", got)
			}
		})
	}
}

// A temporary file that somebody is writing, or that is another user's, is left
// alone.
func TestTempInUse(t *testing.T) {
	dir := t.TempDir()
	temp := dir + "/" + tempName("f")
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	defer f.Close()
	write(t, text(dir, "f", "new"))
	if got := names(t, dir); !slices.Equal(got, []string{tempName("f"), "f"}) {
		t.Errorf("left are %q", got)
	}
	must(t, f.Close())
	if os.Geteuid() == 0 {
		must(t, os.Chown(temp, 12, 34))
		if At(dir).Stale(tempName("f")) {
			t.Error("another user's file is called stale")
		}
		write(t, over(t, dir, "f", "newer"))
		must(t, os.Chown(temp, 0, 0))
	}
	if !At(dir).Stale(tempName("f")) {
		t.Error("a file that nobody has open is not called stale")
	}
}

func TestTempName(t *testing.T) {
	long := strings.Repeat("x", 255)
	for _, name := range []string{"f", "g", long, long[:254], "\n", "%"} {
		temp := tempName(name)
		if !IsTemp(temp) || len(temp) > 40 || tempName(name) != temp {
			t.Errorf("the temporary name of %q is %q", name, temp)
		}
	}
	if tempName("f") == tempName("g") {
		t.Error("two files have one temporary name")
	}
	if IsTemp("f") || IsTemp("f~") {
		t.Error("a common name is called temporary")
	}
}

// A process that is killed while it writes leaves the old file, and the next
// write leaves nothing of it.
func TestKilledWhileWriting(t *testing.T) {
	const key = "MGMT_TEST_WRITE_IN"
	if where := os.Getenv(key); where != "" {
		step, dir, _ := strings.Cut(where, ":")
		n := over(t, dir, "f", "new")
		n.nameFirst = step == "named"
		n.reached = func(s string) {
			if s == "filled" && step != "beside" || s == "beside" && step == "beside" {
				fmt.Println("writing")
				time.Sleep(time.Hour) // until killed
			}
		}
		_, _ = n.Write()
		return
	}
	for step, left := range map[string]int{"unnamed": 0, "beside": 1, "named": 1} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
			killWhen(t, "writing", key+"="+step+":"+dir)
			if got := names(t, dir); len(got) != 1+left || read(t, dir+"/f") != "old" {
				t.Fatalf("after the kill there are %q", got)
			}
			write(t, over(t, dir, "f", "new"))
			if got := names(t, dir); !slices.Equal(got, []string{"f"}) || read(t, dir+"/f") != "new" {
				t.Errorf("left are %q", got)
			}
		})
	}
}

// killWhen runs TestKilledWhileWriting in another process and kills it when it
// says so.
func killWhen(t *testing.T, says, env string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileWriting$")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	buf := make([]byte, len(says))
	if _, err := out.Read(buf); err != nil || string(buf) != says {
		t.Fatalf("the child said %q, %v", buf, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}
