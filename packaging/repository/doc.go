// Command repository makes a folder of debs and rpms one that apt and dnf install from:
//
//	SOURCE_DATE_EPOCH=1700000000 go run ./packaging/repository FOLDER
//
// It writes Packages, Packages.gz and Release for apt, and repodata for dnf, yum and zypper. Laws:
//
//   - The same packages and the same date make the same bytes.
//   - It reads every package that is in the folder, and of each what its own header says.
//   - The index is replaced only when all packages were read; a file that is no package is an error with its path.
package main
