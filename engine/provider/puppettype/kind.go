package puppettype

// Kind is the head of a Type: the name before the bracket. The zero Kind is Any.
type Kind uint8

// The kinds. KindUnit is what an empty array or hash holds; it has no notation.
const (
	KindAny Kind = iota
	KindUnit
	KindUndef
	KindDefault
	KindBoolean
	KindInteger
	KindFloat
	KindNumeric
	KindString
	KindEnum
	KindPattern
	KindRegexp
	KindScalar
	KindScalarData
	KindData
	KindRichData
	KindVariant
	KindOptional
	KindNotUndef
	KindCollection
	KindArray
	KindHash
	KindTuple
	KindStruct
	KindIterable
	KindSensitive
	KindTimestamp
	KindTimespan
	KindSemVer
	KindSemVerRange
	KindBinary
	KindURI
	KindType
	KindInit
	KindCallable
	KindRuntime
	KindCatalogEntry
	KindClass
	KindResource
	numKinds = iota
)

// kindNames are in the order of the constants.
var kindNames = [numKinds]string{
	"Any", "Unit", "Undef", "Default", "Boolean", "Integer", "Float", "Numeric", "String", "Enum", "Pattern", "Regexp",
	"Scalar", "ScalarData", "Data", "RichData", "Variant", "Optional", "NotUndef", "Collection", "Array", "Hash", "Tuple",
	"Struct", "Iterable", "Sensitive", "Timestamp", "Timespan", "SemVer", "SemVerRange", "Binary", "URI", "Type", "Init",
	"Callable", "Runtime", "CatalogEntry", "Class", "Resource",
}

// String returns the name of the kind, such as Integer.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "?"
}

// scalarData and scalar are the kinds whose every value is ScalarData or Scalar,
// texts those whose every value is a string.
var (
	scalarData = kinds(KindBoolean, KindInteger, KindFloat, KindNumeric, KindString, KindEnum, KindPattern, KindScalarData)
	scalar     = scalarData | kinds(KindRegexp, KindTimestamp, KindTimespan, KindSemVer, KindSemVerRange, KindScalar)
	texts      = kinds(KindString, KindEnum, KindPattern)
)

// kindSet is a set of kinds.
type kindSet uint64

// kinds makes a set. There are fewer than 64 kinds, so one word holds it.
func kinds(ks ...Kind) kindSet {
	var s kindSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// has reports whether k is in the set.
func (s kindSet) has(k Kind) bool { return s&(1<<k) != 0 }
