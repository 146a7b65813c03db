package puppettype

// DefinitionDeviations returns the sorts of cases in which definitions are read otherwise
// than by Puppet's library, on purpose, for the tests and for the page that lists them.
// Case matches the definition as JSON, Ours the message about it here.
func DefinitionDeviations() []Deviation {
	const (
		file    = "definitions"
		taken   = `^accepted`
		early   = " is an error at registration; Puppet finds out when it runs, or never."
		unknown = "An unknown key is an error, with the nearest known key. Puppet ignores it, so a misspelt behaviour makes a read_only attribute a managed one."
	)
	return []Deviation{
		{File: file, Puppet: taken, Ours: `is not recognised: (there is no type|\S+ is an alias)`,
			Reason: "An unknown name of a type is an error at registration; Puppet accepts it and then refuses every value."},
		{File: file, Puppet: taken, Ours: `unknown key`, Reason: unknown},
		{File: file, Puppet: taken, Ours: `the attribute \S+ has both desc and docs`, Unseen: true, Reason: unknown},
		{File: file, Case: `"docs":`, Puppet: `undocumented`, Unseen: true,
			Reason: "Of an attribute, too, docs and desc are the same."},
		{File: file, Puppet: `^accepted, Unknown feature detected: \["noop_handler"\]`, Ours: `^accepted`,
			Reason: "noop_handler, the name in the specification, is known as well as supports_noop."},
		{File: file, Puppet: taken, Ours: `features\[\d+\] must be one of|feature \w+ is there twice`,
			Reason: "A feature that nothing here heeds is an error, not a warning: the provider would wait for calls that never come."},
		{File: file, Puppet: taken, Ours: `refers to \$`,
			Reason: "A relation that refers to an attribute that is not there never comes about; it is an error."},
		{File: file, Puppet: taken, Ours: `: auto\w+ names the kind|auto\w+ must be a map|auto\w+\.\S+ must be a list`, Unseen: true,
			Reason: "A relation that is not a map from kinds to titles" + early},
		{File: file, Puppet: taken, Ours: `has a name that is none`,
			Reason: "Kinds are lower case words."},
		{File: file, Puppet: taken, Ours: `the name of an attribute is a lower case`, Unseen: true,
			Reason: "So are attributes, of at most 64 characters."},
		{File: file, Puppet: taken, Ours: `has no namevar`, Unseen: true,
			Reason: "A type without a namevar" + early},
		{File: file, Puppet: taken, Ours: `is a namevar: (it must be|names are)`, Unseen: true,
			Reason: "A namevar that is neither text nor a whole number, may be undef, or is a secret," + early},
		{File: file, Puppet: taken, Ours: `the default of \S+|can't have a default`, Unseen: true,
			Reason: "A default that does not fit, or that nothing would heed," + early},
		{File: file, Puppet: taken, Ours: `ensure must be (a property|of the type)`, Unseen: true,
			Reason: "It is an error at registration if ensure is not a property, or if its case does not matter."},
		{File: file, Puppet: taken, Ours: `title pattern \d+`, Unseen: true,
			Reason: "A title pattern without groups, with groups that are not namevars, or beyond RE2," + early},
		{File: file, Case: `"(kind|behaviou?r)":"property"`, Ours: taken, Unseen: true,
			Reason: "The default kind of an attribute may be written out: property."},
		{File: file, Case: `"(desc|docs)":""`, Ours: `undocumented`, Unseen: true,
			Reason: "Documentation that is empty is none."},
		{File: "lifecycle_title_patterns", Ours: ` is missing: `,
			Reason: "A namevar that neither the title nor the resource gives is an error that names it; Puppet passes undef on."},
	}
}
