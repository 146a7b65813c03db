package run

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
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer smaps.Close()
	for _, s := range ownSpans(smaps, own) {
		// After MADV_DONTNEED, a page of a private mapping is read from the file again; madvise(2).
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.from, s.to-s.from, syscall.MADV_DONTNEED)
	}
}

// span is a range of addresses. to is the first address behind it.
type span struct{ from, to uintptr }

// ownSpans returns where a file is mapped and has no page of its own in this process. Nothing of
// it is lost when these pages are dropped. The text is that of /proc/PID/smaps, where each
// mapping is a
// line with its place, and lines with its figures after that.
//
// A mapping that cannot be written may have been writable. The dynamic linker relocates the pointers
// of a position-independent program, and makes their pages read-only then. Such pages count as
// anonymous, or as swap, and the file does not have their content.
func ownSpans(smaps io.Reader, file string) (list []span) {
	last := false // the figures are those of the last span of the list
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasSuffix(key, ":") {
			var s span
			if s, last = mappedSpan(lines.Text(), file); last {
				list = append(list, s)
			}
			continue
		}
		if last && (key == "Anonymous:" || key == "Swap:") && strings.TrimSpace(value) != "0 kB" {
			list, last = list[:len(list)-1], false
		}
	}
	return list
}

// mappedSpan reads the line with the place of a mapping. It returns false where the mapping can be
// written, or is of another file.
func mappedSpan(line, file string) (s span, ok bool) {
	// from-to mode offset device inode path
	f := strings.SplitN(line, " ", 6)
	if len(f) < 6 || len(f[1]) != 4 || f[1][1] == 'w' || strings.TrimLeft(f[5], " ") != file {
		return span{}, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	a, err1 := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	return span{uintptr(a), uintptr(b)}, err1 == nil && err2 == nil && a < b
}
