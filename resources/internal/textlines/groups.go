package textlines

import (
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// reference is what stands in a line for a group of a match, or for a dollar.
var reference = lazyregexp.New(`\$(?:\$|[1-9][0-9]?|\{\w+\})`)

// piece is a text, and the group of a match behind it; 0 for none.
type piece struct {
	text  string
	group int
}

// Groups has the groups of Match put into the line that replaces a match: $1, ${1} and ${name} stand for them, and $$ for a dollar. It
// returns the numbers of groups that Match has not, as $2: they stay as they are, as does the name of none. Match and Lines, one line, are set
// before.
func (e *Edit) Groups() (lacking []string) {
	line, at := e.Lines[0], 0
	var pieces []piece
	var text strings.Builder
	for _, m := range reference.FindAllStringIndex(line, -1) {
		text.WriteString(line[at:m[0]])
		at = m[1]
		whole := line[m[0]:m[1]]
		name := strings.Trim(whole, "${}")
		group := e.Match.SubexpIndex(name)
		n, err := strconv.Atoi(name)
		switch {
		case err == nil && n > 0 && n <= e.Match.NumSubexp():
			group = n
		case err == nil:
			lacking = append(lacking, whole)
		}
		switch {
		case whole == "$$":
			text.WriteByte('$')
		case group < 1:
			text.WriteString(whole)
		default:
			pieces = append(pieces, piece{text.String(), group})
			text.Reset()
		}
	}
	text.WriteString(line[at:])
	if len(pieces) == 0 {
		e.Lines = []string{text.String()}
		return lacking
	}
	e.pieces = append(pieces, piece{text: text.String()})
	return lacking
}

// Fills reports whether Groups has found groups of Match.
func (e *Edit) Fills() bool { return e.pieces != nil }

// Filled returns the line that takes the place of one, which has to match where Fills.
func (e *Edit) Filled(body string) string {
	if !e.Fills() {
		return e.Lines[0]
	}
	at := e.Match.FindStringSubmatchIndex(body)
	var line strings.Builder
	for _, p := range e.pieces {
		line.WriteString(p.text)
		if i := 2 * p.group; i > 0 && at[i] >= 0 {
			line.WriteString(body[at[i]:at[i+1]])
		}
	}
	return line.String()
}
