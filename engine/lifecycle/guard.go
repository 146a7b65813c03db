package lifecycle

import (
	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// Call calls a method of a resource, or of a Shared. It turns a panic into an *callsafe.PanicError,
// and takes the text of an error at once (callsafe.CopyError). So the error may be read on any
// goroutine, and runs no code of the resource there. Call blocks as long as the method and the
// methods of its error do.
func Call(method string, f func() error) error {
	return callsafe.CopyError(method, callsafe.Do(method, f))
}
