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
// Users of catalogs know it. It is data and no language: there are no variables, no
// expressions, and one name for each resource.
//
// # Laws
//
//   - Parse reads the output of Write: the same kind, name and values, without
//     read-only or hidden ones. Text outside of UTF-8 survives too.
//   - Each value is on lines of its own, whatever its content: a line feed in a text
//     is written as \n, and characters that a terminal would act on as \u{...}. So
//     no value forges another one, or moves the cursor.
//   - A secret is never written.
//   - Parse gives the place of a fault, ends at the first of it, and bears any input:
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
