// Package exec is the kind exec: a command that runs when something asks for it.
//
// # Laws
//
//   - A look runs nothing but the commands that ask (ifcmd, nifcmd), and two looks in a row find the same.
//   - A run that was due and failed stays due. The reason of the last run is kept in VarDir, so a restart runs nothing twice.
//   - A command gets no secret by its words, which every user may read; it gets one by its environment or its input.
package exec
