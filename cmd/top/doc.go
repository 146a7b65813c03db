// Package top has the verb top, which shows a running daemon in a terminal, as it stands and as it changes, and steers it.
//
// A model is what is on the screen. It changes by messages alone: keys, sizes, and what a feed has of the daemon. It asks and steers by the client of
// engine/control, as every other verb does. All text of the machine passes through render.Visible or render.Cell before it is a line.
//
// The screen is drawn at most ten times a second, however many events there are: the feed gathers them for that long. The daemon is asked for its
// states not more often than once a second, and the asking takes at most a twentieth of the time.
package top
