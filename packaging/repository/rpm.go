package main

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// rpm is a package, its header, and where that is in the file.
// Start and end are offsets in bytes. The index names them as the header range, so that
// dnf can fetch the header of a package alone.
type rpm struct {
	file
	header
	start, end int
}

// Tags of a header, as the documentation of rpm's file format has them.
// Only those are here that the index shows. rpm's own dependencies need flags and
// versions in lists of the same length as the names.
const (
	tagName        = 1000
	tagVersion     = 1001
	tagRelease     = 1002
	tagEpoch       = 1003
	tagSummary     = 1004
	tagDescription = 1005
	tagBuildTime   = 1006
	tagSize        = 1009
	tagLicense     = 1014
	tagPackager    = 1015
	tagGroup       = 1016
	tagURL         = 1020
	tagArch        = 1022
	tagSourceRPM   = 1044
	tagArchiveSize = 1046
	tagProvide     = 1047
	tagRequireFlag = 1048
	tagRequire     = 1049
	tagRequireVer  = 1050
	tagProvideFlag = 1112
	tagProvideVer  = 1113
	tagDirIndex    = 1116
	tagBaseName    = 1117
	tagDirName     = 1118
	// The lead is a fixed head of 96 bytes. Only its magic number counts, all else is in
	// the headers.
	leadSize = 96
)

var errNoRPM = errors.New("this is no rpm, or it was cut")

// header has the values by their tags: words, and numbers of four bytes.
// Other types of values, such as bytes and 16-bit numbers, are skipped: no tag above has
// one.
type header struct {
	words   map[uint32][]string
	numbers map[uint32][]uint32
}

// word returns the first text of a tag; a missing tag is empty.
func (h header) word(tag uint32) string {
	if list := h.words[tag]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// number returns the first number of a tag; a missing tag is 0, as the epoch mostly is.
func (h header) number(tag uint32) uint32 {
	if list := h.numbers[tag]; len(list) > 0 {
		return list[0]
	}
	return 0
}

// readRPM reads the header of an rpm, which comes behind a lead and a header of signatures.
// The header of signatures is padded to a multiple of 8 bytes, the main header follows at
// once. Both have the same form, so one function reads them.
func readRPM(f file) (rpm, error) {
	if !bytes.HasPrefix(f.content, []byte{0xed, 0xab, 0xee, 0xdb}) {
		return rpm{}, errNoRPM
	}
	_, end, err := readHeader(f.content, leadSize)
	if err != nil {
		return rpm{}, err
	}
	p := rpm{file: f, start: (end + 7) &^ 7}
	if p.header, p.end, err = readHeader(f.content, p.start); err == nil && (p.word(tagName) == "" || p.word(tagArch) == "") {
		err = errNoRPM
	}
	return p, err
}

// readHeader reads the header at an offset, and returns where it ends.
// A header is a magic number, two counts, an index with 16 bytes for each tag, and the
// data that the index points into. Every offset is checked against the length first: the
// file may have been cut or made up.
func readHeader(content []byte, at int) (h header, end int, err error) {
	if at+16 > len(content) || !bytes.HasPrefix(content[at:], []byte{0x8e, 0xad, 0xe8, 1}) {
		return h, 0, errNoRPM
	}
	count, size := int(binary.BigEndian.Uint32(content[at+8:])), int(binary.BigEndian.Uint32(content[at+12:]))
	index := at + 16
	data := index + 16*count
	if end = data + size; end > len(content) {
		return h, 0, errNoRPM
	}
	h = header{map[uint32][]string{}, map[uint32][]uint32{}}
	for ; index < data; index += 16 {
		if err := h.add(content[index:index+16], content[data:end]); err != nil {
			return h, 0, err
		}
	}
	return h, end, nil
}

// add reads one entry of the index: its tag, type, offset and count.
// Type 4 is numbers of 32 bits. Types 6, 8 and 9 are text, a list of text, and text in several
// languages, where the first counts. All numbers are big-endian.
func (h header) add(entry, data []byte) error {
	at := func(i int) uint32 { return binary.BigEndian.Uint32(entry[i:]) }
	tag, kind, offset, count := at(0), at(4), int(at(8)), int(at(12))
	if offset > len(data) {
		return errNoRPM
	}
	data = data[offset:]
	switch kind {
	case 4:
		if 4*count > len(data) {
			return errNoRPM
		}
		for i := range count {
			h.numbers[tag] = append(h.numbers[tag], binary.BigEndian.Uint32(data[4*i:]))
		}
	case 6, 8, 9:
		for range count {
			word, rest, ok := bytes.Cut(data, []byte{0})
			if !ok {
				return errNoRPM
			}
			h.words[tag] = append(h.words[tag], string(word))
			data = rest
		}
	}
	return nil
}

// paths returns the files of the package.
// A path is kept in two parts, its folder by number and its base name, since most files
// share their folder.
func (h header) paths() []string {
	dirs, indexes := h.words[tagDirName], h.numbers[tagDirIndex]
	var list []string
	for i, name := range h.words[tagBaseName] {
		if i < len(indexes) && int(indexes[i]) < len(dirs) {
			list = append(list, dirs[indexes[i]]+name)
		}
	}
	return list
}
