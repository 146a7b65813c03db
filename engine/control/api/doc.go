// Package api serves the objects of models over HTTP: a list of routes for the frame of package httpd. The daemon
// mounts them on its control socket, and a program with a store of its own mounts them where it likes.
//
// # Laws
//
//   - A path names a table by its name or by that of the model, and an object by its id, which may have any character.
//   - A fault of the caller is a status of 400 to 499, with each field that is wrong and its place in the body. The
//     statuses of 500 and above are about the store and its records.
//   - Create never writes over an object. A writer that names the revision it has read (If-Match) loses against
//     every other writer. Writers that name none take effect one after the other, and none is lost.
//   - A list is written while it is read: it holds one page of records in memory, however long it is.
//   - A stream of changes goes on at the revision that the reader has seen whole, and tells when it has told all
//     objects that there are (synced). A reader that takes nothing costs a bounded memory, and is cut.
//   - A removal (remove=1) never deletes an object before each host that has it says that the thing is gone. Each
//     request takes one step and keeps nothing, so client, daemon and host may die between any two of them.
//   - No answer shows a secret. A redacted secret that comes back with a change leaves the stored one as it is.
//   - Nothing is opened before the first request that needs the store.
//
// # Ownership
//
// The program owns the World and closes it after the server has ended. A handler belongs to one request and keeps nothing
// after its answer. A watch holds one reader of the World until its client leaves.
package api
