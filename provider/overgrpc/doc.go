// Package overgrpc serves a provider over gRPC, by engine/plugin/provider.proto. It is a package of its own because gRPC is
// large: a program that speaks JSON lines, by provider.Serve, has a third of the size.
//
//	func main() {
//		if err := overgrpc.Serve(context.Background(), &provider.Provider{...}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Laws
//
//   - mgmt decides: its variable MGMT_PLUGIN_SOCKET asks for gRPC, and without it the program speaks lines. An author who runs
//     the program in a debugger sets MGMT_PLUGIN_LISTEN=grpc:PATH.
//   - A call without the token of the start is refused. Only the user of the provider can open the socket.
//   - Serve returns when the standard input ends. So no provider outlives mgmt.
package overgrpc
