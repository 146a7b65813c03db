// Package author has the verbs for those who write: of a graph fmt, lsp, doc, schema and init; module for modules; ts for programs; of a provider idl and
// plugin. They alter files of the author alone.
package author
