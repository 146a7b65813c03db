// Package digest reads and writes checksums of contents, such as sha256:2cf2…, and copies contents that are summed.
package digest
