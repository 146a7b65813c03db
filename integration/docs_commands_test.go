package integration_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// callOfMgmt finds the program at the begin of a line or of a command in a pipe, over ssh and
	// with variables before it, too.
	callOfMgmt = regexp.MustCompile(`(?:^|[|;&] *|ssh "?[$\w]+"? |sudo |\$ |do +)(bin/)?(mgmt|mgmt-docker) +([^|;&<>#]*)`)
	// shellWord is a word of a shell, in quotes or not.
	shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

// callsIn returns the calls of mgmt in a block of commands, each as its words.
func callsIn(text string) [][]string {
	var list [][]string
	for line := range strings.Lines(text) {
		quoted := strings.NewReplacer("|", "\x01", ";", "\x02", "&", "\x03", "<", "\x04", ">", "\x05", "#", "\x06")
		line = regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllStringFunc(strings.TrimSpace(line), quoted.Replace)
		for _, m := range callOfMgmt.FindAllStringSubmatch(line, -1) {
			if m[2] != "mgmt" {
				continue // the other program has a module of its own
			}
			var words []string
			for _, w := range shellWord.FindAllString(m[3], -1) {
				words = append(words, strings.Trim(w, `'"`))
			}
			list = append(list, words)
		}
	}
	return list
}

// typed returns the lines of a block that a reader types: a console has output between.
func typed(b block) string {
	if b.lang != "console" {
		return b.text
	}
	var in strings.Builder
	for line := range strings.Lines(b.text) {
		if strings.HasPrefix(line, "$ ") {
			in.WriteString(line)
		}
	}
	return in.String()
}

// TestCommandsInTheDocs: the program knows every verb and every flag in the commands of
// the pages. With --help it reads them all, and does nothing.
func TestCommandsInTheDocs(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.lang != "sh" && b.lang != "console" {
				continue
			}
			for _, words := range callsIn(typed(b)) {
				n++
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), append(words, "--help")...)
				cmd.Dir = t.TempDir()
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: mgmt %s: %v\n%s", page, strings.Join(words, " "), err, out)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d commands found in the docs", n)
	}
}

// TestCommandsAreFound: the reader of the pages finds a command in each of the forms in
// which they write one.
func TestCommandsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"mgmt status":         "status",
		"$ mgmt run web.yaml": "run web.yaml",
		"mgmt log  --since 2h   # the last two hours":     "log --since 2h",
		"ssh web1 mgmt apply - --wait < web1.yaml":        "apply - --wait",
		`  ssh "$host" mgmt apply - --wait < "$host"`:     "apply - --wait",
		"generate | mgmt apply -":                         "apply -",
		"mgmt graph g.yaml | dot -Tsvg":                   "graph g.yaml",
		"mgmt why 'exec[a b]'":                            "why exec[a b]",
		`mgmt pause --reason "a | b"`:                     "pause --reason a \x01 b",
		"systemctl reload mgmt":                           "",
		"journalctl -u mgmt -p err":                       "",
		"make run    # builds bin/mgmt":                   "",
		"bin/mgmt-docker doc docker_image":                "",
		"mgmt resource -f a; mgmt status":                 "resource -f a|status",
		"mgmt run g.yaml --socket /tmp/s & mgmt status -": "run g.yaml --socket /tmp/s|status -",
	} {
		var got []string
		for _, words := range callsIn(text) {
			got = append(got, strings.Join(words, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}
