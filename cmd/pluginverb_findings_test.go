package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// TestFindingN6Settings: plugin test hands the settings of --config to the provider before any other question. The provider here
// writes down what it is configured with, and ends.
func TestFindingN6Settings(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	schema := []byte(`{"format": 1, "name": "toy", "version": "0.0.0", "types": [{"token": "toy:index:T", "schema": {"version": 1, "type": {"kind": "struct"}}}]}`)
	script := fmt.Sprintf(`read -r line <&3
if [ -e "$1" ]; then # the first answer does not end the tries to start it
	echo '{"id": 1, "error": {"code": "denied", "message": "it was configured before"}}' >&3
	read -r line <&3
	exit
fi
echo '{"id": 1, "result": {"protocol": 1, "name": "toy", "version": "3.0.0", "schema_hash": "%s"}}' >&3
read -r line <&3
printf '%%s' "$line" >"$1"
echo '{"id": 2, "error": {"code": "invalid", "message": "seen"}}' >&3
read -r line <&3
`, protocol.HashOf(schema))
	for name, text := range map[string]string{
		"schema.json": string(schema), "provider.sh": script, "config.json": `{"account": "test", "secret_key": "hunter2", "regions": ["a", 1.5]}`, "broken.json": `{"account": `,
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(config string) (code int, out string) {
		var b bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &b, Err: &b}
		code = execute(t.Context(), a, []string{"plugin", "test", "--schema", at("schema.json"), "--config", at(config), "--", "/bin/sh", at("provider.sh"), at("seen")})
		return code, b.String()
	}
	if code, out := run("broken.json"); code != cli.ExitUsage || !strings.Contains(out, "broken.json: unexpected end") {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := run("config.json"); code != cli.ExitFailed || !strings.Contains(out, "it was configured before") || strings.Contains(out, "hunter2") {
		t.Errorf("%d: %s", code, out)
	}
	text, err := os.ReadFile(at("seen"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Method string
		Params protocol.ConfigureRequest
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Method != protocol.MethodConfigure || fmt.Sprint(m.Params.Config) != "map[account:test regions:[a 1.5] secret_key:hunter2]" {
		t.Errorf("%s: %v", text, err)
	}
}
