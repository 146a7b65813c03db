package puppet

// how says what becomes of an attribute.
// The words are those of the column in the reference.
type how string

const (
	same     how = "same"    // it has the same name and value
	rename   how = "rename"  // another name, the same value
	convert  how = "convert" // another form; the note says which
	byEngine how = "engine"  // the engine does it: an edge, a metaparameter
	ignored  how = "ignored" // nothing follows from it; the note says why
	refused  how = "refused" // it can't be expressed; the note says why
)

// attribute is one row of the table: the translation of one attribute of a type.
type attribute struct {
	name string
	how  how
	to   string // the key of our kind; that of the attribute for same
	note string // the rule, or the reason

	// whole says, of a refused one, that the resource would do something else
	// without it: lenient leaves the whole resource out.
	whole bool

	// do converts the value. Those without it are converted together, by the
	// type's finish.
	do func(*translation, *param)
}

// kindType is one type of Puppet and the kind that it becomes.
// It is a value of the package, made at the start and never altered; a translation that learns
// more takes a copy.
type kindType struct {
	name, kind string // kind is empty for a type that is refused or nothing
	how        how    // of the type as a whole: convert, ignored or refused
	note       string
	refreshes  bool // Puppet refreshes it
	silent     bool // its changes do not count here: it notifies no other resource
	attributes []attribute
	// It runs after all rows, for what several attributes say together. It may be nil.
	finish func(*translation)
}

// attribute returns the row of an attribute, of the type or of all types; nil for an
// unknown one.
// The type's own row wins over that of all types.
func (t *kindType) attribute(name string) *attribute {
	for _, list := range [][]attribute{t.attributes, metaparameters} {
		for i := range list {
			if list[i].name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// names returns the names of all attributes, for suggestions.
func (t *kindType) names() (list []string) {
	for _, attrs := range [][]attribute{t.attributes, metaparameters} {
		for _, a := range attrs {
			list = append(list, a.name)
		}
	}
	return list
}

// types are the types of Puppet that we know, by their order in the reference.
var types = []*kindType{
	fileType, execType, packageType, serviceType, userType, groupType, hostType, cronType, mountType, sshKeyType, notifyType,
	concatFileType, concatType, fileLineType, mailaliasType, sysctlFileType, sysctlRuntimeType, psqlType, psqlValidatorType,
	{name: concatFragment, how: ignored, note: intoFile},
	{name: concatPart, how: ignored, note: intoFile},
	{name: "anchor", kind: "noop", how: convert, refreshes: true, note: "a point in the graph that refreshes pass through"},
	{name: "schedule", how: ignored, note: "it does nothing by itself; the metaparameter schedule, which uses it, is refused"},
	{name: "filebucket", how: ignored, note: "it does nothing by itself; mgmt keeps no copies of replaced files"},
	{name: "resources", how: refused, note: "mgmt does not remove things that no resource manages"},
	{name: "tidy", how: refused, note: "mgmt has no kind that removes files by their age"},
}

// typeNamed finds a type by its name in lower case. It is never altered.
var typeNamed = func() map[string]*kindType {
	m := make(map[string]*kindType, len(types))
	for _, t := range types {
		m[t.name] = t
	}
	return m
}()

// metaparameters are what every type has.
var metaparameters = []attribute{
	{name: "before", how: byEngine, note: "an edge from this to those"},
	{name: "require", how: byEngine, note: "an edge from those to this"},
	{name: "notify", how: byEngine, note: "an edge from this to those, with refresh"},
	{name: "subscribe", how: byEngine, note: "an edge from those to this, with refresh"},
	{name: "noop", how: byEngine, to: "meta.noop", do: (*translation).noop},
	{name: "alias", how: byEngine, note: "another name in references"},
	{name: "tag", how: byEngine, note: "`--tags` selects by it"},
	{name: "stage", how: byEngine, note: "the stage contains the class"},
	{name: "loglevel", how: ignored, note: "mgmt has one level for changes; of notify it becomes the priority"},
	{name: "audit", how: refused, note: "mgmt does not watch single attributes; meta drift: report does it for a whole resource"},
	{name: "schedule", how: refused, whole: true, note: "mgmt has no times at which a resource may run"},
}

// sames returns rows of attributes that have the same name.
func sames(names ...string) (list []attribute) {
	for _, name := range names {
		list = append(list, attribute{name: name, how: same})
	}
	return list
}

// refusals returns rows of attributes that are refused for one reason, and without
// which the resource still makes sense.
func refusals(note string, names ...string) (list []attribute) {
	for _, name := range names {
		list = append(list, attribute{name: name, how: refused, note: note})
	}
	return list
}

// breaking returns rows of attributes that are refused for one reason, and without
// which the resource would do something else.
// With Options.Lenient the resource is left out as a whole.
func breaking(note string, names ...string) []attribute {
	list := refusals(note, names...)
	for i := range list {
		list[i].whole = true
	}
	return list
}
