// Package provenance says who has done something: the process that has made an event on the machine
// (Culprit), and where a graph comes from and who has asked for it (Origin).
package provenance
