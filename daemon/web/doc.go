// Package web serves the page of a daemon: its files, the logins, and behind these the API that the socket has. It knows nothing of what the
// API answers. The page is made from the sources in the folder web of the repository; dist has the result.
//
// # Laws
//
//   - Deny by default. Of the API, only the requests of reading and steering are passed on, and steering only for who may steer.
//     What a graph is, objects, providers and profiles cannot be reached.
//   - A request of the API needs two things: the cookie of a login and its token, which is a header that only the page can send. So
//     neither another site nor a server on another port of the same machine, which gets the cookie too, can ask in the name of a person.
//   - A link opens the page once, and for a short time. A login ends after Life. Only digests of links, cookies and tokens are kept.
//   - The name that a browser asks for must be an address, localhost, or one of Options.Hosts: so a name of somebody else that leads
//     here (DNS rebinding) gets nothing. An Origin must be the page's own.
//   - The header of a proxy counts only if Options names the header and the proxy, and the proxy shows its certificate.
//   - Every answer forbids to be framed, to be taken for another type, and to ask another origin.
//   - A login that was made by a certificate or a proxy counts only for requests with the same name.
package web
