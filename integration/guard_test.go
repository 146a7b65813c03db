package integration_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// another is a user that is neither root nor ours.
const another = 12345

func needRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs root")
	default:
		t.Skip("this test needs root")
	}
}

// publicDir is a folder that every user can pass.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shell runs a script in which mgmt is the program and DIR the folder.
func shell(t *testing.T, dir, script string) (out string, code int) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "DIR=" + dir, "HOME=" + dir, "MGMT_PREFIX=" + dir + "/state"}
	text, err := cmd.CombinedOutput()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const guardType = "name: marker\ndesc: A marker.\nattributes:\n  name: {type: String, desc: The name., behaviour: namevar}\nget: [/bin/true]\nset: [/bin/true]\n"

// TestFindingA8OthersCanWrite: as root, the verbs that act refuse what another user could have
// written, each with the command that mends it. What the caller has opened is taken.
func TestFindingA8OthersCanWrite(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	graph := "resources:\n  file:\n  - {name: " + dir + "/made, content: x}\n"
	putFile(t, dir+"/good.yaml", graph)
	putFile(t, dir+"/hers.yaml", graph)
	putFile(t, dir+"/all.yaml", graph)
	putFile(t, dir+"/open/graph.yaml", graph)
	putFile(t, dir+"/graphs/one.yaml", graph)
	putFile(t, dir+"/includes.yaml", "include: [hers.yaml]\n")
	putFile(t, dir+"/catalog.json", "{}")
	putFile(t, dir+"/types/marker.yaml", guardType)
	putFile(t, dir+"/backends/b.yaml", "module: pkg\n")
	for _, path := range []string{"hers.yaml", "catalog.json", "types/marker.yaml", "backends"} {
		if err := os.Chown(dir+"/"+path, another, another); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{"all.yaml": 0o666, "open": 0o777, "graphs": 0o777} {
		if err := os.Chmod(dir+"/"+path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir+"/herstate", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir+"/herstate", another, another); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ script, want string }{
		{"mgmt run --converged-exit --yaml hers.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt plan --yaml hers.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt run --converged-exit --yaml all.yaml", "(mode 0666, owner root)"},
		{"mgmt run --converged-exit --yaml all.yaml", "chmod o-w $DIR/all.yaml"},
		{"mgmt run --converged-exit --yaml open/graph.yaml", "chmod o-w $DIR/open"},
		{"mgmt run --converged-exit --yaml graphs", "chmod o-w $DIR/graphs"},
		{"mgmt run --converged-exit --yaml includes.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt run --converged-exit --puppet-catalog catalog.json", "chown root $DIR/catalog.json"},
		{"mgmt run --converged-exit --yaml good.yaml --types types", "chown root $DIR/types/marker.yaml"},
		{"mgmt run --converged-exit --yaml good.yaml --backends backends", "chown root $DIR/backends"},
		{"mgmt resource marker --types types", "chown root $DIR/types/marker.yaml"},
		{"mgmt resource -f hers.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt run --converged-exit --yaml good.yaml --prefix herstate", "chown root $DIR/herstate"},
		{"mkfifo fifo; chown 12345 fifo; timeout 60 mgmt run --converged-exit --yaml fifo", "chown root $DIR/fifo"},
	} {
		out, code := shell(t, dir, c.script)
		if want := strings.ReplaceAll(c.want, "$DIR", dir); code != 1 || !strings.Contains(out, want) || !strings.Contains(out, "--trust-others") {
			t.Errorf("%s ended with %d, want %q in\n%s", c.script, code, want, out)
		}
		if _, err := os.Stat(dir + "/made"); err == nil {
			t.Fatalf("%s has run the graph", c.script)
		}
	}
	for _, script := range []string{
		"mgmt run --converged-exit --yaml good.yaml",
		"mgmt run --converged-exit --yaml - <hers.yaml",
		"mgmt run --converged-exit --yaml <(cat hers.yaml)",
		"mgmt run --converged-exit --yaml hers.yaml --trust-others",
		"mgmt run --converged-exit --yaml open/graph.yaml --trust-others",
		"mgmt validate --yaml hers.yaml", "mgmt graph --yaml hers.yaml",
		"chown 0 hers.yaml && mgmt run --converged-exit --yaml hers.yaml",
	} {
		_ = os.Remove(dir + "/made")
		if out, code := shell(t, dir, script); code != 0 {
			t.Errorf("%s ended with %d\n%s", script, code, out)
		}
		if _, err := os.Stat(dir + "/made"); err != nil && strings.Contains(script, " run ") {
			t.Errorf("%s did nothing", script)
		}
	}
}

// TestFindingA8EveryInput: each file and folder that decides about the daemon is judged as the graph is, whichever
// option or key names it. Each of these belongs to another user.
func TestFindingA8EveryInput(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	file := func(head string) string {
		return head + "resources:\n  file:\n  - {name: " + dir + "/made, content: x}\n"
	}
	value := func(expression string) string {
		return "resources:\n  file:\n  - {name: " + dir + "/made, content: \"${{ " + expression + " }}\"}\n"
	}
	putFile(t, dir+"/good.yaml", file(""))
	for path, text := range map[string]string{
		"hers/m.yaml": "x", "hers/module.yaml": file("module: hers\n"), "hers.txt": "a: b\n",
	} {
		putFile(t, dir+"/"+path, text)
	}
	for _, path := range []string{"hers", "hers/m.yaml", "hers/module.yaml", "hers.txt"} {
		if err := os.Chown(dir+"/"+path, another, another); err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, dir+"/own.txt", "x")
	options := map[string]string{ // of a graph that is good; each names what is hers
		"hers.txt": "--world bolt:F|--vars F|--identity F|--trusted-keys F|--world etcd://127.0.0.1:1 --ca F|" +
			"--world etcd://127.0.0.1:1 --ca own.txt --cert F --key own.txt|--world etcd://127.0.0.1:1 --ca own.txt --cert own.txt --key F|" +
			"--world etcd://127.0.0.1:1 --user u --password-file F|--api-listen 127.0.0.1:0 --api-cert F --api-key own.txt --api-ca own.txt|" +
			"--api-listen 127.0.0.1:0 --api-cert own.txt --api-key F --api-ca own.txt|--api-listen 127.0.0.1:0 --api-cert own.txt --api-key own.txt --api-ca F|--config F",
		"hers": "--world bolt:F/missing.db|--models F|--plugins F|--types F|--backends F|--targets F|--prefix F",
	}
	var scripts [][2]string
	for path, list := range options {
		for option := range strings.SplitSeq(list, "|") {
			scripts = append(scripts, [2]string{"mgmt run --converged-exit --yaml good.yaml " + strings.ReplaceAll(option, "F", path), path})
		}
	}
	for name, g := range map[string][2]string{ // graphs that name what is hers
		"vars": {file("include: [hers.txt]\n"), "hers.txt"}, "data": {file("data: {files: [hers.txt]}\n"), "hers.txt"},
		"read": {value("read('hers.txt')"), "hers.txt"}, "template": {value("template('hers.txt')"), "hers.txt"},
		"module": {file("use: [{module: ./hers}]\n"), "hers"}, "secrets": {"secrets: [{age: hers.txt}]\n" + value("secret('a')"), "hers.txt"},
	} {
		putFile(t, dir+"/"+name+".yaml", g[0])
		scripts = append(scripts, [2]string{"mgmt run --converged-exit --yaml " + name + ".yaml", g[1]})
	}
	for _, s := range scripts {
		out, code := shell(t, dir, s[0])
		if want := "chown root " + dir + "/" + s[1]; code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s ended with %d, want %q in\n%s", s[0], code, want, out)
		}
		if _, err := os.Stat(dir + "/made"); err == nil {
			t.Errorf("%s has run the graph", s[0])
			_ = os.Remove(dir + "/made")
		}
	}
}

