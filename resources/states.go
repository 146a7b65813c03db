package resources

// The states of most things.
const (
	FileExists = "exists"
	FileAbsent = "absent"
)
