// Package atomicfile looks at files and replaces them as the file resource needs it: below an open
// folder or by path, never through a link in the last place, and so that a reader sees the old file
// or the new one, never a mixture.
//
// # Laws
//
//   - Every folder and file is reached by a Walker of package safepath, which decides which links
//     are followed, and as whom. Only Glance goes by a path alone, and its answer is good for a
//     comparison only.
//   - A file that gets another owner or group loses setuid, setgid and access lists, unless a mode
//     is given. A file of another user, who is neither root nor the daemon's, lends its replacement
//     no more than 0644, and no attribute. A file with several names in a folder of such a user is
//     not altered, since it may belong to another user.
//   - A new content is written to a temporary file in the same folder, which then exchanges its
//     name with the old file. A name that was removed in the last moment stays free (ErrChanged).
//     Owner, mode and extended attributes are right before the content becomes visible.
//   - A file is replaced, and a name removed, in one folder that is held open meanwhile: where the
//     folder is renamed, or its path made to lead elsewhere, nothing is written or left behind
//     anywhere else. Only the file that was looked at is replaced, and a new file replaces none
//     (ErrChanged).
//   - Whatever goes wrong, a panic included, the temporary file is removed. It has no name before
//     it is complete, where the file system has such files: so only the death of the process at
//     that moment, or anywhere else in the write on other file systems, leaves one, and the next
//     write of the same file removes that.
//   - A temporary file gets its name with O_EXCL or by a link: a link or a file that someone else
//     has put in its place is never written to.
//   - Where a file can't be replaced (it is a mount point, its folder is not writable, its owner or
//     attributes could not be kept), it is written in place, after space for it has been reserved.
//   - Where Check is given, a file takes its place only after Check has agreed, and with the bytes
//     that Check has seen: both come from a copy that no other user can alter or replace. The death
//     of the process leaves that copy behind, and the next check removes it.
//   - Nothing is flushed to the disk here, except by Flush.
//   - No descriptor outlives the call, except that of a Dir.
package atomicfile
