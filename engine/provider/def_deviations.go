package provider

import "github.com/reactivegraph/mgmt/engine/provider/puppettype"

// DefinitionDeviations returns the cases in which definitions are read otherwise than by
// Puppet's library, on purpose, for the tests and for the page that lists them.
func DefinitionDeviations() []puppettype.Deviation {
	return []puppettype.Deviation{
		{File: "definitions", Case: `^attribute type module alias$`,
			Reason: "A name that is no type is an error at registration; Puppet accepts it and then refuses every value."},
		{File: "definitions", Case: `^(unknown attribute option|docs of an attribute)`,
			Reason: "A key that is not known is an error, with the nearest one; Puppet ignores it, so that a misspelt behaviour makes a read_only attribute one that is managed."},
		{File: "definitions", Case: `feature noop_handler`,
			Reason: "noop_handler, the name in the specification, is known as well as supports_noop."},
		{File: "definitions", Case: `^feature (unknown|remote_resource|custom_generate)`,
			Reason: "A feature that nothing here heeds is an error, not a warning: the provider would wait for calls that never come."},
		{File: "definitions", Case: `^autorequire ref to unknown attribute`,
			Reason: "A relation that refers to an attribute that is not there never comes about; it is an error."},
		{File: "definitions", Case: `^name with upper case`,
			Reason: "Kinds are lower case words."},
		{File: "lifecycle_title_patterns", Case: `^composite-missing-part$`,
			Reason: "A namevar that neither the title nor the resource gives is an error that names it; Puppet passes undef on."},
	}
}
