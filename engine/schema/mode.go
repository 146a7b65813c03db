package schema

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Mode is permission bits as they are written. An octal mode ("0644", "644", "4755")
// sets all twelve bits. A symbolic one as chmod takes it ("u=rwX,go=rX", "g+w", "+t",
// "g=u") alters the present mode. Where a symbolic mode names no class it means all
// three; no umask is consulted. The empty Mode alters nothing. The symbolic notation is
// that of chmod in POSIX.
type Mode string

// The bits of a mode as the kernel has them; fs.FileMode keeps three of them elsewhere.
const (
	setuidBit = 0o4000
	setgidBit = 0o2000
	stickyBit = 0o1000
	modeBits  = 0o7777
	execBits  = 0o0111
)

// ParseMode checks s and returns it in canonical form: octal with four digits,
// symbolic as written.
func ParseMode(s string) (Mode, error) {
	if n, ok, err := octal(s); ok || err != nil {
		if err != nil {
			return "", err
		}
		// It is canonical already, and needs no new text.
		if len(s) == 4 && s[1] <= '7' {
			return Mode(s), nil
		}
		return Mode(fmt.Sprintf("%04o", n)), nil
	}
	_, err := actions(s)
	return Mode(s), err
}

// octal reads s if it begins with a digit; ok is false if it does not. A sign before
// the digits is an error. Two digits are refused, since 44 is more likely a slip than
// 0044.
func octal(s string) (bits uint32, ok bool, err error) {
	bare := strings.TrimLeft(s, "+-")
	if bare == "" || bare[0] < '0' || bare[0] > '9' {
		return 0, false, nil
	}
	digits := s
	if strings.HasPrefix(s, "0o") || strings.HasPrefix(s, "0O") {
		digits = s[2:]
	}
	n, err := strconv.ParseUint(digits, 8, 32)
	if err != nil || n > modeBits || len(digits) < 3 && n != 0 || len(digits) > 5 {
		return 0, false, fmt.Errorf("%q is not a mode: an octal mode has three or four digits from 0 to 7, such as \"0644\"%s", Shorten(s), decimalHint(s))
	}
	return uint32(n), true, nil
}

// decimalHint recognises a mode that was turned into a decimal number on its way. A
// reader of YAML 1.1 turns 0644 into 420, which looks like a mode.
func decimalHint(s string) string {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil && n <= uint64(fs.ModePerm) && sane(uint32(n)) {
		return fmt.Sprintf("; %s is %04o in decimal", s, n)
	}
	return ""
}

// sane reports whether a mode is of a usual shape. The owner may read, and each class
// may do no more than the one before it.
func sane(m uint32) bool {
	u, g, o := m>>6&7, m>>3&7, m&7
	return u&4 != 0 && g&^u == 0 && o&^g == 0
}

// Lint returns a warning about a mode that is valid as it was written but hardly
// meant, such as 420, which is 0644 in decimal; else "". A leading zero says that
// octal is meant.
func (m Mode) Lint() string {
	n, ok, _ := octal(string(m))
	if !ok || m[0] == '0' || sane(n) {
		return ""
	}
	if hint := decimalHint(string(m)); hint != "" {
		return fmt.Sprintf("the mode %s is read as octal, which is %s%s", m, fromBits(n), hint)
	}
	return ""
}

// Validate returns the fault of the notation, or nil.
func (m Mode) Validate() error {
	_, err := ParseMode(string(m))
	return err
}

// Octal returns the bits of an octal mode. ok is false for a symbolic, empty or wrong
// mode. The three bits above the permissions are those of fs.FileMode.
func (m Mode) Octal() (mode fs.FileMode, ok bool) {
	n, ok, _ := octal(string(m))
	return fromBits(n), ok
}

// same reports whether two modes say the same in canonical form.
func (m Mode) same(o Mode) bool {
	if m == o {
		return true
	}
	a, aok := m.Octal()
	b, bok := o.Octal()
	return aok && bok && a == b
}

// Apply returns the mode that a file gets that has the mode old. Its permission,
// setuid, setgid and sticky bits are changed, and every other bit of old is kept. isDir
// says whether X gives x, and that "=" keeps the setuid and setgid bits that it does
// not name, as chmod does for a directory. An octal mode sets these two bits on a
// directory as well.
func (m Mode) Apply(old fs.FileMode, isDir bool) (fs.FileMode, error) {
	const ours = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	n, ok, err := octal(string(m))
	if err != nil {
		return old, err
	}
	if !ok {
		acts, err := actions(string(m))
		if err != nil {
			return old, err
		}
		n = toBits(old)
		for _, a := range acts {
			n = a.apply(n, isDir)
		}
	}
	return old&^ours | fromBits(n), nil
}

