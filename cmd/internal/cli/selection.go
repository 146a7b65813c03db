package cli

// SelectionHelp is the same in all verbs that take a selection.
const SelectionHelp = `A selection is kind[name], a kind, module:NAME, label:KEY=VALUE or state:WORD,
where * matches any characters. Join terms with & (both match) or a comma (either
matches), and quote the selection: 'file[/etc/nginx/*] & state:failed'.`

// MostSelected is how many resources a verb shows one after the other.
const MostSelected = 20
