package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deb is a package, and its control file.
// The control file is copied into Packages word for word, so apt sees the fields that
// dpkg will see.
type deb struct {
	file
	control string
}

var (
	// Release lists the architectures of all packages; apt skips a repository that lacks
	// its own.
	architecture = regexp.MustCompile(`(?m)^Architecture: *(\S+)$`)
	errNoDeb     = errors.New("this is no deb with a control.tar.gz")
)

// readDeb reads the control file of a deb, which is an archive of ar(1).
// The layout is in deb(5): each member has a head of 60 bytes, with its name in the first
// 16 and its size in decimal digits at 48. Members begin at even offsets. The content of
// the package is not unpacked.
func readDeb(f file) (deb, error) {
	rest, ok := bytes.CutPrefix(f.content, []byte("!<arch>\n"))
	for ok && len(rest) >= 60 {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if rest = rest[60:]; err != nil || size < 0 || size > len(rest) {
			break
		}
		if name == "control.tar.gz" {
			control, err := controlOf(rest[:size])
			return deb{f, control}, err
		}
		rest = rest[min(len(rest), size+size%2):]
	}
	return deb{}, errNoDeb
}

// controlOf returns the file control of a control.tar.gz, without empty lines at its end.
// Both "control" and "./control" are names of that file, by which program made the
// archive. An empty line would end the paragraph in Packages, so none may be left at the
// end.
func controlOf(archive []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("%w: %w", errNoDeb, err)
		}
		if path.Clean(h.Name) != "control" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err == nil && !architecture.Match(text) {
			err = errors.New("its control file has no Architecture")
		}
		return strings.TrimSpace(string(text)), err
	}
}

// aptIndex returns what apt reads of a repository without folders.
// Paths are relative to the folder, so that it can be moved and served under every URL.
// Release has the digests of the two indexes, and Packages those of the packages: one
// signature over Release then covers all of them.
func aptIndex(debs []deb, date time.Time) []file {
	var text strings.Builder
	var archs []string
	for _, d := range debs {
		fmt.Fprintf(&text, "%s\nFilename: ./%s\nSize: %d\nSHA256: %s\n\n", d.control, d.name, len(d.content), d.sum())
		archs = append(archs, architecture.FindStringSubmatch(d.control)[1])
	}
	slices.Sort(archs)
	files := []file{{"Packages", []byte(text.String())}, {"Packages.gz", zip([]byte(text.String()))}}
	var release strings.Builder
	fmt.Fprintf(&release, "Origin: mgmt\nLabel: mgmt\nSuite: stable\nDate: %s\nArchitectures: %s\nDescription: packages of mgmt\nSHA256:\n",
		date.Format("Mon, 02 Jan 2006 15:04:05 UTC"), strings.Join(slices.Compact(archs), " "))
	for _, f := range files {
		fmt.Fprintf(&release, " %s %d %s\n", f.sum(), len(f.content), f.name)
	}
	return append(files, file{"Release", []byte(release.String())})
}
