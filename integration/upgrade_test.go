package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// packaged is a program of the provider aws with its schema file, as a package would bring them.
type packaged struct{ program, schema string }

// packagedAs builds the provider with another text in its schema. The text is laid over the file in the tree, which stays.
func packagedAs(t *testing.T, dir, name string) packaged {
	t.Helper()
	at, err := filepath.Abs("../examples/aws/provider/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	r := packaged{filepath.Join(dir, name+"-program"), filepath.Join(dir, name+"-schema")}
	over := filepath.Join(dir, name+"-overlay")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{at: r.schema}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{r.schema: strings.Replace(string(text), `"doc": "A `, `"doc": "`+name+`. A `, 1), over: string(list)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay", over, "-o", r.program, "../examples/aws/provider").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// renameIn renames a copy of a file to its place, as package managers do.
func renameIn(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to+".new~", text, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(to+".new~", to); err != nil {
		t.Fatal(err)
	}
}

// TestUpgradeOfAProvider replaces the program of a provider while the daemon runs. The old process goes on, and the next start takes the new
// program. Another schema is taken over with its program, in whichever order the two files come, wherever the schema file is, and whatever the
// old process does meanwhile. No resource fails, and nothing is made twice.
func TestUpgradeOfAProvider(t *testing.T) {
	dir := t.TempDir()
	first, second, third := packagedAs(t, dir, "first"), packagedAs(t, dir, "second"), packagedAs(t, dir, "third")
	for _, folder := range []string{"plugins", "elsewhere"} { // of the schema
		t.Run(folder, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"plugins", "elsewhere", "cloud"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			program, schema := filepath.Join(dir, "elsewhere", "aws"), filepath.Join(dir, folder, "aws.schema")
			renameIn(t, first.program, program)
			renameIn(t, first.schema, schema)
			d := newDaemon(t, dir, "resources:\n  aws:ec2:securitygroup:\n  - {name: web, groupDescription: wanted}\n",
				"--plugins", filepath.Join(dir, "plugins"), "--flapping", "off", "--trust-others")
			d.write("plugins/aws.yaml", fmt.Sprintf("{name: aws, command: [%s, -folder, %s], schema: %s, poll: 100ms}\n", program, filepath.Join(dir, "cloud"), schema))
			d.start()
			d.has("cloud/sg.json", `"wanted"`)
			d.says("converged: 1 ok")
			old := processesOf(program)
			if len(old) != 1 {
				t.Fatalf("there are %d processes of the provider", len(old))
			}
			repairs := func() {
				t.Helper()
				d.write("drifted", strings.ReplaceAll(d.read("cloud/sg.json"), `"wanted"`, `"drifted"`))
				renameIn(t, d.path("drifted"), d.path("cloud/sg.json")) // a provider never reads half of it
				d.has("cloud/sg.json", `"wanted"`)
			}
			status := func() string { return d.asks("plugin", "status", "-o", "json") }
			hash := func() string {
				text := status()
				_, rest, _ := strings.Cut(text, `"hash":`)
				return strings.Trim(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), `",`)
			}
			firstHash := hash()

			// The same program in another file: the process goes on, and another one comes when it is asked for.
			renameIn(t, first.program, program)
			repairs()
			if err := syscall.Kill(old[0], 0); err != nil {
				t.Errorf("the old process has gone: %v", err)
			}
			d.asks("plugin", "restart", "aws")
			d.until("the new program runs", func() bool { return len(processesOf(program)) == 1 })

			// Program first. The old process ends before the schema is there.
			now := processesOf(program)[0]
			renameIn(t, second.program, program)
			if err := syscall.Kill(now, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			time.Sleep(400 * time.Millisecond) // the time between the files of a package, in which the new program is tried with the old schema
			renameIn(t, second.schema, schema)
			d.until("the second schema is in effect", func() bool { return hash() != firstHash && strings.Contains(status(), `"phase": "ready"`) })
			repairs()
			secondHash := hash()

			// Schema first. The old process goes on until the graph with the new schema is in effect.
			renameIn(t, third.schema, schema)
			time.Sleep(400 * time.Millisecond)
			renameIn(t, third.program, program)
			if folder == "elsewhere" { // nothing tells mgmt of that file before the next start
				d.asks("plugin", "restart", "aws")
			}
			d.until("the third schema is in effect", func() bool { return hash() != secondHash && strings.Contains(status(), `"phase": "ready"`) })
			repairs()
			d.until("one process is left", func() bool { return len(processesOf(program)) == 1 })
			var groups map[string]any
			if err := json.Unmarshal([]byte(d.read("cloud/sg.json")), &groups); err != nil || len(groups) != 1 {
				t.Errorf("%d groups, %v", len(groups), err)
			}
			if strings.Contains(d.log.String(), "failed") {
				t.Errorf("a resource has failed:\n%s", d.log)
			}
		})
	}
}
