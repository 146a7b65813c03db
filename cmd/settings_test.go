package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/gapi"
)

// verbNamed returns a verb of the program.
func verbNamed(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := newRoot(&cli.App{In: strings.NewReader("")}, nil).Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestFindingD6EveryFlagOfRun is a setting, and every setting is a flag of run and of config,
// with the default that the table says.
func TestFindingD6EveryFlagOfRun(t *testing.T) {
	run, config := verbNamed(t, "run"), verbNamed(t, "config")
	keys := cli.Bound(run)
	run.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cli.SettingMark] == nil && !f.Hidden && f.Name != "help" && f.Name != "config" && f.Name != "no-color" {
			t.Errorf("--%s of run is no setting", f.Name)
		}
	})
	shown := cli.Bound(config)
	seen := map[string]string{}
	for _, s := range cli.Settings.Settings {
		f := keys[s.Key]
		if f == nil || shown[s.Key] == nil {
			t.Errorf("%s is no flag of run, or not of config", s.Key)
			continue
		}
		if s.Default != "" && s.Key != "graph" && f.DefValue != s.Default {
			t.Errorf("%s: the flag has the default %q, the table %q", s.Key, f.DefValue, s.Default)
		}
		for _, name := range []string{s.FlagName(), s.EnvName(), s.Key} {
			if other, taken := seen[name]; taken && other != s.Key {
				t.Errorf("%s and %s have the name %s", other, s.Key, name)
			}
			seen[name] = s.Key
		}
		if s.Example == "" || cli.Settings.Instead[s.Key] != "" {
			t.Errorf("%s has no example, or is refused", s.Key)
		}
		if err := f.Value.Set(exampleText(t, s.Key)); err != nil {
			t.Errorf("%s: the flag refuses the example: %v", s.Key, err)
		}
	}
}

