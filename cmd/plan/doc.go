// Package plan has the verbs that read a graph and do not carry it out: plan, validate, graph, render, eval, data and test. They alter nothing of the machine,
// not even the state folder. The flags that say which graph are inputs.Flags.
package plan
