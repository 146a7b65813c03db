// Package filename makes an element of a path of any name.
package filename
