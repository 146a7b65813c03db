package integration_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxSize is how many bytes the program may take, as it is installed: without symbols. The clients of etcd and of CEL are the
// largest parts of it. It is a bound for a library that brings far more than it is used for, and no target.
const maxSize = 58_000_000

// TestSize: the program stays small. What makes it large at one stroke is to ask for
// methods by name, as text/template does: then the linker keeps all that are exported.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("make check builds the program as it is released")
	}
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(filepath.Join(dir, "mgmt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	reportMethods(t, symbols)
	size := sizeOf(file)
	t.Logf("%d bytes", size)
	if size > maxSize && !withRace() { // which makes it twice as large
		t.Errorf("%d bytes, more than %d", size, maxSize)
	}
}

// unused is an exported method that nothing calls, of a type that is in interfaces: it is linked only where all methods are.
// The functions that ask by name are no sign: with a constant name, as protobuf has it, the linker keeps the methods of that name.
const unused = "time.Time.ISOWeek"

// reportMethods fails the test where methods are asked for by name.
func reportMethods(t *testing.T, symbols []elf.Symbol) {
	t.Helper()
	if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == unused }) {
		t.Errorf("%s is linked, which nothing calls: every exported method is kept; go build -ldflags=-dumpdep says for whom", unused)
	}
}

// sizeOf is how many bytes of a program are loaded: it is installed without the others.
func sizeOf(file *elf.File) (size uint64) {
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			size += p.Filesz
		}
	}
	return size
}

// notInFile are names of functions that have no place in such a program. The names stay in a stripped program, for panics. The last
// one takes words of other tools, for graphs that people wrote.
var notInFile = []string{"godbus/dbus", "go-systemd", "/netlink.", "internal/systemd1", "internal/rtnet", "host/msgbus", "net/http.", "encoding/json.(*Decoder)", "gapi.(*foreignRes)"}

// TestFileAlone: a program that embeds the kind file links no other kind, and neither netlink nor code for message buses and
// systemd, and works. The journal, and the code that shares with other hosts, come with a value of Options: see mgmt.StateIn and mgmt.Share.
func TestFileAlone(t *testing.T) {
	const main = "./testdata/embedfile"
	out, err := exec.Command("go", "list", "-deps", main).Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		kind, isKind := strings.CutPrefix(p, "github.com/reactivegraph/mgmt/resources/")
		if strings.Contains(p, "netlink") || strings.Contains(p, "dbus") || strings.Contains(p, "systemd") || isKind && kind != "file" && !strings.HasPrefix(kind, "internal/") {
			t.Errorf("a program with the kind file alone links %s", p)
		}
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "embedfile")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", at, main).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(at)
	if err != nil || !bytes.Contains(text, []byte("mgmt/resources/file.(*Res).CheckApply")) {
		t.Fatal("the program has no names of functions", err)
	}
	for _, code := range notInFile {
		if bytes.Contains(text, []byte(code)) {
			t.Errorf("a program with the kind file alone has code of %s", code)
		}
	}
	made := filepath.Join(dir, "made")
	if out, err := exec.Command(at, made, "hello").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(made); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}
