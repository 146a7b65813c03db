// Command repository makes a folder of debs and rpms one that apt and dnf install from:
//
//	SOURCE_DATE_EPOCH=1700000000 go run ./packaging/repository FOLDER
//
// It writes Packages, Packages.gz and Release for apt, and repodata for dnf, yum and zypper. Laws:
//
//   - The same packages and the same date make the same bytes.
//   - It reads every package that is in the folder, and of each what its own header says.
//   - The index is replaced only when all packages were read; a file that is no package is an error with its path.
//
// `make release` calls it after the packages were built; docs/releases.md says
// how a machine uses such a folder. It runs no program of a distribution, so one machine
// of any kind makes both indexes.
//
// # Formats
//
// For apt the folder is a flat repository, the form "deb URL ./" of sources.list(5). Its
// fields follow the description of the repository format at
// wiki.debian.org/DebianRepository/Format. For rpm the file format is that of the rpm
// documentation, and repodata is as createrepo_c writes it.
//
// No index is signed here. The publisher of the folder signs Release and repomd.xml, or
// serves it from a place that its readers trust.
//
// # Limits
//
// Every package is held in memory as a whole, since its digest needs each byte anyway. A
// control file may have 1 MiB. Only control.tar.gz is read: our own debs have no other
// compression.
package main
