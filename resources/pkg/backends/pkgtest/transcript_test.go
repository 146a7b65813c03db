package pkgtest

import "testing"

func TestTimeless(t *testing.T) {
	for text, want := range map[string]string{
		"Failed to connect to 127.0.0.1 port 1 after 12 ms: Could not": "Failed to connect to 127.0.0.1 port 1 after 0 ms: Could not",
		"Errors: - no server; - no server; Error: none":                "Errors: - no server; Error: none",
		"tiny-1.0 after 12 minutes":                                    "tiny-1.0 after 12 minutes",
	} {
		if got := timeless(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}
