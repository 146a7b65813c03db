// Package agents gives an agent, which is a program that acts for a person by a language model, tools that ask a daemon: the Model Context Protocol.
//
// Laws:
//   - A tool reads, or proposes. None decides about a proposal, and the client of a Server could not send such a request: see control.Client.ForAgent.
//   - All text of an answer is data: it comes in the one field data of an Answer, and in the text form between two lines that no other text can have, since they
//     hold a number that is drawn at random for each answer.
//   - An answer has no control characters, none that turn or hide text, and at most MaxAnswer bytes. Errors are answers, too.
//   - What the daemon has redacted stays so. Nothing here reads a file of the machine.
package agents
