package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine says what the figures were measured on.
// It heads each table: figures of two machines must not be compared.
func machine() string {
	cpu := "an unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				cpu = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s, %s/%s, kernel %s", runtime.NumCPU(), cpu, runtime.GOOS, runtime.GOARCH, kernel())
}

// It leaves out the suffix of the distribution.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	return release
}

// fsName names the kind of file system that a folder is on.
// An unknown one is shown by its magic number, see statfs(2).
func fsName(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return "unknown"
	}
	switch st.Type {
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	default:
		return fmt.Sprintf("%#x", st.Type)
	}
}

// rss returns the resident memory of this process in bytes.
// The kernel counts pages of the program file too, so callers subtract that of the empty
// process.
func rss() int64 { return procStatus("VmRSS:") * 1024 }

// The number is as the kernel prints it, in KiB for sizes.
func procStatus(key string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	must(err)
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == key {
			n, err := strconv.ParseInt(f[1], 10, 64)
			must(err)
			return n
		}
	}
	panic("no " + key)
}

// cpu returns the processor time that this process has used.
// It is the sum of user and system time of all threads, which a busy neighbour alters far
// less than a wall clock.
func cpu() time.Duration {
	var u unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchGroups counts the instances of inotify and the groups of fanotify that this process has.
// A user may have 128 of each.
func watchGroups() int {
	list, err := os.ReadDir("/proc/self/fd")
	must(err)
	n := 0
	for _, e := range list {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == "anon_inode:inotify" || to == "anon_inode:[fanotify]" {
			n++
		}
	}
	return n
}

// It is the upper of the two middle ones when their number is even.
func median(ds []time.Duration) time.Duration { return quantile(ds, 0.5) }

// It copies the list and leaves its order alone. The list must not be empty.
func quantile(ds []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(ds))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// More digits than these differ from run to run.
func round(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return d.String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(100 * time.Nanosecond).String()
	}
}

// versus judges a figure against a multiple of its floor.
func versus(got, floor time.Duration, most float64) result {
	ratio := float64(got) / float64(floor)
	return result{
		Figure: fmt.Sprintf("%s = %.2f x", round(got), ratio),
		Floor:  round(floor),
		OK:     ratio <= most,
	}
}

// under judges a figure against a limit.
func under(got, limit time.Duration) result { return result{Figure: round(got), OK: got < limit} }
