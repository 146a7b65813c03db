package provenance

import "strings"

// Origin says where a graph comes from, and who has asked for it. Its fields are empty where that is not known.
type Origin struct {
	By     string // who has asked for it: a caller of the daemon, or who has made the deploy; empty where a file was altered, say
	Path   string // of the file or folder; "deploy 3 to all" for a deploy
	Digest string // of its text: that of sha256sum for a single file, else of the digests of all of its files
	Signer string // the id of the key that has signed a deploy
}

// And returns the origin of a graph that is made of two. Who has made one of them has not asked for both.
func (o Origin) And(p Origin) Origin {
	switch {
	case o == Origin{}:
		return p
	case p == Origin{}:
		return o
	}
	both := func(a, b string) string { return strings.Trim(a+", "+b, ", ") }
	return Origin{Path: both(o.Path, p.Path), Digest: both(o.Digest, p.Digest), Signer: both(o.Signer, p.Signer)}
}

// String returns it in words, each with a space before it; empty where nothing is known.
func (o Origin) String() string {
	var b strings.Builder
	for _, part := range [][2]string{{"from", o.Path}, {"digest", shortDigest(o.Digest)}, {"signed by", o.Signer}, {"by", o.By}} {
		if part[1] != "" {
			b.WriteString(" " + part[0] + " " + part[1])
		}
	}
	return b.String()
}

// shortDigest returns enough of a digest for people.
func shortDigest(digest string) string {
	if before, hex, ok := strings.Cut(digest, ":"); ok && len(hex) > 12 && !strings.Contains(hex, ",") {
		return before + ":" + hex[:12]
	}
	return digest
}
