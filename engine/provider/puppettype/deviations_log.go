package puppettype

const (
	titlesAreText = "A title is text: the compiler refuses everything else."
	reallyFails   = "What a provider calls failed has failed; Puppet's library only logs it."
	manyTitles    = "The specification lets this take several titles."
)

// LogDeviations returns the sorts of cases in which provider.Logger does
// otherwise than Puppet's library, on purpose. Case matches the description and
// the calls.
func LogDeviations() []Deviation {
	const file = "logging"
	return []Deviation{
		{File: file, Case: `\["(debug|info|notice|warning|err)"(\]|,"[^"]*","[^"]*",)`,
			Reason: "The compiler refuses a plain message without one text, or with more than that and titles."},
		{File: file, Case: `\["\w+",\{`, Reason: titlesAreText},
		{File: file, Case: `\["\w+",\[[^]]*null`, Reason: titlesAreText},
		{File: file, Case: `\["\w+",(\d|null|true|false)`, Unseen: true, Reason: titlesAreText},
		{File: file, Case: `\["(\w+ed|\w+ing)",\[\]`, Unseen: true,
			Reason: "The compiler asks for a title where something has become of one."},
		{File: file, Case: `\["(created|updated|deleted)",\["[^"]*"\]`, Unseen: true,
			Reason: "A list of one title is that title."},
		{File: file, Case: `\["(attribute_changed|process(ed|ing))".*\{`, Puppet: `\{:\w+=>`, Unseen: true,
			Reason: "The keys of a hash inside of a value are text, not symbols."},
		{File: file, Case: `"raise"`, Puppet: `raised: `,
			Reason: "A panic is logged before it goes on, and the title has failed; Puppet's library says nothing of it."},
		{File: file, Puppet: "undefined method [`']call' for nil|no block given",
			Reason: "A context without a function is the long form of the specification: it ends with an action; Puppet's library fails by accident."},
		{File: file, Puppet: `(processing|processed) only accepts a single resource title`, Reason: manyTitles},
		{File: file, Puppet: `attribute_changed only accepts a single resource title`, Unseen: true, Reason: manyTitles},
		{File: file, Case: `\["attribute_changed"`, Puppet: `wrong number of arguments`, Unseen: true,
			Reason: "In a context the title may be left out, as the specification has it."},
		{File: file, Case: `"sensitive"`, Puppet: `\[value redacted\]`, Unseen: true,
			Reason: "What must not be shown reads (secret), everywhere in this program."},
		{File: file, Case: `\["fail(ed|ing)"`, Puppet: `failed: false`, Reason: reallyFails},
		{File: file, Case: `\["unchanged"`, Unseen: true,
			Reason: "The specification has it; Puppet's library does not know it."},
		{File: file, Case: `"do":\[\[.*"do":`, Unseen: true,
			Reason: "Contexts nest; in Puppet's library the inner one clears the outer."},
		{File: file, Case: `\["process(ed|ing)"`, Puppet: `:\w+=>.*, :\w+=>`, Unseen: true,
			Reason: "The attributes of a record have no order of their own; they are shown by name."},
	}
}
