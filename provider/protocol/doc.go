// Package protocol has the messages between mgmt and a provider, which is a program that serves kinds of
// resources. Both sides use it: the engine (engine/plugin) and the Go SDK (provider). A program in another
// language writes the same messages as JSON. docs/reference/providers.md describes them for its author.
//
// # The lines
//
// Descriptor 3 of the provider is a stream socket that is open from the start. Each line on it is one JSON object.
//
//	{"id": 1, "method": "get", "params": {...}}    a question of mgmt; the ids of a connection count up
//	{"id": 1, "result": {...}}                     its answer
//	{"id": 1, "error": {"code": "...", "message": "..."}}
//	{"id": 2, "event": {"type": "changed"}}        news of a question that is still open, as watch
//	{"cancel": 2}                                  mgmt needs the answer to question 2 no more
//	{"log": {"level": "info", "message": "..."}}   a line for the log of mgmt
//
// # Laws
//
//   - Questions may be answered in any order. Each gets one answer, a canceled one too.
//   - The first question is handshake. No other one precedes its answer.
//   - An unknown key of an object is ignored, so later versions may add some. An unknown method is answered
//     with the code unimplemented.
//   - A line has at most MaxMessage bytes. Numbers are finite. Text is UTF-8. Null and an absent key are the same.
//   - A provider ends when its standard input ends.
package protocol
