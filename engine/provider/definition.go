package provider

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Definition is a type as data. See Check for its rules.
type Definition struct {
	Name string // of the kind: a lower case word of letters, digits and _
	Doc  string // Markdown, one paragraph first

	Attributes []Attribute // in the order in which they are shown

	// Automatic relations: edges to the resources that are in the graph.
	Require   []Relation // they come before this one
	Before    []Relation // they come after this one
	Subscribe []Relation // they come before this one, and notify it
	Notify    []Relation // they come after this one, and are notified by it

	Features Features

	// TitlePatterns give the namevars from a title; the first match counts.
	// With one namevar it may be empty: the title is its value.
	TitlePatterns []TitlePattern

	// Transports are the names of the transports over which the provider works, with the feature
	// RemoteResource; empty for all.
	Transports []string

	// Poll is how often things are read to see changes, where the provider is not a
	// Watcher; 0 for DefaultPoll.
	Poll Interval

	Pos schema.Pos // where it was read; zero for Go
}

// Attribute is one attribute of a type.
type Attribute struct {
	Name string
	Type string // as package puppettype reads it
	Doc  string
	Role Role

	Default    any // the meaning of its absence; nil for "not managed"
	HasDefault bool

	Lend schema.Lend // whether another host may give it

	Sensitive bool // its values must not be shown; also true for the type Sensitive

	Pos schema.Pos // where it was read; zero for Go
}

// Role says what an attribute is to its resource; the specification's kind, or
// behaviour.
type Role uint8

// The roles of an attribute.
const (
	Property  Role = iota
	Namevar        // part of the identity
	ReadOnly       // reported, never set
	InitOnly       // set at creation only
	Parameter      // steers the provider, can't be read
)

// Relation asks for automatic edges to resources of one kind.
type Relation struct {
	Kind   string   // package, service, notify and cron, the words of catalogs, mean pkg, svc, msg and crontab
	Titles []string // constants, or $attribute for the titles that the attribute holds
}

// TitlePattern is one way of writing a title.
type TitlePattern struct {
	Pattern string // a regular expression whose named groups are namevars
	Doc     string
}

// Features is a set of abilities of a provider.
type Features uint16

// The features. Those of the specification come first.
const (
	Canonicalize    Features = 1 << iota // it is a Canonicalizer
	SimpleGetFilter                      // Get heeds Filter.Names
	NoopHandler                          // Set is called under noop too; also supports_noop
	CustomInSync                         // it is an InSyncer
	Find                                 // it is a Finder, and things can't be listed
	Refreshable                          // it is a Refresher
	Unverified                           // what Set changed is not read again: it takes time to show
	RemoteResource                       // a resource may name a target, see Runtime.Transport
	Collectable                          // its name does no harm, so a resource may come from another host: see engine/lend
)

// compiled is an Attribute that was checked.
type compiled struct {
	Attribute
	typ      *puppettype.Type // as written, wrapped if sensitive
	optional bool             // it may be left out
	secret   bool             // its values must not be shown
	covert   bool             // parts of them may be such that must not
}

// featureNames are the names of the features in definitions, in the order of the bits.
var featureNames = []string{"canonicalize", "simple_get_filter", "noop_handler", "custom_insync", "find", "refresh", "unverified", "remote_resource", "collectable"}

// String returns the names with commas between.
func (f Features) String() string {
	var names []string
	for i, n := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}
