// Package secret has the verb secret: values that are encrypted to the identities of age that a graph names, in files of YAML. Plain text reaches standard
// output, an editor in a folder in memory, and nothing else.
package secret
