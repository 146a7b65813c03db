// Package control lets people and programs ask a running engine about its work and
// the reasons, and tell it to leave things alone for a while. It has an HTTP API on a
// unix socket (Server, Listen), the history behind it (Recorder), and a Client. The
// endpoints and the fields of their answers are in docs/objects.md; the types here are
// those fields. A program that embeds the engine calls the Recorder from its
// Observer, and Server and Recorder.Run from Background: see the example of mgmt.Options.
//
// # Laws
//
//   - Nothing here holds the engine up. The Recorder is called on the engine's
//     loop. It copies, and leaves encoding and storing to a goroutine of its own,
//     behind a bounded queue. Events that do not fit are counted, and an event
//     tells the number. A client that reads slowly or not at all is cut off, and
//     can go on later at the event where it was.
//   - A caller is root, our own user, or in the group of the socket.
//     Everybody else gets 403, whatever the mode of the socket has become. There
//     is no moment in which the socket is open to more.
//   - A socket with a listener is never taken away, nor is anything
//     else than a socket. A socket without a listener is replaced.
//   - All answers come from the engine, which has taken the secrets out. Nothing
//     here looks behind that: no field of a resource is read.
//   - Names of fields, words and paths below /v1 are stable: they may become more,
//     and none goes away or changes its meaning.
//   - Serve returns when its context has ended and every request is over. It
//     leaves no goroutine, no descriptor and no socket.
//
// # A request
//
// A client connects to the socket; the kernel names its user. The frame of package httpd
// refuses others, checks the method, the path and the query, and calls one of the methods
// get... or post... of Server. That asks the Engine or the History, and returns a value
// for JSON or an error. Errors become problem+json, see problem.
//
// # Times
//
// A question that waits for nothing is answered within askTimeout. A question that waits
// names its time in seconds, bounded by an hour. A Client gives the daemon twice
// askTimeout beyond that before it reports ErrSilent.
//
// # Bounds
//
// A body may have 64 KiB, but for POST /v1/apply, which takes a document of 16 MiB, and POST /v1/mcp, which takes 2 MiB. At most 64
// requests last at the same time: streams of events, waits and profiles. Another one gets 503. The
// queue of the Recorder has 8,192 events and 16 MiB of texts.
//
// # Ownership
//
// The program owns the Engine, the History and the socket, and ends them after the Server. An
// answer is made for one request, and no other goroutine sees it. A Client owns nothing between
// two calls.
package control