// TestFindingA8Compiler: no verb runs as root a compiler that another user could have written, also where it only reads the
// program of that user. A compiler is not passed over in silence either.
func TestFindingA8Compiler(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	compiler := dir + "/project/node_modules/.bin/tsc"
	putFile(t, dir+"/project/package.json", "{}")
	putFile(t, dir+"/project/graph.ts", "")
	putFile(t, compiler, "#!/bin/sh\ntouch "+dir+"/ran\n")
	if err := errors.Join(os.Chmod(compiler, 0o755), os.Chown(compiler, another, another)); err != nil {
		t.Fatal(err)
	}
	const trusting = "export XDG_CONFIG_HOME=$DIR/config; " // the guard is for projects that are trusted
	if out, code := shell(t, dir, trusting+"mgmt ts trust project"); code != 0 {
		t.Fatal(out)
	}
	for _, verb := range []string{"validate", "render", "graph", "plan", "run --converged-exit"} {
		out, _ := shell(t, dir, trusting+"mgmt "+verb+" --check=require --ts project/graph.ts 2>&1")
		if !strings.Contains(out, "chown root "+compiler) || !strings.Contains(out, "--check=off") {
			t.Errorf("%s does not name the compiler of another user:\n%s", verb, out)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Fatalf("%s has run the compiler of another user", verb)
		}
	}
	for _, script := range []string{"MGMT_TRUST_OTHERS=true mgmt validate", "mgmt run --converged-exit --trust-others", "SUDO_UID=12345 mgmt validate"} {
		out, _ := shell(t, dir, trusting+script+" --check=require --ts project/graph.ts")
		if _, err := os.Stat(dir + "/ran"); err != nil {
			t.Errorf("%s does not run the compiler:\n%s", script, out)
		}
		_ = os.Remove(dir + "/ran")
	}
}

