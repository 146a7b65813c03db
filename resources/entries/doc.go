// Package entries is the kinds that keep a part of a text file right. They are line,
// ini_setting, host, crontab, ssh_authorized_key and apt_key. They leave the rest of the
// file alone.
//
// # Laws
//
//   - Nothing of a file is altered but the part. A change that another program writes meanwhile is not lost: the edit starts
//     again from the new text.
//   - Two resources that edit one file hold its lock in turn, so their writes do not undo each other.
//   - A file is opened step by step (engine/safepath), and replaced at once.
//   - A secret, and the text of a file that other users may not read, is in no change and in
//     no line of the log.
//   - All but line are data: a definition and a provider (engine/provider), which looks, and alters several entries in one write.
//
// # How a change is made
//
// The kinds other than line are providers. The engine calls Get with the names of all
// resources that are due, so each file is read once. The kind ini_setting has Find, and
// remembers the files that it has read. Then the engine calls Set with the changes,
// which are grouped by file: each file is parsed, altered in memory and replaced in one
// step. A change that can not be made is told for its own resource, and the others of
// that file are still made.
//
// A parser of package resources/internal (crontab, hostsfile, inifile, authkeys, keyring)
// keeps every line as it was written. So a file that is parsed and written again is the
// same byte for byte.
//
// # Names
//
// The title of a resource is split by TitlePatterns into the attributes that are its
// name. Canonicalize gives each attribute one form. Two titles with the same form are one
// resource.
//
// # Times
//
// The usual files and folders are watched. Files elsewhere are looked at once a
// minute.
package entries
