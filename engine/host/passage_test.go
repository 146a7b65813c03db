package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPassages plays testdata/passages.txt: each paragraph is one name, whose steps a line each
// tell of.
//
//	12ms created by 7      a step; a pid, "gone" behind it where it has ended
//	12ms created by 7 written   the modification that was served before came later
//	12ms ended 7           a process has ended
//	12ms closed by 7, 8 holds it
//	=> 15ms                when those who ask for the name are told, "at once" with the last step
func TestPassages(t *testing.T) {
	text, err := os.ReadFile("testdata/passages.txt")
	must(t, err)
	for para := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(para), "\n")
		t.Run(strings.TrimPrefix(lines[0], "# "), func(t *testing.T) { playPassage(t, lines[1:]) })
	}
}

func playPassage(t *testing.T, lines []string) {
	began := time.Unix(1_000_000, 0)
	var p passage
	complete := false
	for _, line := range lines {
		if want, ok := strings.CutPrefix(line, "=> "); ok {
			got := "at once"
			if !complete {
				got = p.due().Sub(began).String()
			}
			if got != want {
				t.Fatalf("told %s, want %s", got, want)
			}
			continue
		}
		if complete {
			t.Fatalf("complete before %q", line)
		}
		words := strings.Fields(line)
		after, err := time.ParseDuration(words[0])
		must(t, err)
		if words[1] == "ended" {
			pid, err := strconv.Atoi(words[2])
			must(t, err)
			complete = p.ended(pid)
			continue
		}
		complete = p.take(stepOf(t, words[1:]), began.Add(after))
	}
}

// stepOf reads a step: what happened, joined by +, and who did it.
func stepOf(t *testing.T, words []string) (s step) {
	t.Helper()
	for what := range strings.SplitSeq(words[0], "+") {
		o, ok := map[string]op{
			"created": opCreated, "modified": opModified, "closed": opClosed, "removed": opRemoved, "moved-out": opMovedOut,
			"moved-in": opMovedIn, "attributes": opAttributes, "folder": opFolder, "unsure": opUnsure,
		}[what]
		if !ok {
			t.Fatalf("what is %q?", what)
		}
		s.op |= o
	}
	if len(words) > 1 {
		_, err := fmt.Sscanf(strings.TrimSuffix(words[2], ","), "%d", &s.pid)
		must(t, err)
	}
	s.ended = func() bool { return len(words) == 4 && words[3] == "gone" }
	s.written = len(words) == 4 && words[3] == "written"
	if len(words) == 6 {
		s.holds = func(pid int) bool { return fmt.Sprint(pid) == words[3] }
	}
	return s
}
