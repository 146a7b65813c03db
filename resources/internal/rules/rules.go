package rules

import "errors"

// Broken collects the rules that are broken.
func Broken(rules []Rule) (errs []error) {
	for _, r := range rules {
		if r.If {
			errs = append(errs, errors.New(r.Text))
		}
	}
	return errs
}

// Rule is one that spans parameters.
type Rule struct {
	If   bool
	Text string
}
