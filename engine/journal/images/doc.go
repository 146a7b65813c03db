// Package images keeps the state of the machine before each change of a resource, for a while: what an undo brings back.
//
// # Laws
//
//   - An image is in its file before Keep returns, so it outlives a kill of the process. It is not synced: a loss of power may cost the last ones.
//   - The oldest images go first, by age and by size. The bound of the size counts whole files, of a sixteenth of it each.
//   - Images of equal content, one after the other, take the room of one.
//   - The files are for the owner alone. An image with a secret is sealed.
//   - A half-written image at the end of a file is left out. A file that can't be read costs its own images.
//   - A disk that is full costs the image, and a warning: the repair of the machine is worth more.
package images
