// Package manifest is the text in which a resource is shown, and which sets one when it
// is read again:
//
//	file { '/etc/motd':
//	  state => 'exists',
//	  content => "hello\n",
//	  mode => '0644',
//	# entries => {}, # Read Only
//	# password => (secret), # Not Shown
//	}
//
// Who knows Puppet knows it. It is data and no language: there are no variables, no
// expressions, and one name for each resource.
//
// # Laws
//
//   - What Write writes, Parse reads: the same kind, name and values, without what is
//     read-only or hidden. Text that is no UTF-8 survives too.
//   - Each value is on lines of its own, whatever is in it: a line feed in a text is
//     written as \n, and what a terminal would act on as \u{...}. So no value forges
//     another one, or moves the cursor.
//   - A secret is never written.
//   - Parse places what it finds wrong, ends at the first of it, and bears any input:
//     its time is linear and its depth bounded.
//
// # The form
//
//	'text'    as it is; \' and \\ stand for ' and \
//	"text"    with \n \t \r \" \' \\ \$ \s, \u{1f600} and, for a byte, \xff
//	word      text too; true, false and undef are none
//	12 0x1f   numbers; 1.5 1e3
//	[a, b]    a list; {k => v} a map; a comma may follow the last entry
//	#         begins a comment
package manifest
