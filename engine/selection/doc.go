// Package selection reads the one language in which people name resources to the verbs, the API and the tests.
//
//	selection = all { "," all }              any of them
//	all       = term { "&" term }            each of them
//	term      = KIND [ "[" NAME "]" ]        file, file[/etc/motd], file[/etc/nginx/*], *[/etc/*]
//	          | "module:" INSTANCE           resources of a module, with those of the modules in it: module:web, module:web.tls
//	          | "label:" KEY [ "=" VALUE ]   label:tier=db, label:tier
//	          | "state:" STATE               a word of mgmt status: state:failed
//
// Spaces around a term count for nothing. "&" binds closer than ",".
//
// # Laws
//
//   - In KIND, NAME, INSTANCE, KEY and VALUE, "*" stands for any characters, "/" too, as it does in the setting accept and in collect (package
//     lend asks Like). No other character is special in a pattern. Unlike there, a slash at the end says nothing: it belongs to names of folders.
//   - A backslash takes the meaning from the character behind it. Exact writes a name so that it selects that one resource, whatever is in it.
//   - A NAME ends at the first "]" behind which the text, or a term, ends. So most names need no backslash, with brackets in them too.
//   - Of reads a text that is the id of a resource as that resource, before all else. So an id selects exactly itself, also one with commas,
//     stars or brackets, and no script that names a resource changes its meaning.
//   - A selection is evaluated at one moment. What a later graph adds is not selected.
//   - A member of an automatic group selects the resource that runs it. A state is that at rest, or that of this moment, as in mgmt status.
//   - A text that can't be read is an *Error, with the place and, where one is near, the word that was meant. A selection of nothing is a
//     *NoneError, which names what is near: a verb that did nothing must not look as if it had done its work.
//   - Parse(s.String()) gives s.
package selection
