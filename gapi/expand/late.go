package expand

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// late is what formulas need when the graph has been loaded. The graphs of modules share that of their root.
type late struct {
	mu      sync.Mutex                   // held while a formula is computed
	values  map[string]any               // the sent values, by reference; nil outside of a formula
	secrets map[secretOf]string          // read by trials
	read    []string                     // digests of the files and secrets of the trial in hand
	trial   bool                         // a trial is under way
	over    bool                         // a formula is computed: nothing may be read any more
	sent    map[*schema.Node][]SentValue // the meaning of the keys of Expand
	some    bool                         // an expression calls sent
}

// secretOf names a secret of a graph: modules have secrets of their own.
type secretOf struct {
	g    *Graph
	name string
}

// noteRead notes a file or a secret that the trial of a formula has read. With another content, the formula is another one.
func (l *late) noteRead(what string, content []byte) {
	if l.trial {
		l.read = append(l.read, fmt.Sprintf("%s %x", what, sha256.Sum256(content)))
	}
}

// recalled returns a secret that a trial has read. A formula may read no other one.
func (l *late) recalled(of secretOf) (text string, ok bool, err error) {
	text, ok = l.secrets[of]
	if l.over && !ok {
		return "", false, errNotLoaded
	}
	return text, ok && l.over, nil
}

// noteSecret keeps a secret for the formula whose trial has read it.
func (l *late) noteSecret(of secretOf, text string) {
	if !l.trial {
		return
	}
	if l.secrets == nil {
		l.secrets = map[secretOf]string{}
	}
	l.secrets[of] = text
	l.noteRead("secret "+of.name, []byte(text))
}
