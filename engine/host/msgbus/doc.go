// Package msgbus connects a Host to the message buses of the machine (D-Bus). Importing it gives every Host of the program its buses.
// A kind that asks a Host for a bus imports it; so a program without such a kind links no code for buses.
//
// # Laws
//
//   - A process has one connection to each bus, made when it is first asked for and made again when it is lost. After that
//     each subscription is woken, since signals may have been lost.
//   - The bus has each rule once, however many subscriptions need it.
//   - A signal only sets bits: nothing queues, and no goroutine is started for it.
package msgbus
