package integration_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// looking are the verbs that alter nothing of the machine.
var looking = []string{"config", "doc", "facts", "graph", "import", "interface", "plan", "schema", "validate", "version"}

// harmless returns why a command of a page is not run by a test: it could alter the machine of the tests. A
// command may look, alter things in the folder of the test, and call the backend box, which the page brings and which
// lives in that folder.
func harmless(command, dir string) error {
	words, err := shellWords(command)
	if err != nil {
		return err
	}
	for _, w := range words {
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return r == '=' || r == '@' }) {
			if path := filepath.Clean(part); filepath.IsAbs(part) && path != "/dev/null" && path != dir && !strings.HasPrefix(path, dir+"/") {
				return fmt.Errorf("%s is not in the folder of the test", part)
			}
			if slices.Contains(strings.Split(part, "/"), "..") {
				return fmt.Errorf("%s may lead out of the folder of the test", part)
			}
		}
	}
	switch {
	case len(words) == 2 && (words[0] == "rm" || words[0] == "cat"):
		return nil
	case len(words) < 2 || words[0] != "mgmt":
		return fmt.Errorf("%q is neither mgmt nor harmless", words)
	case slices.Contains(looking, words[1]):
		return nil
	case words[1] == "resource" && len(words) > 3 && (words[2] == "file" || words[2] == "-f") && filepath.IsAbs(words[3]):
		return nil // the path was looked at
	case words[1] != "call" && words[1] != "resource":
		return fmt.Errorf("mgmt %s may alter the machine", words[1])
	}
	for flag, value := range map[string]string{"--backend": "box", "--backends": "backends"} {
		if at := slices.Index(words, flag); at < 0 || at+1 == len(words) || words[at+1] != value || slices.Index(words[at+1:], flag) >= 0 {
			return fmt.Errorf("mgmt %s without %s %s may alter the machine", words[1], flag, value)
		}
	}
	return nil
}

// shellWords returns the words of a command, without their quotes. A command that has more of a shell than
// quotes and redirections is an error.
func shellWords(command string) (words []string, err error) {
	var word strings.Builder
	quoted, open := false, false
	for _, r := range command {
		switch {
		case r == '\'':
			quoted, open = !quoted, true
		case quoted:
			word.WriteRune(r)
		case strings.ContainsRune(";&|`$(){}\n\\\"*?~#<!", r):
			return nil, fmt.Errorf("%q has the character %q, whose meaning is the shell's", command, r)
		case r == ' ' || r == '>':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("%q has an open quote", command)
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// TestHarmless: no command that could alter the machine of the tests passes.
func TestHarmless(t *testing.T) {
	for _, command := range []string{
		"mgmt facts", "mgmt plan /d/graph.yaml", "rm /d/motd", "mgmt facts > /d/text", "mgmt facts 2>/dev/null",
		"mgmt resource file /d/motd content=hello mode=0644", "mgmt resource -f /d/text --quiet",
		`mgmt call pkg.remove names:='["vim"]' --backend box --backends backends`,
		"mgmt resource pkg emacs state=installed --backend box --backends backends",
	} {
		if err := harmless(command, "/d"); err != nil {
			t.Errorf("%s is refused: %v", command, err)
		}
	}
	for _, command := range []string{
		`mgmt call pkg.remove names:='["vim"]' --backends backends`, "mgmt call pkg.remove --backend apt --backends backends",
		"mgmt call pkg.remove --backend box --backends /usr/share", "mgmt call pkg.remove --backend box --backends backends --backend apt",
		"mgmt call svc.stop name=ssh", "mgmt resource svc ssh state=stopped", "mgmt resource pkg vim state=uninstalled --backend box",
		"mgmt resource file /etc/motd content=x", "mgmt resource file /d/../etc/motd content=x", "mgmt resource file motd content=x", "mgmt resource file /d/x content@/etc/shadow", "mgmt resource -f /tmp/text",
		"mgmt run /d/graph.yaml", "mgmt apply /d/graph.yaml", "rm /etc/passwd", "rm -r /d", "mgmt facts > /etc/motd", "mgmt facts 2>/etc/motd",
		"mgmt facts; reboot", "mgmt facts && reboot", "mgmt facts | sh", "mgmt facts $(reboot)", "mgmt facts `reboot`", "mgmt facts\nreboot", `mgmt facts "$HOME"`, "rm ~", "rm *",
		"reboot", "apt-get remove vim", "", "mgmt", "mgmt facts 'open",
	} {
		if harmless(command, "/d") == nil {
			t.Errorf("%q would be run", command)
		}
	}
}
