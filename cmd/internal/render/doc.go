// Package render writes what verbs have to say: a document as JSON or YAML, a plan, an event, a diff, findings, a table.
//
// Text that comes from a resource, a file or another process passes through Visible on its way to a terminal, and through the escapes of a document to a
// program: it may hold control characters. It knows the answers of a daemon, and no flag or verb.
package render
