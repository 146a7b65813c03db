// Package past keeps the graphs that took effect, and puts an earlier one in the place of the one that the input has: a rollback.
//
// A Keeper stands between the frontend of a daemon and its engine. What passes it is kept when it has taken effect. While a rollback is
// pinned, the Keeper hands over the earlier graph in the place of what the input has.
//
// # Laws
//
//   - A graph is kept once: its file has the name of its content. Equal graphs, one after the other, are one entry.
//   - The files are encrypted with a key of the state folder, since a graph has secrets in clear. Nobody but the owner reads either.
//   - A pin holds over restarts until the input has another graph than the one it stands over, or until Unpin.
//   - A pinned graph that is refused, or can't be read, gives way to the graph of the input.
//   - Keeping never holds up a graph. A disk that is full costs the entry, and a warning; a graph that comes while another one is being
//     written is kept in the place of those that came between.
package past
