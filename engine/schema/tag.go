package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// roles are the words of a tag; state has none, since it is the default.
var roles = map[string]Role{
	"identity":  RoleIdentity,
	"param":     RoleParam,
	"init":      RoleInit,
	"readonly":  RoleReadOnly,
	"writeonly": RoleWriteOnly,
}

// readTag reads the tag mgmt:"..." into f and its type. enum and unit speak about
// the elements where the field is a list or a map; min and max about its length.
func (f *Field) readTag(tag string) error {
	if tag == "" {
		return nil
	}
	var errs []error
	head, pattern, matched := cutPattern(tag)
	// A pattern may hold commas, so it is cut off before the items are separated.
	items := strings.FieldsFunc(head, func(r rune) bool { return r == ',' })
	if !matched {
		items = strings.Split(tag, ",")
	}
	// The unit comes first, wherever it stands: bounds are read in it. The other items keep their order, and so do
	// the findings about them.
	for _, first := range []bool{true, false} {
		for _, item := range items {
			if item = strings.TrimSpace(item); strings.HasPrefix(item, "unit=") != first {
				continue
			}
			if err := f.tagItem(item); err != nil {
				errs = append(errs, fmt.Errorf("tag mgmt:%q: %w", tag, err))
			}
		}
	}
	if matched {
		if err := f.leaf().setPattern(pattern); err != nil {
			errs = append(errs, fmt.Errorf("tag mgmt:%q: %w", tag, err))
		}
	}
	if err := f.Type.crossed(); err != nil {
		errs = append(errs, fmt.Errorf("tag mgmt:%q: %w", tag, err))
	}
	return errors.Join(errs...)
}

// cutPattern parts a tag before the item pattern=, which takes all that follows.
func cutPattern(tag string) (head, pattern string, found bool) {
	const key = "pattern="
	if strings.HasPrefix(tag, key) {
		return "", tag[len(key):], true
	}
	return strings.Cut(tag, ","+key)
}

// leaf is the type of the field's values, below lists and maps. So a list of lists of
// words has its enum at the words.
func (f *Field) leaf() *Type {
	leaf := f.Type
	for leaf.Elem != nil {
		leaf = leaf.Elem
	}
	return leaf
}

// crossed returns an error if no value can be within the bounds of t.
func (t *Type) crossed() error {
	if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
		return errors.New("min is above max")
	}
	if t.FloatMin != nil && t.FloatMax != nil && *t.FloatMin > *t.FloatMax {
		return errors.New("min is above max")
	}
	return nil
}

// tagItem reads one item. An unknown word is an error, since a misspelt role would be a
// state.
func (f *Field) tagItem(item string) error {
	word, arg, _ := strings.Cut(item, "=")
	leaf := f.leaf()
	switch word {
	case "required":
		f.Required = true
	case "nowatch":
		f.NoWatch = true
	case "nosecret":
		f.NoSecret = true
		if arg != "" {
			f.Instead = strings.Split(arg, "|")
		}
	case "enum":
		return leaf.setEnum(arg)
	case "unit":
		return leaf.setUnit(arg)
	case "format":
		leaf.Format = arg
		return leaf.checkText()
	case "target":
		leaf.Target = arg
		return leaf.checkTarget()
	case "replaces":
		f.Replaces = true
	case "absent":
		// The word need not be in an enum: the other values of the field may be versions.
		// It is not checked here. A kind refuses a wrong word as any other value.
		f.Absent = arg
	case "lend":
		return f.setLend(arg)
	case "min":
		return f.Type.setBound(arg, &f.Type.Min, &f.Type.FloatMin)
	case "max":
		return f.Type.setBound(arg, &f.Type.Max, &f.Type.FloatMax)
	default:
		return f.setRole(word)
	}
	return nil
}

// setLend sets what is lent of the field: lend for any value, lend=name for texts that fit the pattern of the identity.
func (f *Field) setLend(arg string) error {
	switch arg {
	case "":
		f.Lend = LendValue
	case "name":
		f.Lend = LendName
	default:
		return fmt.Errorf("lend takes name or nothing, not %q", arg)
	}
	return nil
}

// setRole sets the role, which a field has one of.
func (f *Field) setRole(word string) error {
	role, ok := roles[word]
	switch {
	case !ok:
		return fmt.Errorf("%q is not known", word)
	case f.Role != RoleState:
		return fmt.Errorf("%q is a second role", word)
	}
	f.Role = role
	return nil
}

// setEnum sets the words in the order in which pages show them.
func (t *Type) setEnum(arg string) error {
	t.Enum = strings.Split(arg, "|")
	return t.checkEnum()
}

// checkEnum refuses words of another kind, of a secret, and words that repeat. Those of
// a secret would stand in each message.
func (t *Type) checkEnum() error {
	if len(t.Enum) > 0 && t.Kind != KindMap && (t.Kind != KindString || t.Secret) {
		bare := *t
		bare.Enum = nil
		return fmt.Errorf("enum is for text, not for %s", &bare)
	}
	for i, word := range t.Enum {
		if slices.Contains(t.Enum[:i], word) {
			return fmt.Errorf("enum has %q twice", word)
		}
	}
	return nil
}

// setUnit sets the unit of a bare integer.
func (t *Type) setUnit(arg string) error {
	if t.Kind != KindDuration {
		return fmt.Errorf("unit is for a duration, not for %s", t)
	}
	if _, ok := units[arg]; !ok {
		return fmt.Errorf("unit %q is not one of ns, us, ms, s, m, h", arg)
	}
	t.Unit = arg
	return nil
}

// setBound reads one end of a range into the bound of a float, or of what else it is.
func (t *Type) setBound(arg string, whole **int64, float **float64) (err error) {
	if t.Kind != KindFloat {
		*whole, err = t.bound(arg)
		return err
	}
	n, err := parseFloat(arg)
	if err != nil {
		return fmt.Errorf("bound %q: %w", arg, err)
	}
	*float = &n
	return nil
}

// bound reads one end of a range in the notation of the type. A length has at most 31
// bits.
func (t *Type) bound(arg string) (*int64, error) {
	var n int64
	var err error
	switch t.Kind {
	case KindInt:
		n, err = strconv.ParseInt(arg, 10, 64)
	case KindDuration:
		d, e := ParseDuration(arg, t.Unit)
		n, err = int64(d), e
	case KindSize:
		s, e := ParseSize(arg)
		n, err = int64(s), e
	case KindString, KindList, KindMap:
		u, e := strconv.ParseUint(arg, 10, 31)
		n, err = int64(u), e
	default:
		err = fmt.Errorf("bounds are not for %s", t)
	}
	if err != nil {
		return nil, fmt.Errorf("bound %q: %w", arg, err)
	}
	return &n, nil
}
