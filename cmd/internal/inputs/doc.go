// Package inputs has the flags of all verbs that take a graph, and what they mean: which graph it is (a file, a folder, standard input, a program, a catalog),
// for which machine, and what is done to it before it runs. Flags.Given is the input.Config of them, which a daemon gets; Flags.Build is the graph itself for
// a verb that only looks.
package inputs
