package provider

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
)

// titlePattern is a TitlePattern that was compiled.
type titlePattern struct{ re *rubyre.Regexp }

// titlePatterns compiles the patterns.
func (d *Definition) titlePatterns() ([]titlePattern, error) {
	var out []titlePattern
	for _, p := range d.TitlePatterns {
		re, err := rubyre.New(p.Pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, titlePattern{re})
	}
	return out, nil
}

// match returns the parts of a title that the pattern finds, by namevar.
func (p titlePattern) match(title string) (map[string]string, bool) {
	re := p.re.Compiled()
	at := re.FindStringSubmatchIndex(title)
	if at == nil {
		return nil, false
	}
	parts := map[string]string{}
	for i, group := range re.SubexpNames() {
		if group != "" && at[2*i] >= 0 {
			parts[group] = title[at[2*i]:at[2*i+1]]
		}
	}
	return parts, true
}

// namevars fills in the namevars that want lacks from the title: by the first pattern
// that matches it, or without patterns the first namevar as the whole. The namevars
// of want win over the title. The error joins their faults: it names missing
// namevars, and values that can't be read as their type.
func (k *Kind) namevars(title string, want Record) error {
	parts, matched := k.parts(title)
	var errs []error
	for _, a := range k.names {
		errs = append(errs, a.fill(k.def.Name+"."+a.Name, title, parts, matched, want))
	}
	return errors.Join(errs...)
}

func (a *compiled) fill(subject, title string, parts map[string]string, matched bool, want Record) error {
	if want[a.Name] == nil {
		part, ok := parts[a.Name]
		switch {
		case !ok && matched:
			return fmt.Errorf("%s is missing: the title %q does not give it", subject, shorten(title))
		case !ok:
			return fmt.Errorf("%s is missing: the title %q matches none of the title patterns", subject, shorten(title))
		}
		v, err := a.typ.CleanText(subject, part)
		if err != nil {
			return err
		}
		want[a.Name] = v
	}
	if strings.Contains(text(want[a.Name]), nameSep) {
		return fmt.Errorf("%s holds a zero byte, which no name can", subject)
	}
	return nil
}

// parts returns the namevars that a title gives; false if there are patterns, and it
// matches none of them.
func (k *Kind) parts(title string) (map[string]string, bool) {
	if len(k.titles) == 0 && len(k.names) > 0 {
		return map[string]string{k.names[0].Name: title}, true
	}
	for _, p := range k.titles {
		if parts, ok := p.match(title); ok {
			return parts, true
		}
	}
	return nil, len(k.titles) == 0
}
