package idl

// The classes of findings. They are stable: tools and tests may compare them.
const (
	// No Go: syntax, types, cycles, mixed packages.
	EGo = "E_GO"
	// The name of the package begins no token.
	EPackage = "E_PACKAGE"
	// A file can't be read, or is too large.
	EFile = "E_FILE"
	// The output of a file would be that of another one.
	EFileConflict = "E_FILE_CONFLICT"
	// A file is there for some systems only, by a line in it or by its name.
	EBuildConstraint = "E_BUILD_CONSTRAINT"
	// A package that is neither a module of the definitions nor that of the markers.
	EImport = "E_IMPORT"

	// A function or a method.
	EToplevelFunc = "E_TOPLEVEL_FUNC"
	// A variable.
	EToplevelVar = "E_TOPLEVEL_VAR"
	// A type that is neither a struct nor an enum.
	EBadTypedef = "E_BAD_TYPEDEF"
	// A name for another type.
	EAliasNotEnum = "E_ALIAS_NOT_ENUM"
	// Type A = B.
	EGoAlias = "E_GO_ALIAS"

	// An enum made from another type than string.
	EEnumNotString = "E_ENUM_NOT_STRING"
	// Two constants of an enum with one value.
	EEnumDuplicate = "E_ENUM_DUPLICATE"
	// A constant of an enum of another package.
	EEnumForeign = "E_ENUM_FOREIGN"
	// A constant that JSON has no form for, or that float64 does not hold.
	EConstType = "E_CONST_TYPE"

	// A number of another kind than float64, or another predeclared type.
	EBadPrimitive = "E_BAD_PRIMITIVE"
	// A type without a form in the targets.
	EBadType = "E_BAD_TYPE"
	// A pointer to a pointer.
	EBadPointer = "E_BAD_POINTER"
	// A struct without a name.
	EInlineStruct = "E_INLINE_STRUCT"
	// Keys that are neither text nor an enum.
	EMapKey = "E_MAP_KEY"
	// A resource or an asset inside of another type.
	EResourceByValue = "E_RESOURCE_BY_VALUE"
	// An embedded pointer.
	EEmbedPointer = "E_EMBED_POINTER"
	// An embedded resource, or a second marker.
	EEmbedResource = "E_EMBED_RESOURCE"
	// A field with a small letter.
	EUnexportedField = "E_UNEXPORTED_FIELD"
	// A pointer to a property that is always there.
	EPointerNotOptional = "E_POINTER_NOT_OPTIONAL"
	// An optional property whose absence could not be told.
	EOptionalNotPointer = "E_OPTIONAL_NOT_POINTER"
	// A type with too many parts.
	ETooLarge = "E_TOO_LARGE"

	// A tag that can't be read.
	ETagSyntax = "E_TAG_SYNTAX"
	// An option that there is not.
	ETagUnknown = "E_TAG_UNKNOWN"
	// An option that is there twice.
	ETagDuplicate = "E_TAG_DUPLICATE"
	// A name that not every target can write.
	ETagName = "E_TAG_NAME"
	// Replaces in a struct.
	EReplacesNotResource = "E_REPLACES_NOT_RESOURCE"
	// An output in a struct.
	EOutNotResource = "E_OUT_NOT_RESOURCE"
	// An input alone of a struct, or one that is an output, too.
	EIn = "E_IN"
	// An output that no user could change.
	EOutReplaces = "E_OUT_REPLACES"
	// A property that another host can not give.
	ELend = "E_LEND"
	// A constraint of another type.
	EConstraintType = "E_CONSTRAINT_TYPE"
	// A constraint that can't be read, or that no value meets.
	EConstraintValue = "E_CONSTRAINT_VALUE"
	// A constraint of an output.
	EConstraintOut = "E_CONSTRAINT_OUT"
	// A pattern that Go and JavaScript read differently.
	ERegexPortable = "E_REGEX_PORTABLE"
	// A default of a property that takes none.
	EDefault = "E_DEFAULT"

	// Two properties of one name.
	EDuplicateProperty = "E_DUPLICATE_PROPERTY"
	// A name with a meaning in every resource.
	EReservedProperty = "E_RESERVED_PROPERTY"
	// Two declarations would have the same name in a target.
	ENameCollision = "E_NAME_COLLISION"
	// A name that the stubs need for what Go means by it.
	EPredeclared = "E_PREDECLARED"
	// A resource with a small letter.
	EUnexportedResource = "E_UNEXPORTED_RESOURCE"
	// A type of the module alone, in a property that others use.
	EUnexportedType = "E_UNEXPORTED_TYPE"
)
