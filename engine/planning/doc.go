// Package planning is what a kind asks in a plan: whether a resource above would make what is not
// there, and what of its own work a plan can know. A run plans nothing, so all answers are no.
package planning