// TestFindingA8FilesThatDecideElsewhere: as root, no verb hands on what another user could have written: to the hosts of a
// deploy, to the store of the daemon, or to the recipients of secrets. What the caller has opened is taken.
func TestFindingA8FilesThatDecideElsewhere(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	putFile(t, dir+"/graph.yaml", "resources:\n  print:\n  - {name: a, msg: hello}\n")
	putFile(t, dir+"/including.yaml", "include: [graph.yaml]\n")
	putFile(t, dir+"/objects.yaml", "table: print\nid: a\nmsg: hello\n")
	putFile(t, dir+"/secrets.yaml", "recipients: [age1xxxx]\na: b\n")
	for _, name := range []string{"graph", "objects", "secrets"} {
		if err := os.Chown(dir+"/"+name+".yaml", another, another); err != nil {
			t.Fatal(err)
		}
	}
	for verb, file := range map[string]string{
		"deploy graph.yaml --to all --socket none": "graph", "deploy including.yaml --to all --socket none": "graph", "deploy graph.yaml --to all --dry-run --socket none": "graph",
		"api apply -f objects.yaml --socket none": "objects", "secret rekey secrets.yaml": "secrets", "secret edit secrets.yaml": "secrets",
	} {
		path := dir + "/" + file + ".yaml"
		out, code := shell(t, dir, "VISUAL=true mgmt "+verb)
		if code != 1 || !strings.Contains(out, "chown root "+path) || !strings.Contains(out, "--trust-others") {
			t.Errorf("%s ended with %d\n%s", verb, code, out)
		}
		for _, way := range []string{"mgmt " + verb + " --trust-others", "SUDO_UID=12345 mgmt " + verb} {
			if out, _ := shell(t, dir, "VISUAL=true "+way); strings.Contains(out, "chown") {
				t.Errorf("%s refuses the file\n%s", way, out)
			}
		}
	}
	if out, _ := shell(t, dir, "mgmt api apply --socket none -f - <objects.yaml; mgmt api apply --socket none -f <(cat objects.yaml)"); strings.Contains(out, "chown") {
		t.Error(out)
	}
}

