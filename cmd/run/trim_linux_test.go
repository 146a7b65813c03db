package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestOwnSpans: only pages of the program's own file that nothing has written are dropped, also if its
// path has spaces, and no other file whose path ends likewise.
func TestOwnSpans(t *testing.T) {
	const clean, written, swapped = "Rss: 4 kB\nAnonymous:             0 kB\nSwap:                  0 kB\nVmFlags: rd mr mw me\n",
		"Rss: 4 kB\nAnonymous:             8 kB\nSwap:                  0 kB\nVmFlags: rd mr mw me\n",
		"Rss: 4 kB\nAnonymous:             0 kB\nSwap:                  4 kB\nVmFlags: rd mr mw me\n"
	const text = "00400000-00e27000 r-xp 00000000 fe:00 12 /opt/a b/mgmt\n" + clean +
		"00e27000-01895000 r--p 00a27000 fe:00 12                                 /opt/a b/mgmt\n" + clean +
		"01895000-01906000 rw-p 01495000 fe:00 12                                 /opt/a b/mgmt\n" + written +
		"01906000-01907000 r--p 01496000 fe:00 12                                 /opt/a b/mgmt\n" + written +
		"01907000-01908000 r--p 01497000 fe:00 12                                 /opt/a b/mgmt\n" + swapped +
		"02000000-02001000 r--p 00000000 fe:00 13                                 /x/opt/a b/mgmt\n" + clean +
		"02000000-02001000 r--s 00000000 fe:00 13                                 /var/lib/mgmt/journal\n" + clean +
		"67f92400000-67f93800000 rw-p 00000000 00:00 0 \n" + written +
		"not a line\nzz-yy r-xp 00000000 fe:00 12 /opt/a b/mgmt\n" + clean +
		"7ffc000-7ffd000 r-xp 00000000 00:00 0                                    [vdso]\n" + clean
	want := []span{{0x400000, 0xe27000}, {0xe27000, 0x1895000}}
	if got := ownSpans(strings.NewReader(text), "/opt/a b/mgmt"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestOwnSpansOfTheKernel: a page that was written before it became read-only is not dropped. The dynamic linker leaves such pages in
// a program that is position independent, and they hold its pointers.
func TestOwnSpansOfTheKernel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	size := os.Getpagesize()
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spans := func() int {
		smaps, err := os.Open("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		defer smaps.Close()
		return len(ownSpans(smaps, path))
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if n := spans(); n != 1 {
		t.Errorf("%d spans of a file that was not written, want 1", n)
	}
	if err := syscall.Mprotect(page, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	page[0] = 1
	if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if n := spans(); n != 0 {
		t.Errorf("%d spans of a page that was written, want 0", n)
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
