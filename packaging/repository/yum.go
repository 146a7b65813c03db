package main

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"
	"time"
)

// The elements of repodata, as createrepo writes them and dnf, yum and zypper read them.
// There is a tag for each attribute and element that a reader of repodata needs. The
// prefix rpm: is written as text, since encoding/xml would put a namespace on each
// element.
type (
	versionXML struct {
		Epoch string `xml:"epoch,attr"`
		Ver   string `xml:"ver,attr"`
		Rel   string `xml:"rel,attr"`
	}
	sumXML struct {
		Type  string `xml:"type,attr"`
		Pkgid string `xml:"pkgid,attr,omitempty"`
		Sum   string `xml:",chardata"`
	}
	entryXML struct {
		Name  string `xml:"name,attr"`
		Flags string `xml:"flags,attr,omitempty"`
		Epoch string `xml:"epoch,attr,omitempty"`
		Ver   string `xml:"ver,attr,omitempty"`
		Rel   string `xml:"rel,attr,omitempty"`
	}
	formatXML struct {
		License   string     `xml:"rpm:license"`
		Group     string     `xml:"rpm:group"`
		SourceRPM string     `xml:"rpm:sourcerpm"`
		Range     rangeXML   `xml:"rpm:header-range"`
		Provides  []entryXML `xml:"rpm:provides>rpm:entry"`
		Requires  []entryXML `xml:"rpm:requires>rpm:entry"`
		Files     []string   `xml:"file"`
	}
	rangeXML struct {
		Start int `xml:"start,attr"`
		End   int `xml:"end,attr"`
	}
	timeXML struct {
		File  int64  `xml:"file,attr"`
		Build uint32 `xml:"build,attr"`
	}
	sizeXML struct {
		Package   int    `xml:"package,attr"`
		Installed uint32 `xml:"installed,attr"`
		Archive   uint32 `xml:"archive,attr"`
	}
	locationXML struct {
		Href string `xml:"href,attr"`
	}
	packageXML struct {
		Type        string      `xml:"type,attr"`
		Name        string      `xml:"name"`
		Arch        string      `xml:"arch"`
		Version     versionXML  `xml:"version"`
		Checksum    sumXML      `xml:"checksum"`
		Summary     string      `xml:"summary"`
		Description string      `xml:"description"`
		Packager    string      `xml:"packager"`
		URL         string      `xml:"url"`
		Time        timeXML     `xml:"time"`
		Size        sizeXML     `xml:"size"`
		Location    locationXML `xml:"location"`
		Format      formatXML   `xml:"format"`
	}
	// listedXML is a package in the lists of files and of changes.
	// Pkgid is the digest of the whole package, by which the lists point to an entry of
	// primary.
	listedXML struct {
		Pkgid   string     `xml:"pkgid,attr"`
		Name    string     `xml:"name,attr"`
		Arch    string     `xml:"arch,attr"`
		Version versionXML `xml:"version"`
		Files   []string   `xml:"file"`
	}
	tableXML struct {
		XMLName  xml.Name
		RPM      string `xml:"xmlns:rpm,attr,omitempty"`
		Count    int    `xml:"packages,attr"`
		Packages []any  `xml:"package"`
	}
	dataXML struct {
		Type     string      `xml:"type,attr"`
		Checksum sumXML      `xml:"checksum"`
		Open     sumXML      `xml:"open-checksum"`
		Location locationXML `xml:"location"`
		Time     int64       `xml:"timestamp"`
		Size     int         `xml:"size"`
		OpenSize int         `xml:"open-size"`
	}
	repomdXML struct {
		XMLName  xml.Name  `xml:"http://linux.duke.edu/metadata/repo repomd"`
		Revision int64     `xml:"revision"`
		Data     []dataXML `xml:"data"`
	}
)

