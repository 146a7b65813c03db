package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingD11Compiles: a module is refused where it, or what it imports, calls what the system has not, and where vet finds fault.
func TestFindingD11Compiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"good":   {"// One is for a test.\nconst One = 1\n", ""},
		"linux":  {"import \"syscall\"\n\n// Lock is of Linux.\nconst Lock = syscall.LOCK_EX\n", "undefined: syscall.LOCK_EX"},
		"body":   {"import \"syscall\"\n\nfunc lock() int { return syscall.LOCK_EX }\n\nvar _ = lock\n", "undefined: syscall.LOCK_EX"},
		"vetted": {"import \"fmt\"\n\nfunc say() { fmt.Printf(\"%d\", \"one\") }\n\nvar _ = say\n", "one_windows.go"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":             "module example.com/sample\n\ngo 1.26.0\n",
				"main.go":            "// Command sample is for a test.\npackage main\n\nimport _ \"example.com/sample/one\"\n\nfunc main() {}\n",
				"one/one.go":         "// Package one is for a test.\npackage one\n",
				"one/one_windows.go": "package one\n\n" + c.text,
			} {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := check(dir, "linux/arm64", "."); err != nil {
				t.Errorf("on Linux: %v", err)
			}
			switch err := check(dir, "windows/amd64", "."); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
