// Package words is one table of the words that other tools have for what mgmt does: mgmt
// of purpleidea, Ansible, Puppet and Salt.
//
// # Laws
//
//   - The table is data (table.txt), and there is no other one: the builder of graphs
//     takes our word in the place of another one by it, errors name our word by it,
//     mgmt fmt writes our word by it, and the page "Coming from ..." is printed of it.
//   - A word is taken where its meaning is clear, and refused with our word where it is not.
//   - A word that a kind has by itself is that kind's; the table is asked for the rest.
//   - Two rows for one word of one place agree, whatever tools they are of.
package words
