package file

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// The words of copy_mode; else it is a mode.
const (
	copySource = "source"
	copyNew    = "new"
)

// copyMode returns an error if copy_mode makes no sense.
// It is a part of Validate and does no I/O.
func (r *Res) copyMode() error {
	switch {
	case r.CopyMode == "":
		return nil
	case r.Source == "" || !r.IsFolder() || !r.Recurse:
		return errors.New("copy_mode is for what is copied: it needs a source folder and recurse: true")
	case r.CopyMode == copySource, r.CopyMode == copyNew:
		return nil
	}
	if err := schema.Mode(r.CopyMode).Validate(); err != nil {
		return fmt.Errorf("copy_mode: it is source, new or a mode: %w", err)
	}
	return nil
}

// copiedMode returns the mode of a copy.
// An octal copy_mode gets x for folders wherever it has r, since a folder without x cannot be
// entered. An empty result leaves the permissions to the umask.
func (c *run) copiedMode(st atomicfile.Stat) schema.Mode {
	switch c.res.CopyMode {
	case "", copySource:
		return files.CopiedMode(st)
	case copyNew:
		return ""
	}
	if bits, err := strconv.ParseUint(c.res.CopyMode, 8, 32); err == nil && st.IsDir() {
		return schema.Mode(files.Octal(uint32(bits | bits&0o444>>2)))
	}
	return schema.Mode(c.res.CopyMode)
}
