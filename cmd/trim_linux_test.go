package cmd

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestOwnSpans: only what cannot be written of the program's own file is dropped, also if its
// path has spaces, and no other file whose path ends likewise.
func TestOwnSpans(t *testing.T) {
	const text = `00400000-00e27000 r-xp 00000000 fe:00 12 /opt/a b/mgmt
00e27000-01895000 r--p 00a27000 fe:00 12                                 /opt/a b/mgmt
01895000-01906000 rw-p 01495000 fe:00 12                                 /opt/a b/mgmt
02000000-02001000 r--p 00000000 fe:00 13                                 /x/opt/a b/mgmt
02000000-02001000 r--s 00000000 fe:00 13                                 /var/lib/mgmt/journal
67f92400000-67f93800000 rw-p 00000000 00:00 0 
not a line
zz-yy r-xp 00000000 fe:00 12 /opt/a b/mgmt
7ffc000-7ffd000 r-xp 00000000 00:00 0                                    [vdso]
`
	want := []span{{0x400000, 0xe27000}, {0xe27000, 0x1895000}}
	if got := ownSpans(strings.NewReader(text), "/opt/a b/mgmt"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestDropProgram: less of the program's file is in memory afterwards, and the program goes on.
func TestDropProgram(t *testing.T) {
	exe, err := os.ReadFile("/proc/self/exe") // all of it is in the cache
	if err != nil || len(exe) == 0 {
		t.Fatal(err)
	}
	before := rssFile(t)
	dropProgram()
	if after := rssFile(t); after >= before {
		t.Errorf("%d KiB of files in memory, before %d", after, before)
	}
}

// rssFile returns how many KiB of files this process has in memory. A program on a file system in memory counts as shared memory.
func rssFile(t *testing.T) (sum int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"RssFile:", "RssShmem:"} {
		_, rest, ok := bytes.Cut(text, []byte(key))
		f := bytes.Fields(rest)
		if !ok || len(f) == 0 {
			t.Fatalf("no %s in %s", key, text)
		}
		n, err := strconv.Atoi(string(f[0]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