// exampleText returns the example of a setting as its flag takes it.
func exampleText(t *testing.T, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mgmt.yaml")
	if err := os.WriteFile(path, []byte(key+": "+cli.Settings.Get(key).Example+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, ds := cli.Settings.Read(path, gapi.Source{})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return file.Given[key].Text()
}

// cli runs the program with a configuration, and without variables of the surroundings.
func invoke(t *testing.T, conf string, args ...string) (out string, code int) {
	t.Helper()
	for _, s := range cli.Settings.Settings {
		t.Setenv(s.EnvName(), "")
	}
	path := filepath.Join(t.TempDir(), "mgmt.yaml")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MGMT_CONFIG", path)
	t.Setenv("MGMT_TRUST_OTHERS", "true") // the folder of a test is open to nobody, but /tmp is above it
	var b bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &b, Err: &b}
	code = execute(t.Context(), a, args)
	return strings.ReplaceAll(b.String(), path, "FILE"), code
}

// TestFindingD6Groups: of settings that exclude each other those of the strongest source count,
// and settings of the daemon do not count for another state folder.
func TestFindingD6Groups(t *testing.T) {
	const conf = "debug: true\nsocket: /s\nprometheus: 127.0.0.1:9\nprefix: /p\nrole: [a]\nnoop: default\n"
	for _, c := range []struct {
		args string
		want []string
	}{
		{"config debug quiet", []string{"debug true FILE:1:1", "quiet false default"}},
		{"config debug quiet --quiet", []string{"debug false default", "quiet true --quiet"}},
		{"config debug quiet --quiet=false", []string{"debug true FILE:1:1", "quiet false --quiet"}},
		{"config prefix tmp_prefix socket prometheus --tmp-prefix", []string{"prefix", "tmp_prefix true --tmp-prefix", "socket", "prometheus - default"}},
		{"config socket prefix", []string{"socket /s FILE:2:1", "prefix /p FILE:4:1"}},
		{"config socket prefix role --prefix /q", []string{"socket /q/mgmt.sock default", "prefix /q --prefix", "role [a] FILE:5:1"}},
		{"config role --role b --role c", []string{"role [b, c] --role"}},
		{"config noop --noop", []string{"noop all --noop"}},
		{"config graph --yaml x", []string{"graph x --yaml"}},
	} {
		out, code := invoke(t, conf, strings.Fields(c.args)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")[1:]
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		if code != 0 || len(lines) != len(c.want) || !slices.EqualFunc(lines, c.want, strings.HasPrefix) {
			t.Errorf("mgmt %s: code %d, %q", c.args, code, lines)
		}
	}
}

// TestFindingD6BadInput: each wrong file is refused with a place, by every verb that has
// settings; verbs without any do not read it.
func TestFindingD6BadInput(t *testing.T) {
	for conf, want := range map[string]string{
		"socket: [a]\n":                      "FILE:1:9: socket: must be",
		"socket: ''\n":                       "FILE:1:9: socket: it is empty",
		"graph: '-'\n":                       "FILE:1:8: graph: standard input is for a flag",
		"role: {a: b}\n":                     "FILE:1:7: role: must be a list",
		"parallel: -1\n":                     "FILE:1:11: parallel: must be",
		"converged_timeout: soon\n":          "FILE:1:20: converged_timeout:",
		"noop: mostly\n":                     "FILE:1:7: noop: write all, default or false",
		"log_format: jsn\n":                  `FILE:1:13: log_format:`,
		"prometheus: 9233\n":                 `FILE:1:13: prometheus: "9233" is not an address`,
		"flapping: often\n":                  "FILE:1:11: flapping:",
		"max_removals: 10,20\n":              "FILE:1:15: max_removals:",
		"prefix: /a\ntmp_prefix: true\n":     "FILE:2:1: prefix and tmp_prefix exclude each other",
		"graph: a\npuppet_catalog: b\n":      "FILE:2:1: graph and puppet_catalog exclude each other",
		"debug: true\ndebug: true\n":         `FILE:2:1: the key "debug" is given twice`,
		"vars: {a: b}\n":                     "FILE:1:7: vars: must be a list",
		"secrets: []\n":                      "FILE:1:1: unknown setting \"secrets\": this file never holds secrets",
		"yaml: a\n":                          `FILE:1:1: unknown setting "yaml" (did you mean "graph"?)`,
		"--- {}\n--- {}\n":                   "FILE:2:",
		"debug: &a [*a]\n":                   "FILE:1:",
		"socket: \"a\n":                      "FILE:",
		"- debug\n":                          "FILE:1:1: the configuration must be a map",
		strings.Repeat("a: b\n", 300_000):    "FILE: the file is too big",
		"x: " + strings.Repeat("[", 200_000): "FILE:",
	} {
		for _, verb := range []string{"status", "config", "plan", "validate"} {
			if out, code := invoke(t, conf, verb); code != cli.ExitUsage || !strings.Contains(out, want) {
				t.Errorf("mgmt %s with %.40q: code %d, %.300s", verb, conf, code, out)
			}
		}
		if out, code := invoke(t, conf, "version"); code != cli.ExitOK {
			t.Errorf("mgmt version with %.40q: %s", conf, out)
		}
	}
}

// TestFindingD6Empty: what sets nothing is no error.
func TestFindingD6Empty(t *testing.T) {
	for _, conf := range []string{"", "\n", "# nothing\n", "---\n", "{}\n", "null\n"} {
		if out, code := invoke(t, conf, "config", "--check"); code != cli.ExitOK || out != "ok: FILE, 0 settings\n" {
			t.Errorf("%q: code %d, %s", conf, code, out)
		}
	}
}

// TestFindingD6Schema: the schema for editors is JSON with each setting.
func TestFindingD6Schema(t *testing.T) {
	text, err := cli.Settings.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Properties           map[string]any `json:"properties"`
		AdditionalProperties *bool          `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range cli.Settings.Settings {
		if doc.Properties[s.Key] == nil {
			t.Errorf("%s is not in the schema", s.Key)
		}
	}
	if doc.AdditionalProperties == nil || *doc.AdditionalProperties {
		t.Error("the schema takes unknown settings")
	}
}

// TestOldNamesOfSettings: flag, variable and key that a setting had before still count, with a warning each.
func TestOldNamesOfSettings(t *testing.T) {
	for _, c := range []struct{ conf, env, args, shown, warned string }{
		{"fight: 5/10m\n", "", "", "flapping 5/10m FILE:1:1", "fight is called flapping now"},
		{"", "6/10m", "", "flapping 6/10m MGMT_FIGHT", "MGMT_FIGHT is called MGMT_FLAPPING now"},
		{"", "", " --fight 7/10m", "flapping 7/10m --flapping", "--fight is called --flapping now"},
		{"fight: 5/10m\n", "", " --flapping off", "flapping off --flapping", "fight is called flapping now"},
	} {
		t.Setenv("MGMT_FIGHT", c.env)
		out, code := invoke(t, c.conf, strings.Fields("config flapping"+c.args)...)
		if lines := strings.Join(strings.Fields(out), " "); code != cli.ExitOK || !strings.Contains(lines, c.shown) || !strings.Contains(out, c.warned) {
			t.Errorf("%q, %q, %q: code %d, %s", c.conf, c.env, c.args, code, out)
		}
	}
	if out, code := invoke(t, "", "config", "--help"); code != cli.ExitOK || strings.Contains(out, "--fight") {
		t.Errorf("code %d, the help shows an old name", code)
	}
}