// TestFindingA8SudoCaller: under sudo the caller may own the graph and its folder. What yet another
// user owns is refused, and the state folder has to be root's as ever.
func TestFindingA8SudoCaller(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	graph := "resources:\n  file:\n  - {name: " + dir + "/made, content: x}\n"
	putFile(t, dir+"/home/graph.yaml", graph)
	putFile(t, dir+"/home/all.yaml", graph)
	putFile(t, dir+"/home/types/marker.yaml", guardType)
	for _, path := range []string{"home", "home/graph.yaml", "home/all.yaml", "home/types", "home/types/marker.yaml"} {
		if err := os.Chown(dir+"/"+path, another, another); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/home/all.yaml", 0o666); err != nil {
		t.Fatal(err)
	}
	const run = " mgmt run --converged-exit --yaml home/"
	for _, c := range []struct{ script, want string }{
		{"SUDO_UID=12346 SUDO_GID=12346" + run + "graph.yaml", "chown root $DIR/home"},
		{"SUDO_UID=0 SUDO_GID=0" + run + "graph.yaml", "chown root $DIR/home"},
		{"SUDO_UID=x" + run + "graph.yaml", "chown root $DIR/home"},
		{"SUDO_UID=12345 SUDO_GID=12345" + run + "all.yaml", "chmod o-w $DIR/home/all.yaml"},
		{"SUDO_UID=12345 SUDO_GID=12345" + run + "graph.yaml --prefix home/state", "chown root $DIR/home"},
	} {
		out, code := shell(t, dir, c.script)
		if want := strings.ReplaceAll(c.want, "$DIR", dir); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s ended with %d, want %q in\n%s", c.script, code, want, out)
		}
	}
	if out, code := shell(t, dir, "SUDO_UID=12345 SUDO_GID=12345"+run+"graph.yaml --types home/types"); code != 0 {
		t.Errorf("it ended with %d\n%s", code, out)
	}
	if _, err := os.Stat(dir + "/made"); err != nil {
		t.Error(err)
	}
}

