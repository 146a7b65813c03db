// Package cli is what all verbs share: the App, which is one invocation of the program, its settings and flags, its exit codes, its signals and its kinds.
//
// A setting is declared once, in the table Settings, and Bind makes a flag of it. So its name, type, default and help are the same for each verb, in the
// environment and in the configuration file. The App is configured before a verb runs: a verb reads a setting only from what Bind has filled.
//
// It imports no verb, and knows none.
package cli
