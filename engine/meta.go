package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// MetaParams are the parameters that every resource has: how the engine runs
// it. A zero value means what DefaultMetaParams says.
type MetaParams struct {
	Noop       *bool         `yaml:"noop" doc:"Only look and report, alter nothing. An explicit false wins over the flag --noop=default."`
	Retry      int           `yaml:"retry" mgmt:"min=-1" doc:"How often to try again after a failure; -1 for ever."`
	RetryReset bool          `yaml:"retryreset" doc:"Count retries anew after a success."`
	Delay      time.Duration `yaml:"delay" mgmt:"unit=ms" doc:"How long to wait before a retry; a bare integer is milliseconds."`
	Timeout    time.Duration `yaml:"timeout" mgmt:"unit=ms" doc:"How long one CheckApply may take, 0 for no limit; a bare integer is milliseconds."`
	Poll       time.Duration `yaml:"poll" mgmt:"unit=s" doc:"Look again after this time instead of watching; 0 to watch. A bare integer is seconds."`
	Sema       []string      `yaml:"sema" doc:"Semaphores to hold while running, each name or name:count; at most count (1 by default) resources hold one of that name and count at once."`
	Hidden     bool          `yaml:"hidden" doc:"Keep the resource in the graph, but never validate, watch or run it."`
	Dollar     bool          `yaml:"dollar" doc:"Allow a name that begins with a dollar sign."`
}

// DefaultMetaParams returns what absent metaparameters mean.
func DefaultMetaParams() *MetaParams { return &MetaParams{} }

// Validate returns everything that is wrong with the metaparameters.
func (m *MetaParams) Validate() error {
	var errs []error
	if m.Retry < -1 {
		errs = append(errs, fmt.Errorf("retry is %d, it must be -1 (for ever) or more", m.Retry))
	}
	for _, d := range []struct {
		key string
		val time.Duration
	}{{"delay", m.Delay}, {"timeout", m.Timeout}, {"poll", m.Poll}} {
		if d.val < 0 {
			errs = append(errs, fmt.Errorf("%s is %s, it must not be negative", d.key, d.val))
		}
	}
	for _, s := range m.Sema {
		if _, _, err := ParseSema(s); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// ParseSema splits name or name:count. The count is 1 when absent.
func ParseSema(s string) (name string, count int, err error) {
	name, num, ok := strings.Cut(s, ":")
	count = 1
	if ok {
		if count, err = strconv.Atoi(num); err != nil || count < 1 {
			return "", 0, fmt.Errorf("semaphore %q: the count %q must be a whole number above 0", s, num)
		}
	}
	if name == "" {
		return "", 0, fmt.Errorf("semaphore %q has no name, write name or name:count", s)
	}
	return name, count, nil
}

// Cmp returns nil if both say the same, else an error that names a difference.
func (m *MetaParams) Cmp(o *MetaParams) error {
	t, err := schema.OfType(reflect.TypeFor[MetaParams]())
	if err != nil {
		return err
	}
	for _, d := range schema.Diff(t, m, o) {
		return fmt.Errorf("meta.%s differs", d.Path)
	}
	return nil
}
