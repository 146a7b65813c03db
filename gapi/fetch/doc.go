// Package fetch fetches modules of graphs from elsewhere, and keeps a lock file of them.
//
// A module that was fetched is a folder next to the graph, like any other module. So a graph names it by its path, a deploy carries it,
// and a person can read it. The lock file says where the folder is from, and which content it must have.
//
// # Laws
//
//   - Only a verb fetches. Neither a daemon nor the reading of a graph does.
//   - A source is exact: a commit of git, or an archive with a checksum. A name such as a branch is resolved once, and the commit is
//     locked.
//   - Nothing is written before all of a module has been fetched, bounded, judged and compared with the lock file. A folder is replaced
//     in one step.
//   - An archive can't write: its entries are read into memory, and links, devices, paths that leave the folder, and names that
//     clash are refused. The files are then written below an os.Root, so that no link on the disk leads elsewhere.
//   - A folder that a person has altered is never replaced or removed without force.
//
// # Lock file
//
//	modules:
//	- folder: modules/nginx                  # relative to the lock file
//	  git: https://example.org/nginx.git
//	  ref: v1                                # what an update asks for; missing where a commit was named
//	  commit: 8d3f...                        # in full
//	  path: module                           # of the module in the source; missing for its top
//	  digest: sha256:5f0a...                 # of the files of the folder
//	- folder: modules/site
//	  archive: https://example.org/site.tar.gz
//	  sha256: 77c1...                        # of the archive
//	  digest: sha256:0b9e...
package fetch
