package secrets

import "slices"

// tree holds texts by their beginnings. The zero value holds none.
type tree struct {
	root  branch    // without a label
	begun [4]uint64 // bytes with which a text begins
}

func (t *tree) empty() bool { return len(t.root.kids) == 0 }

// begins reports whether any text begins with c.
func (t *tree) begins(c byte) bool { return t.begun[c/64]&(1<<(c%64)) != 0 }

// branch is where all texts go on that begin alike.
type branch struct {
	label string    // at least one byte
	end   bool      // a text ends behind the label
	kids  []*branch // by the first byte of their labels
}

// add puts one text in; the empty one is none.
func (t *tree) add(s string) {
	if s == "" {
		return
	}
	t.begun[s[0]/64] |= 1 << (s[0] % 64)
	for b := &t.root; ; {
		i, found := b.kid(s[0])
		if !found {
			b.kids = slices.Insert(b.kids, i, &branch{label: s, end: true})
			return
		}
		b = b.kids[i]
		n := common(b.label, s)
		if n < len(b.label) { // it parts here
			*b = branch{label: b.label[:n], kids: []*branch{{label: b.label[n:], end: b.end, kids: b.kids}}}
		}
		if s = s[n:]; s == "" {
			b.end = true
			return
		}
	}
}

// kid returns where the branch that begins with c is, or belongs.
func (b *branch) kid(c byte) (int, bool) {
	return slices.BinarySearchFunc(b.kids, c, func(k *branch, c byte) int { return int(k.label[0]) - int(c) })
}

// common returns for how many bytes two texts are the same.
func common(a, b string) int {
	const chunk = 32 // a comparison of so many bytes costs as one of a few
	most, n := min(len(a), len(b)), 0
	for n+chunk <= most && a[n:n+chunk] == b[n:n+chunk] {
		n += chunk
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// longest returns the length of the longest text with which s begins, and for how many
// bytes s goes on like any text.
func (t *tree) longest(s string) (whole, part int) {
	if s == "" || !t.begins(s[0]) {
		return 0, 0
	}
	for b := &t.root; part < len(s); {
		i, found := b.kid(s[part])
		if !found {
			break
		}
		b = b.kids[i]
		n := common(b.label, s[part:])
		part += n
		if n < len(b.label) {
			break
		}
		if b.end {
			whole = part
		}
	}
	return whole, part
}

// goesBack reports whether the whole of s, read from its end, is how a text begins.
func (t *tree) goesBack(s string) bool {
	if s == "" || !t.begins(s[len(s)-1]) {
		return false
	}
	for b := &t.root; ; {
		i, found := b.kid(s[len(s)-1])
		if !found {
			return false
		}
		b = b.kids[i]
		for j := range len(b.label) {
			if b.label[j] != s[len(s)-1] {
				return false
			}
			if s = s[:len(s)-1]; s == "" {
				return true
			}
		}
	}
}
