package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0": 0, "1500ms": 1500 * time.Millisecond, "1h30m": 90 * time.Minute,
	} {
		var s Seconds
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%q is %s, %v", text, time.Duration(s), err)
		}
	}
	for _, text := range []string{"", "-1", "-5s", "soon", "5 s", "99999999999999999999", "1e3"} {
		var s Seconds
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "write 5s") {
			t.Errorf("%q is %s, %v", text, time.Duration(s), err)
		}
	}
}

func TestOrList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := OrList(words); got != want {
			t.Errorf("%q is %q", words, got)
		}
	}
}

func TestColored(t *testing.T) {
	var buf bytes.Buffer
	for word, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if Colored(Choice{Word: word}, &buf) != want {
			t.Errorf("--color=%s off a terminal is %t", word, !want)
		}
	}
}

// TestNoColor: --no-color is --color=never, and takes the words of any switch.
func TestNoColor(t *testing.T) {
	for flags, want := range map[string]string{
		"--no-color": "never", "--no-color=true": "never", "--no-color=false": "auto", "--color=always --no-color=0": "always", "--no-color=maybe": "",
	} {
		var c Choice
		cmd := &cobra.Command{}
		ColorFlag(cmd, &c)
		if err := cmd.ParseFlags(strings.Fields(flags)); (err != nil) != (want == "") || err == nil && c.Word != want {
			t.Errorf("%s is the color %q, %v", flags, c.Word, err)
		}
	}
}
