// Package mcp has the verb mcp, by which the program of an agent asks a daemon. Beside the tools of engine/agents it has those that need no daemon:
// the kinds and their pages, and what reads a graph that the agent has written.
//
// Such a graph comes from a stranger. It is read by reader, which opens no file and runs no program, and looked at on a machine that runs no command.
package mcp
