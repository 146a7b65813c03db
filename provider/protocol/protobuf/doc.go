// Package protobuf writes and reads the messages of provider/protocol as Protocol Buffers, in the form of
// engine/plugin/provider.proto. The messages stay the structs that the JSON lines have, so both transports carry the same.
//
// # Laws
//
//   - The tag pb of a field has its number. A field without the tag is not sent. An embedded struct is a message of its own.
//   - A bag is a google.protobuf.Struct, whose numbers are doubles. A whole number that no double has is an error of the
//     sender, and so are NaN and the infinite numbers.
//   - A bag that is nil is absent, and one without properties is present.
//   - A field that the receiver does not know is passed over. Nothing that arrives leads to a panic, and the depth of a bag has
//     a bound.
//   - An error has no value of the message, which may be a secret.
package protobuf
