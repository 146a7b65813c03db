package main

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

const epoch = "1700000000"

// writeDeb makes a deb without files.
func writeDeb(t *testing.T, dir, version, arch string) {
	t.Helper()
	root := t.TempDir()
	control := fmt.Sprintf("Package: sample\nVersion: %s\nArchitecture: %s\nMaintainer: tests <tests@localhost>\nDescription: for tests\n", version, arch)
	if err := os.Mkdir(filepath.Join(root, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "DEBIAN/control"), control)
	output(t, enginetest.Need(t, "dpkg-deb", "dpkg"), "--build", "--root-owner-group", "-Zgzip", root, dir)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestFindingD9Apt: apt itself takes the newest of three versions from the folder, which the same packages make anew byte by byte.
func TestFindingD9Apt(t *testing.T) {
	apt := enginetest.Need(t, "apt-get", "apt")
	dir, root := t.TempDir(), t.TempDir()
	for _, version := range []string{"0.9.0", "0.10.0", "0.10.0~git12.abc"} {
		writeDeb(t, dir, version, "all")
	}
	if err := run([]string{dir}, epoch); err != nil {
		t.Fatal(err)
	}
	first := content(t, filepath.Join(dir, "Release"))
	if err := run([]string{dir}, epoch); err != nil || !bytes.Equal(first, content(t, filepath.Join(dir, "Release"))) {
		t.Errorf("the same packages made another index: %v", err)
	}
	for _, sub := range []string{"etc/apt", "state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(root, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "status"), "")
	write(t, filepath.Join(root, "etc/apt/sources.list"), "deb [trusted=yes] file:"+dir+" ./\n")
	options := []string{
		"-o", "Dir::Etc=" + root + "/etc/apt", "-o", "Dir::State=" + root + "/state", "-o", "Dir::Cache=" + root + "/cache",
		"-o", "Dir::State::status=" + root + "/status", "-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::parts=-", "-o", "Dir::Etc::sourceparts=-",
	}
	if out := output(t, apt, append(options, "update")...); strings.Contains(out, "W:") {
		t.Errorf("apt warns: %s", out)
	}
	if out := output(t, apt, append(options, "-s", "install", "sample")...); !strings.Contains(out, "Inst sample (0.10.0 mgmt:stable [all])") {
		t.Errorf("apt would install:\n%s", out)
	}
}

// sampleRPM is a header of an rpm with one name, architecture, version, provided name and file.
func sampleRPM() []byte {
	words := []struct {
		tag  byte
		text string
	}{{0xe8, "sample"}, {0xe9, "0.10.0~git12.abc"}, {0xea, "1"}}
	header := func(index, data []byte) []byte {
		h := []byte{0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0, byte(len(index) / 16), 0, 0, 0, byte(len(data))}
		return append(append(h, index...), data...)
	}
	var index, data []byte
	add := func(high, low, kind byte, value string) {
		index = append(index, 0, 0, high, low, 0, 0, 0, kind, 0, 0, 0, byte(len(data)), 0, 0, 0, 1)
		data = append(data, value...)
	}
	add(0x04, 0x5c, 4, "\x00\x00\x00\x00") // which folder
	for _, w := range words {
		add(0x03, w.tag, 6, w.text+"\x00")
	}
	add(0x03, 0xfe, 6, "noarch\x00")
	add(0x04, 0x17, 8, "sample\x00")
	add(0x04, 0x58, 4, "\x00\x00\x00\x08")
	add(0x04, 0x59, 8, "0.10.0~git12.abc-1\x00")
	add(0x04, 0x5d, 8, "sample\x00")
	add(0x04, 0x5e, 8, "/usr/bin/\x00")
	lead := append([]byte{0xed, 0xab, 0xee, 0xdb}, make([]byte, leadSize-4)...)
	signature := append(header(nil, []byte("abc")), 0, 0, 0, 0, 0)
	return append(append(append(lead, signature...), header(index, data)...), "the files"...)
}

// TestFindingD9Yum: repodata has what the header of an rpm says, and where that is.
func TestFindingD9Yum(t *testing.T) {
	dir, sample := t.TempDir(), sampleRPM()
	write(t, filepath.Join(dir, "sample.rpm"), string(sample))
	if err := run([]string{dir}, epoch); err != nil {
		t.Fatal(err)
	}
	var repomd struct {
		Data []struct {
			Type     string `xml:"type,attr"`
			Checksum string `xml:"checksum"`
			Location struct {
				Href string `xml:"href,attr"`
			} `xml:"location"`
		} `xml:"data"`
	}
	if err := xml.Unmarshal(content(t, filepath.Join(dir, "repodata/repomd.xml")), &repomd); err != nil || len(repomd.Data) != 3 {
		t.Fatalf("%+v, %v", repomd, err)
	}
	for _, d := range repomd.Data {
		f := file{content: content(t, filepath.Join(dir, d.Location.Href))}
		if f.sum() != d.Checksum {
			t.Errorf("%s has another checksum", d.Location.Href)
		}
		z, err := gzip.NewReader(bytes.NewReader(f.content))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]string{
			"primary": {
				`<name>sample</name>`, `<arch>noarch</arch>`, `epoch="0" ver="0.10.0~git12.abc" rel="1"`, `href="sample.rpm"`, `<file>/usr/bin/sample</file>`,
				`<rpm:entry name="sample" flags="EQ" epoch="0" ver="0.10.0~git12.abc" rel="1">`, fmt.Sprintf(`start="120" end="%d"`, len(sample)-len("the files")),
			},
			"filelists": {`<file>/usr/bin/sample</file>`}, "other": {`name="sample"`},
		}[d.Type]
		for _, w := range want {
			if !bytes.Contains(text, []byte(w)) {
				t.Errorf("%s lacks %s:\n%s", d.Type, w, text)
			}
		}
	}
}

// TestFindingD9BadPackages: each file that is no package is named, and the index stays as it was.
func TestFindingD9BadPackages(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir}, epoch); err == nil || !strings.Contains(err.Error(), "there is no *.deb") {
		t.Errorf("an empty folder: %v", err)
	}
	if err := run([]string{dir}, "today"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("without a date: %v", err)
	}
	write(t, filepath.Join(dir, "Release"), "as it was")
	write(t, filepath.Join(dir, "one.deb"), "!<arch>\n"+strings.Repeat("x", 80))
	write(t, filepath.Join(dir, "two.rpm"), "text")
	err := run([]string{dir}, epoch)
	for _, name := range []string{"one.deb", "two.rpm"} {
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)+": this is no") {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if got := content(t, filepath.Join(dir, "Release")); string(got) != "as it was" {
		t.Errorf("the index is now %q", got)
	}
	sample := sampleRPM()
	for n := range len(sample) - len("the files") {
		if _, err := readRPM(file{"cut", sample[:n]}); err == nil {
			t.Errorf("an rpm of %d bytes is taken", n)
		}
	}
}
