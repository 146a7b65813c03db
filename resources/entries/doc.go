// Package entries is the kinds that keep a part of a text file right and leave the rest of it alone: line, ini_setting, host, crontab,
// ssh_authorized_key and apt_key.
//
// # Laws
//
//   - Nothing of a file is altered but the part. What somebody else writes meanwhile is not lost: the text is made anew of it.
//   - Two resources that edit one file hold its lock in turn, so their writes do not undo each other.
//   - A file is opened step by step (engine/safepath), and replaced at once.
//   - The text of a file that other users may not read, and of a secret, is in no change and in no line of the log.
//   - All but line are data: a definition and a provider (engine/provider), which looks, and alters several entries in one write.
package entries
