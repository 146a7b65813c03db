package resources

// Doc describes the kind.
func (*FileRes) Doc() string { return fileDoc }

const fileDoc = `A file, a folder or a symbolic link: its content, owner, group and mode.
`