// yumIndex returns what dnf, yum and zypper read of a repository.
// Three lists are written: primary for the solver, filelists for a requirement by path,
// and other, which has a list of changes that stays empty. The digest of a list is there twice, as
// it is served and as it is unpacked. The time is the given date for each file, so that
// equal packages give equal bytes.
func yumIndex(rpms []rpm, date time.Time) ([]file, error) {
	primary := tableXML{XMLName: xml.Name{Space: "http://linux.duke.edu/metadata/common", Local: "metadata"}, RPM: "http://linux.duke.edu/metadata/rpm", Count: len(rpms)}
	lists := tableXML{XMLName: xml.Name{Space: "http://linux.duke.edu/metadata/filelists", Local: "filelists"}, Count: len(rpms)}
	other := tableXML{XMLName: xml.Name{Space: "http://linux.duke.edu/metadata/other", Local: "otherdata"}, Count: len(rpms)}
	for _, p := range rpms {
		primary.Packages = append(primary.Packages, p.primary(date))
		listed := listedXML{p.sum(), p.word(tagName), p.word(tagArch), p.evr(), nil}
		other.Packages = append(other.Packages, listed)
		listed.Files = p.paths()
		lists.Packages = append(lists.Packages, listed)
	}
	repomd := repomdXML{Revision: date.Unix()}
	var files []file
	for _, table := range []struct {
		name string
		tableXML
	}{{"primary", primary}, {"filelists", lists}, {"other", other}} {
		text, err := marshal(table.tableXML)
		if err != nil {
			return nil, err
		}
		open := file{content: text}
		f := file{"repodata/" + table.name + ".xml.gz", zip(text)}
		files = append(files, f)
		repomd.Data = append(repomd.Data, dataXML{table.name, sha(f), sha(open), locationXML{f.name}, date.Unix(), len(f.content), len(text)})
	}
	text, err := marshal(repomd)
	return append(files, file{"repodata/repomd.xml", text}), err
}

// sha is the digest of a file as the index writes it.
// The type is written out, since repodata allows several digests.
func sha(f file) sumXML { return sumXML{Type: "sha256", Sum: f.sum()} }

// marshal writes XML with its header and a line break at the end.
func marshal(v any) ([]byte, error) {
	text, err := xml.MarshalIndent(v, "", " ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

// evr is epoch, version and release, by which dnf compares packages.
// A package without an epoch has the epoch 0, and "no epoch" must not be written as an
// empty word.
func (p rpm) evr() versionXML {
	return versionXML{strconv.FormatUint(uint64(p.number(tagEpoch)), 10), p.word(tagVersion), p.word(tagRelease)}
}

// primary describes a package for the index that dnf reads first.
// A package without a group gets the word that rpmbuild itself writes.
func (p rpm) primary(date time.Time) packageXML {
	sum := sha(p.file)
	sum.Pkgid = "YES"
	return packageXML{
		Type: "rpm", Name: p.word(tagName), Arch: p.word(tagArch), Version: p.evr(), Checksum: sum,
		Summary: p.word(tagSummary), Description: p.word(tagDescription), Packager: p.word(tagPackager), URL: p.word(tagURL),
		Time:     timeXML{date.Unix(), p.number(tagBuildTime)},
		Size:     sizeXML{len(p.content), p.number(tagSize), p.number(tagArchiveSize)},
		Location: locationXML{p.name},
		Format: formatXML{
			License: p.word(tagLicense), Group: cmp.Or(p.word(tagGroup), "Unspecified"), SourceRPM: p.word(tagSourceRPM),
			Range:    rangeXML{p.start, p.end},
			Provides: p.entries(tagProvide, tagProvideFlag, tagProvideVer),
			Requires: p.entries(tagRequire, tagRequireFlag, tagRequireVer),
			Files:    p.primaryFiles(),
		},
	}
}

// primaryFiles are those that a package may require by their path without the list of all files.
// The rule is that of createrepo: files below /etc, and programs. A solver fetches
// filelists only for other paths.
func (p rpm) primaryFiles() []string {
	var list []string
	for _, path := range p.paths() {
		if strings.HasPrefix(path, "/etc/") || strings.Contains(path, "bin/") {
			list = append(list, path)
		}
	}
	return list
}

// entries are what the package provides or requires. What rpm itself has to know is not for a solver.
// The flags have more bits than the comparison, which is 2, 4 and 8 for less, greater and
// equal. Names that begin with rpmlib( are features of rpm, and no package provides them.
func (p rpm) entries(names, flags, versions uint32) []entryXML {
	relations := map[uint32]string{2: "LT", 4: "GT", 8: "EQ", 10: "LE", 12: "GE"}
	var list []entryXML
	for i, name := range p.words[names] {
		if strings.HasPrefix(name, "rpmlib(") {
			continue
		}
		e := entryXML{Name: name}
		if f, v := p.numbers[flags], p.words[versions]; i < len(f) && i < len(v) && relations[f[i]&14] != "" {
			e.Flags = relations[f[i]&14]
			e.Epoch, e.Ver, e.Rel = splitEVR(v[i])
		}
		list = append(list, e)
	}
	return list
}

// splitEVR splits epoch:version-release.
// The epoch before the colon and the release behind the hyphen may be missing. A missing
// epoch counts as 0, a missing release matches every release.
func splitEVR(text string) (epoch, version, release string) {
	epoch, rest, ok := strings.Cut(text, ":")
	if !ok {
		epoch, rest = "0", text
	}
	version, release, _ = strings.Cut(rest, "-")
	return epoch, version, release
}
