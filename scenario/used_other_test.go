//go:build !unix

package scenario_test

import "time"

// used is not known here.
func used() time.Duration { return 0 }