// toBits returns the twelve bits of the kernel.
func toBits(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		n |= setuidBit
	}
	if m&fs.ModeSetgid != 0 {
		n |= setgidBit
	}
	if m&fs.ModeSticky != 0 {
		n |= stickyBit
	}
	return n
}

// fromBits is the inverse of toBits.
func fromBits(n uint32) fs.FileMode {
	m := fs.FileMode(n) & fs.ModePerm
	if n&setuidBit != 0 {
		m |= fs.ModeSetuid
	}
	if n&setgidBit != 0 {
		m |= fs.ModeSetgid
	}
	if n&stickyBit != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// action is one operator of a symbolic mode with its two sides.
type action struct {
	who  uint32 // the bits that the classes on the left own
	op   byte   // + - =
	bits uint32 // the wish of the letters on the right, in every class
	x    bool   // X is among them
	copy byte   // u, g or o: take the bits of that class
}

// classes are the bits that each letter before the operator owns. The setuid bit
// belongs to u, setgid to g and the sticky bit to o.
var classes = map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': modeBits}

// permissions are the bits of each letter behind the operator, in all classes. X
// depends on the present mode, so it has none.
var permissions = map[byte]uint32{'r': 0o444, 'w': 0o222, 'x': execBits, 'X': 0, 's': setuidBit | setgidBit, 't': stickyBit}

// classShift is how far the three bits of a class are from the right.
var classShift = map[byte]uint{'u': 6, 'g': 3, 'o': 0}

// actions parses a symbolic mode.
func actions(s string) ([]action, error) {
	var acts []action
	if s == "" {
		return nil, nil
	}
	for clause := range strings.SplitSeq(s, ",") {
		var err error
		if acts, err = parseClause(acts, clause); err != nil {
			return nil, fmt.Errorf("%q is not a mode: %w", Shorten(s), err)
		}
	}
	return acts, nil
}

// parseClause reads classes, and then one or more operators with their letters: u=rw+X
// is valid.
func parseClause(acts []action, clause string) ([]action, error) {
	i, who := 0, uint32(0)
	for ; i < len(clause) && classes[clause[i]] != 0; i++ {
		who |= classes[clause[i]]
	}
	if i == 0 {
		who = modeBits
	}
	if i == len(clause) || !strings.ContainsRune("+-=", rune(clause[i])) {
		return nil, fmt.Errorf("write it as \"0644\", u=rwX,go=rX or g+w")
	}
	for i < len(clause) {
		a := action{who: who, op: clause[i]}
		end := i + 1
		for end < len(clause) && !strings.ContainsRune("+-=", rune(clause[end])) {
			end++
		}
		if err := a.operand(clause[i+1 : end]); err != nil {
			return nil, err
		}
		acts, i = append(acts, a), end
	}
	return acts, nil
}

// operand reads the letters right of the operator. A class must stand alone, as in g=u:
// the letter would be a permission otherwise.
func (a *action) operand(s string) error {
	if len(s) == 1 {
		if _, ok := classShift[s[0]]; ok {
			a.copy = s[0]
			return nil
		}
	}
	for _, c := range s {
		bits, ok := uint32(0), false
		if c < 0x80 {
			bits, ok = permissions[byte(c)]
		}
		if !ok {
			return fmt.Errorf("%q is not one of r w x X s t", c)
		}
		a.bits |= bits
		a.x = a.x || c == 'X'
	}
	return nil
}

// apply does one action. The actions of a mode are done from left to right, each on the
// result of the one before.
func (a action) apply(mode uint32, isDir bool) uint32 {
	value := a.bits
	if a.x && (isDir || mode&execBits != 0) {
		value |= execBits
	}
	if a.copy != 0 {
		value = mode >> classShift[a.copy] & 7 * execBits
	}
	value &= a.who
	switch a.op {
	case '+':
		return mode | value
	case '-':
		return mode &^ value
	}
	cleared := a.who
	if isDir {
		cleared &^= setuidBit | setgidBit
	}
	return mode&^cleared | value
}
