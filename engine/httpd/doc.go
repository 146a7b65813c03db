// Package httpd is the one frame of the HTTP servers of this program: listeners, callers, limits,
// routes, errors, versions of objects, streams, and the description of it all in OpenAPI 3.1. A
// server of the program is a list of Routes, which are data, and their handlers.
//
//	frame := &httpd.Server{Table: httpd.MustTable(info, routes)}
//	err := frame.Serve(ctx, listener)
//
// # Laws
//
//   - Callers. Every request has a Peer. A unix socket (Listen) knows it from the kernel: root, the
//     daemon's own user and the group of the socket may ask. A TLS listener (ListenTLS) knows it
//     from a certificate, which its CA has signed; where TLSOptions.Anyone asks
//     for that, it may have none. It is unknown then. A caller
//     of a plain TCP listener (ListenTCP) is unknown, too, and reaches only the routes that are Public;
//     where every route is, so is the description. A listener that was not made here is the
//     program's own matter: its callers have no Peer, and are admitted.
//   - A socket has its mode before a client can connect. A socket with a listener is never taken
//     away, nor a file of another type. A socket that was removed under a running server is made
//     again.
//   - Certificates are read again when their files change, without a restart. Files that cannot be
//     used leave the old certificate in effect, with one warning. New files count for the next
//     connection.
//   - Nothing that a client does holds the server up. Connections, heads, bodies, requests that
//     last, and the time for each have limits (Limits). When all connections are in use, the
//     connection that has been silent for longest gives way. One that asks on and takes no answer counts as silent.
//   - A path is matched as it came, segment by segment, and each segment is unescaped for itself:
//     an id may contain every character, an escaped slash included. Nothing is cleaned and no
//     client is redirected. Empty segments, and segments that are "." or ".." as they stand, match
//     no route.
//   - For a path that exists, OPTIONS answers 204 with Allow, HEAD answers as GET without a body,
//     and any other method that is not declared answers 405 with Allow.
//   - Every error is application/problem+json (Problem), with a hint where there is one, and with
//     all findings and their places where a document is wrong. Only a head that is no HTTP, or too
//     long, has an answer of net/http. An answer that has begun and cannot be ended is cut, so that
//     no client takes it for whole. A panic of a handler is one answer of 500.
//   - A version (ETag) is compared as RFC 9110 says: If-Match strongly, If-None-Match weakly. GET
//     answers 304 and 412 by itself; a writer calls Conditions.Check where it holds its lock, so that of
//     two writers with one version only one wins.
//   - A stream holds at most one page of messages in memory. A reader that takes nothing for
//     Limits.Slow is cut, and goes on later after the id that it has seen last.
//   - The description is made from the routes and their types alone: the same routes give the same
//     bytes. Each type is a component of its own, also where packages have types of one name.
//   - Serve returns when its context has ended, every request is over and every connection is
//     closed. No goroutine, descriptor or socket remains. The package asks no clock but
//     Server.Clock; deadlines of connections are the kernel's.
package httpd
