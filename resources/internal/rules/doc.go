// Package rules has the rules that span several parameters of a resource. Validate reports all
// rules that are broken at once.
package rules
