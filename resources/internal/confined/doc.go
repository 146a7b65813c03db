// Package confined says which file contents the log must not show, and shows a digest in their place.
// The text of a file that shuts other users out is for the readers of that file alone.
package confined
