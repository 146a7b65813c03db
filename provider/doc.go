// Package provider is for programs that serve kinds of resources to mgmt. Such a program is a provider: mgmt starts it,
// asks it about single resources, and starts it again where it has ended.
//
//	//go:embed schema.json
//	var schema []byte // from mgmt idl build
//
//	func main() {
//		p := &provider.Provider{
//			Name: "notes", Version: "1.0.0", Schema: schema,
//			Resources: map[string]provider.Resource{
//				"notes:index:Note": provider.Typed[note](&noteOps{}),
//			},
//		}
//		if err := provider.Serve(context.Background(), p); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # The work of an author
//
// Ops has the work: Check, Diff, Create, Get, Update and Delete, with the author's own struct in place of a bag of
// properties. An Ops that embeds Defaults needs no Check and no Diff. A Watcher tells of changes; a Lister finds all things of
// the type. The schema file says of each type which of these it has.
//
// # Laws
//
//   - Every method may be called by many goroutines at once. mgmt has at most one call for each resource, besides Watch.
//   - Properties were checked against the schema before a method is called. So were the results, before mgmt sees them.
//   - Create with the same Call.Key again returns the thing that the first call has made.
//   - Get returns nil where there is no such thing. That is no error.
//   - An error that is no *protocol.Error has the code internal. A panic is an error of its call.
//   - Serve returns when the standard input ends. So no provider outlives mgmt.
//   - Standard output and standard error are logs. Nothing that is written there can harm the connection.
package provider
