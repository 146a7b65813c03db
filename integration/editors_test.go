package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFindingP6Neovim: the settings of the page about editors, as they stand there, show the findings of each file.
func TestFindingP6Neovim(t *testing.T) {
	nvim, err := exec.LookPath("nvim")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs neovim")
	default:
		t.Skip("nvim is missing; on Debian: apt-get install neovim")
	}
	said, err := exec.Command(nvim, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`NVIM v0\.(\d+)`).FindSubmatch(said)
	page, err := os.ReadFile("../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := regexp.MustCompile("(?ms)^```lua\n(.*?)^```$").FindAllSubmatch(page, -1)
	if len(settings) != 2 {
		t.Fatalf("the page has %d settings, and not those for 0.11 and those for older versions", len(settings))
	}
	which := 0
	if version != nil {
		if minor, err := strconv.Atoi(string(version[1])); err == nil && minor < 11 {
			which = 1
		}
	}
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config/nvim/init.lua": string(settings[which][1]),
		"graph.yaml":           "resources:\n  file:\n  - name: /a\n    moed: \"0644\"\n",
		"other.yaml":           "resources:\n  file:\n  - name: /b\n    contnt: b\n",
		"script.lua": `
local function shown()
  assert(vim.wait(60000, function() return #vim.diagnostic.get(0) == 1 end, 20), "no finding")
  io.stdout:write(vim.diagnostic.get(0)[1].message, "\n")
end
shown()
vim.cmd("edit other.yaml")
shown()
vim.cmd("qa!")
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-i", "NONE", "-n", "graph.yaml", "-c", "luafile script.lua", "-c", "cquit")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/config", "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, want := range []string{`unknown key "moed" (did you mean "mode"?)`, `unknown key "contnt" (did you mean "content"?)`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %s", out.String(), want)
		}
	}
}