// TestFindingA8LinkInTheStateFolder: a link in the place of vars is not followed.
func TestFindingA8LinkInTheStateFolder(t *testing.T) {
	dir := publicDir(t)
	putFile(t, dir+"/graph.yaml", "resources:\n  file:\n  - {name: "+dir+"/made, content: x}\n")
	for _, d := range []string{"/state", "/victim"} {
		if err := os.Mkdir(dir+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir+"/victim", dir+"/state/vars"); err != nil {
		t.Fatal(err)
	}
	out, code := shell(t, dir, "mgmt run --converged-exit --yaml graph.yaml")
	if code != 1 || !strings.Contains(out, dir+"/state/vars is a link, and is not followed") {
		t.Errorf("it ended with %d\n%s", code, out)
	}
}

// TestFindingA8Reload: a graph that becomes writable later is refused by the next reload, with the
// reason, and the graph that runs goes on.
func TestFindingA8Reload(t *testing.T) {
	needRoot(t)
	d := newDaemon(t, publicDir(t), onefile)
	d.start()
	d.has("wanted", "right")
	if err := os.Chmod(d.path("graph.yaml"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.write("graph.yaml", strings.ReplaceAll(d.read("graph.yaml"), "right", "evil"))
	d.says("chmod o-w " + d.path("graph.yaml"))
	d.write("wanted", "drift")
	d.has("wanted", "right")
	if err := os.Chmod(d.path("graph.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.has("wanted", "evil")
	d.stop(syscall.SIGTERM)
}

// TestFindingA8OrdinaryUser: who is not root runs what he likes, as ever.
func TestFindingA8OrdinaryUser(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{bin, dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, dir+"/home/own.yaml", "resources:\n  print:\n  - {name: a, msg: hello}\n")
	putFile(t, dir+"/roots.yaml", "resources:\n  print:\n  - {name: a, msg: hello}\n")
	putFile(t, dir+"/home/all.yaml", "resources:\n  print:\n  - {name: a, msg: hello}\n")
	for _, path := range []string{"home", "home/own.yaml", "home/all.yaml"} {
		if err := os.Chown(dir+"/"+path, another, another); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/home/all.yaml", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, graph := range []string{"home/own.yaml", "roots.yaml", "home/all.yaml", "-", "<(cat home/own.yaml)"} {
		script := "mgmt run --converged-exit --yaml " + graph + " --prefix $DIR/home/state < roots.yaml"
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "DIR=" + dir, "HOME=" + dir + "/home"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: another, Gid: another}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "hello") {
			t.Errorf("%s: %v\n%s", graph, err, out)
		}
	}
}

// TestFindingA8Apply: apply, too, refuses as root what another user could have written.
func TestFindingA8Apply(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	graph := "resources:\n  print:\n  - {name: a, msg: hello}\n"
	putFile(t, dir+"/hers.yaml", graph)
	putFile(t, dir+"/all.yaml", graph)
	if err := errors.Join(os.Chown(dir+"/hers.yaml", another, another), os.Chmod(dir+"/all.yaml", 0o666)); err != nil {
		t.Fatal(err)
	}
	for file, mend := range map[string]string{"hers.yaml": "chown root", "all.yaml": "chmod o-w"} {
		out, code := shell(t, dir, "mgmt apply --socket none "+file)
		if want := mend + " " + dir + "/" + file; code != 1 || !strings.Contains(out, want) {
			t.Errorf("apply %s ended with %d, want %q in\n%s", file, code, want, out)
		}
	}
	for _, args := range []string{"--trust-others all.yaml", "- <hers.yaml", "<(cat hers.yaml)"} {
		out, code := shell(t, dir, "mgmt apply --socket none "+args)
		if code == 0 || strings.Contains(out, "chown") || strings.Contains(out, "chmod") || !strings.Contains(out, "none") {
			t.Errorf("apply %s ended with %d, want no daemon at the socket\n%s", args, code, out)
		}
	}
}

// TestFindingC4NotUTF8: apply refuses a document that is not UTF-8, as run does: the way to the
// daemon would make other text of it.
func TestFindingC4NotUTF8(t *testing.T) {
	dir := t.TempDir()
	putFile(t, dir+"/latin.yaml", "resources:\n  print:\n  - {name: a, msg: \"caf\xe9\"}\n")
	for _, args := range []string{"latin.yaml", "- <latin.yaml"} {
		out, code := shell(t, dir, "mgmt apply --socket none "+args)
		if code != 1 || !strings.Contains(out, "is not UTF-8") {
			t.Errorf("apply %s ended with %d\n%s", args, code, out)
		}
	}
}

// TestFindingD6Guard: as root, a configuration that others could have written is refused by every verb that
// reads it, with the command that mends it. An ordinary user who may not read it goes on without it.
func TestFindingD6Guard(t *testing.T) {
	needRoot(t)
	dir := publicDir(t)
	for _, name := range []string{"hers", "all", "mine", "closed", "open/any"} {
		putFile(t, dir+"/"+name+".yaml", "max_changes: 20/5m\n")
	}
	if err := os.Chown(dir+"/hers.yaml", another, another); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("mine.yaml", dir+"/link.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(dir+"/link.yaml", another, another); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{"all.yaml": 0o666, "open": 0o777, "closed.yaml": 0o600} {
		if err := os.Chmod(dir+"/"+path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ script, want string }{
		{"mgmt config --config hers.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt config --check --config hers.yaml", "chown root $DIR/hers.yaml"},
		{"mgmt status --config all.yaml", "chmod o-w $DIR/all.yaml"},
		{"MGMT_CONFIG=open/any.yaml mgmt validate none.yaml", "chmod o-w $DIR/open"},
		{"mgmt run --converged-exit --config hers.yaml none.yaml", "MGMT_TRUST_OTHERS=true"},
		{"mgmt config --config link.yaml", "link"},
	} {
		out, code := shell(t, dir, c.script)
		if want := strings.ReplaceAll(c.want, "$DIR", dir); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, %s", c.script, code, out)
		}
	}
	for _, script := range []string{
		"mgmt config max_changes --config mine.yaml", "mgmt config max_changes --config closed.yaml", "mgmt config max_changes --trust-others --config hers.yaml",
		"MGMT_TRUST_OTHERS=true mgmt config max_changes --config all.yaml", "SUDO_UID=12345 mgmt config max_changes --config hers.yaml",
	} {
		if out, code := shell(t, dir, script); code != 0 || !strings.Contains(out, "20/5m") {
			t.Errorf("%s: code %d, %s", script, code, out)
		}
	}
}
