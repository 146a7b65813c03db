// Package program runs the programs of other authors that answer a question: providers, transports
// and backends that are commands. The question is JSON at the standard input of the program, and the
// answer is its standard output. The callers read the answer, by package schema/strictjson.
//
// # Laws
//
//   - A program that does not end with code 0, or writes too much, has failed. The error is a
//     *Failure, and has the end of its standard error.
//   - No error holds one of the Hidden texts, nor a part of one.
//   - A question depends on its caller alone, and neither the arguments nor the environment of the
//     program depend on the question.
//   - A run ends with its context, or after its Timeout.
//
// Nothing here keeps state, so all of it is safe for concurrent use.
package program
