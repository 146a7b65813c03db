package backends

import (
	"fmt"
	"strings"
)

// UnknownError says that no repository, as far as the lists of packages go, has
// these packages or the versions of them that are wanted. Nothing was altered.
// A later look at the repositories may find them, so the engine's retries make sense.
// Callers find it by errors.AsType, as all errors of this file. Each stays recognisable when other
// errors are joined with it.
type UnknownError struct {
	Names []string // sorted
	Text  string   // the words of the package manager, in one line; or empty
}

func (e *UnknownError) Error() string {
	text := "no repository has " + strings.Join(e.Names, ", ")
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// UnreachableError says that a repository could not be reached, or does not have any more a file
// that the lists of packages name.
// The installed packages are as before: a download comes before the transaction.
type UnreachableError struct{ Text string }

func (e *UnreachableError) Error() string {
	return "a repository cannot be reached (see whether its address is right and the network is up): " + e.Text
}

// AbsentError says that packages are not installed that have to be.
// Nothing was altered.
type AbsentError struct{ Names []string }

func (e *AbsentError) Error() string {
	return "not installed: " + strings.Join(e.Names, ", ")
}

// LockedError says that another program used the package manager all the time that it
// was waited for.
// Nothing was altered. The wait is two minutes, or until the context ends.
type LockedError struct {
	Tool   string
	Holder string // who, as far as the package manager says; or empty
}

// Error names the user of the package manager, and the time that was waited.
func (e *LockedError) Error() string {
	who := e.Holder
	if who == "" {
		who = "another program"
	}
	return fmt.Sprintf("%s is locked by %s, for longer than %s", e.Tool, who, lockWait)
}

// ToolError says that a tool has failed for another reason.
// The transaction may have been made in part; interrupted tells.
// Exit is the exit status. It has no meaning if a signal ended the tool; Text then names the
// signal.
type ToolError struct {
	Tool string
	Exit int
	Text string // its complaint, in one line
}

func (e *ToolError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s ended with exit status %d and said nothing", e.Tool, e.Exit)
	}
	return fmt.Sprintf("%s: %s", e.Tool, e.Text)
}

// HeldError says that the wanted state would alter packages that hold keeps. Nothing was altered.
type HeldError struct{ Names []string }

// Error names the held packages, and the way out.
func (e *HeldError) Error() string {
	return "held at the version that they have (end that by unhold): " + strings.Join(e.Names, ", ")
}
