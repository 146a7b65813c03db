// Package tsctest runs tsc, the compiler of TypeScript, in tests of generated code.
//
// # Laws
//
//   - Programs are checked as strictly as those of a new project, and by the exact optional types too.
//   - A machine without tsc skips the test and says so. Under CI=true that is a failure.
//   - It writes into the folder that a test gives, and nowhere else.
package tsctest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// oldest is the first version of TypeScript that knows all settings, as major and minor number.
var oldest = []int{5, 8}

// Need returns the path of tsc. It skips the test where there is none, or one that is too old.
func Need(t testing.TB) string {
	t.Helper()
	say := t.Skipf
	if os.Getenv("CI") == "true" {
		say = t.Fatalf
	}
	path, err := exec.LookPath("tsc")
	if err != nil {
		say("NO TYPE IS CHECKED: tsc is missing; .ci/tsc installs it")
		return ""
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", path, err)
	}
	var version []int
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSpace(string(out)), "Version "), ".") {
		n, _ := strconv.Atoi(part) // a word such as beta counts as 0
		version = append(version, n)
	}
	if slices.Compare(version, oldest) < 0 {
		say("NO TYPE IS CHECKED: %s is of version %s, which is too old; .ci/tsc installs another", path, out)
	}
	return path
}

// settings are those of every check.
var settings = map[string]any{
	"target": "es2022", "lib": []string{"es2022"}, "types": []string{}, "module": "esnext", "moduleResolution": "bundler", "noEmit": true,
	"allowImportingTsExtensions": true, "resolveJsonModule": true, "verbatimModuleSyntax": true, "erasableSyntaxOnly": true,
	"strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true,
	"paths": map[string][]string{"mgmt": {"./mgmt/index.ts"}},
}

// Check writes files into a folder and checks all programs below it. It returns the findings of tsc, one on each line, with
// paths relative to the folder. The folder needs the module mgmt as mgmt/index.ts.
func Check(t testing.TB, dir string, files map[string]string) []string {
	t.Helper()
	tsc := Need(t)
	config, err := json.Marshal(map[string]any{"compilerOptions": settings, "include": []string{"**/*.ts"}})
	if err != nil {
		t.Fatal(err)
	}
	Write(t, dir, files)
	Write(t, dir, map[string]string{"tsconfig.json": string(config)})
	cmd := exec.Command(tsc, "--project", ".", "--pretty", "false")
	cmd.Dir = dir
	out, err := cmd.Output()
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "error TS") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	if err != nil && len(found) == 0 {
		t.Fatalf("%s: %v: %s", tsc, err, out)
	}
	return found
}

// Write writes files into a folder, by their paths with slashes.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
