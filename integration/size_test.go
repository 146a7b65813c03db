package integration_test

import (
	"debug/elf"
	"path/filepath"
	"testing"
)

// maxSize is how many bytes the program may take, as it is installed: without symbols.
// It was 22.3 MB after the front door, the stages and the lifecycle; the design allows 38 MB.
const maxSize = 22 << 20 // of which golang.org/x/crypto/ssh, for the transport, is 0.6 MB

// TestSize: the program stays small. What makes it large at one stroke is to ask for
// methods by name, as text/template does: then the linker keeps all that are exported.
func TestSize(t *testing.T) {
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
	for _, s := range symbols {
		if s.Name == "reflect.Value.MethodByName" || s.Name == "reflect.Value.Method" {
			t.Errorf("%s is linked: every exported method is kept; go build -ldflags=-dumpdep says for whom", s.Name)
		}
	}
	var size uint64
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			size += p.Filesz
		}
	}
	t.Logf("%d bytes", size)
	if size > maxSize && !withRace() { // which makes it twice as large
		t.Errorf("%d bytes, more than %d", size, maxSize)
	}
}
