// Package transcript plays text files against a component of the reactor: operations go in, and
// the files say which decisions come out. Only tests import it.
//
// A file is a list of blocks, with an empty line between two of them. A block is a command,
// perhaps with lines that belong to it, a line of four dashes, and the answer. Lines that begin
// with # explain. The flag -update writes the answers anew.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Play plays the files testdata/*.txt; there must be at least so many. For each file it calls
// begin, which returns the function that obeys the commands of that file.
func Play(t *testing.T, least int, begin func(t *testing.T) (do func(input []string) string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < least {
		t.Fatalf("%d files in testdata, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, commands := replay(string(want), begin(t))
			if commands == 0 {
				t.Errorf("%s has no commands", file)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s: got\n%s", file, got)
			}
		})
	}
}

// replay returns the transcript with the answers that its commands have now, and the number of its commands.
func replay(text string, do func(input []string) string) (now string, commands int) {
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		var input []string
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			if line == "----" {
				break
			}
			out.WriteString(line + "\n")
			if !strings.HasPrefix(line, "#") {
				input = append(input, line)
			}
		}
		if len(input) > 0 {
			commands++
			out.WriteString("----\n" + do(input))
		}
	}
	return out.String(), commands
}
