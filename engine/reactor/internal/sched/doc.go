// Package sched decides which vertex of a running graph starts next.
package sched
