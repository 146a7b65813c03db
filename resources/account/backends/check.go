package backends

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// nameRule is the rule of shadow-utils, and allows capital letters and dots besides.
// The dollar at the end is for machine accounts.
var nameRule = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$`)

// CheckName refuses any text but a name of a user or a group: a text that could be
// an option, a path or a number, or has characters that a database cannot hold. A
// name of digits is refused, since chown and others would take it for a number. At
// most 100 bytes of the text stand in the error.
func CheckName(name string) error {
	if !nameRule.MatchString(name) {
		return fmt.Errorf("%.100q is no name of a user or a group: it has to begin with a letter or _, and to go on with letters, digits, _, . and -, at most 32 in all", name)
	}
	return nil
}

// checkNames returns the error of the first name that CheckName refuses.
// It is called before any tool runs, since a name may be an option.
func checkNames(names ...string) error {
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckText refuses a text that a field of a database cannot hold. It does not show
// the text. It may be a secret, so the error says only which rule is broken. A
// newline would add a line, which could be another root.
func CheckText(text string) error {
	switch {
	case strings.Contains(text, ":"):
		return errors.New("it has a colon in it, which parts the fields of the database")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("it has a line end, or another character in it that cannot be printed")
	}
	return nil
}

// CheckPath refuses any text but an absolute path that a database can hold. Dots
// would let a tool leave the folder of an image. The path need not exist.
func CheckPath(p string) error {
	if !path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), "..") {
		return fmt.Errorf("%.100q is no absolute path", p)
	}
	return CheckText(p)
}

// hashRule takes the forms of crypt(5): a method between dollars, the extended DES
// form behind an underscore, and locked entries. The classic DES form of 13
// characters is not among them, for a password may look like that.
var hashRule = lazyregexp.New(`^([!*].*|\$[^$]+\$.+|_[./0-9A-Za-z]{19})$`)

// CheckHash refuses any text but the hash of a password, and above all a password.
// It does not show the text. So a person who writes the password itself learns of it
// before anything is stored.
func CheckHash(hash string) error {
	if !hashRule.MatchString(hash) || strings.Contains(hash, " ") {
		return errors.New("it is no hash of a password, such as `openssl passwd -6` or `mkpasswd` make; ! or * is for none that fits")
	}
	return CheckText(hash)
}

const (
	dayForm = time.DateOnly
	dayLong = 24 * time.Hour
)

// dayOf returns the number of a day, counted from 1970, as a database has it. A day
// has no zone: the databases count days of UTC.
func dayOf(day string) (int, error) {
	t, err := time.Parse(dayForm, day)
	if err != nil || t.Unix() < 0 {
		return 0, fmt.Errorf("%.100q is no day from 1970 on, such as 2030-12-31", day)
	}
	return int(t.Unix() / int64(dayLong/time.Second)), nil
}

// CheckDay refuses any text but a day, such as 2030-12-31.
// An empty text is an error; the callers pass it over.
func CheckDay(day string) error {
	_, err := dayOf(day)
	return err
}

// dayText is the day of a number.
// The zone is UTC.
func dayText(n int) string { return time.Unix(0, 0).UTC().AddDate(0, 0, n).Format(dayForm) }

// checkAttributes refuses values that no database can hold, before a tool sees them.
// It returns all faults, with the names of the attributes. Each backend calls it
// first, since the arguments may come from elsewhere than the kind.
func checkAttributes(name string, a Attributes) error {
	errs := []error{CheckName(name)}
	check := func(field string, p *string, rule func(string) error) {
		if p == nil {
			return
		}
		if err := rule(*p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	check("group", a.Group, CheckName)
	check("home", a.Home, CheckPath)
	check("comment", a.Comment, CheckText)
	if a.Shell != nil && *a.Shell != "" {
		check("shell", a.Shell, CheckPath)
	}
	if a.Expires != nil && *a.Expires != "" {
		check("expires", a.Expires, CheckDay)
	}
	if a.Password != nil {
		hash := a.Password.Reveal()
		check("password", &hash, CheckHash)
	}
	if a.Groups != nil {
		errs = append(errs, checkNames(*a.Groups...))
	}
	return errors.Join(errs...)
}
