package cmd

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropProgram takes the pages of the program's own file out of this process. Most of them hold
// code and tables for the start: the files of types, the graph, the command line. They stay in the
// cache of the system, and the pages that are used again come back from there one by one. An error
// leaves all as it is.
func dropProgram() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	// madvise(2) with MADV_DONTNEED on a private mapping of a file that was not written reads the
	// pages from the file again. Written pages would be lost, so ownSpans leaves those out.
	for _, s := range ownSpans(maps, own) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.from, s.to-s.from, syscall.MADV_DONTNEED)
	}
}

// span is a range of addresses.
type span struct{ from, to uintptr }

// ownSpans returns where a file is mapped and cannot be written: nothing of it is lost when its
// pages are dropped. The text is that of /proc/PID/maps.
func ownSpans(maps io.Reader, file string) (list []span) {
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		// from-to mode offset device inode path
		f := strings.SplitN(lines.Text(), " ", 6)
		// The second letter of the mode is w where the pages can be written.
		if len(f) < 6 || len(f[1]) != 4 || f[1][1] == 'w' || strings.TrimLeft(f[5], " ") != file {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && a < b {
			list = append(list, span{uintptr(a), uintptr(b)})
		}
	}
	return list
}
