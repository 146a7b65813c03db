// Command byhand serves the types of the example aws without the IDL and without the SDK. It is here for comparison: it does the
// work of the program provider on the same protocol, and passes the same rules. A test counts the lines that the author of
// each of the two has written.
//
// All that the other program gets from generated stubs and from the SDK is written out: the schema file, the structs, the
// decoding of properties with all faults, the lines of the connection, the handshake, and the dispatch of calls.
//
// # Laws
//
//   - Many calls may be open at once, and each gets one answer.
//   - A thing that was made with a key is made once.
//   - The program ends when its standard input ends.
package main
