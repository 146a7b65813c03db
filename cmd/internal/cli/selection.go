package cli

// SelectionHelp is the same in all verbs that take a selection.
const SelectionHelp = `A selection is kind[name], a kind, module:NAME, label:KEY=VALUE or state:WORD. In
them * stands for any characters. With & between two both must fit, with a comma
one of them. Quote it: 'file[/etc/nginx/*] & state:failed'.`

// MostSelected is how many resources a verb shows one after the other.
const MostSelected = 20
