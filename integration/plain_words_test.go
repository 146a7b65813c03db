package integration_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longSentence is the number of words above which a sentence is long.
const longSentence = 25

// finding is a place in a text.
type finding struct {
	name     string
	from, to int
}

// reading is what read finds in a text.
type reading struct {
	words               int
	headless, long, own []finding
}

var (
	lexeme  = regexp.MustCompile(`\n[ \t]*\n|\n[ \t]*[-*] |[A-Za-z0-9_](?:[A-Za-z0-9_'’/.\-]*[A-Za-z0-9_])?|[.!?;:(),|]`)
	lettery = regexp.MustCompile(`[A-Za-z]`)
)

// lexemes are the words and marks of a text. The end of a paragraph and the begin of
// an item of a list read as a full stop.
type lexemes struct {
	words []string
	at    [][]int
}

func lex(text string) lexemes {
	l := lexemes{at: lexeme.FindAllStringIndex(text, -1)}
	for _, at := range l.at {
		w := strings.ToLower(text[at[0]:at[1]])
		if strings.HasPrefix(w, "\n") {
			w = "."
		}
		l.words = append(l.words, w)
	}
	return l
}

// word returns the word at i, a full stop outside of the text.
func (l lexemes) word(i int) string {
	if i < 0 || i >= len(l.words) {
		return "."
	}
	return l.words[i]
}

// asks reports whether the clause of word i ends with a question mark.
func (l lexemes) asks(i int) bool {
	for _, w := range l.words[i:] {
		switch w {
		case "?":
			return true
		case ".", "!", ";":
			return false
		}
	}
	return false
}

// sentence returns the numbers of the first lexeme of the sentence around i and of
// the lexeme after it.
func (l lexemes) sentence(i int) (from, to int) {
	for from = i; from > 0 && !endsSentence(l.words[from-1]); from-- {
	}
	for to = i; to < len(l.words) && !endsSentence(l.words[to]); to++ {
	}
	return from, to
}

func endsSentence(w string) bool { return w == "." || w == "!" || w == "?" || w == "|" }

// read finds the patterns of unplain language in a text: headless clauses, long
// sentences and words that only this project uses.
func read(text string) reading {
	var r reading
	l := lex(text)
	inSentence := 0
	for i, w := range l.words {
		if lettery.MatchString(w) {
			r.words++
			inSentence++
		}
		place := func(name string) finding {
			from, to := l.sentence(i)
			return finding{name, l.at[from][0], l.at[max(from, to-1)][1]}
		}
		if name := l.headless(i); name != "" {
			r.headless = append(r.headless, place(name))
		}
		if ownWords[w] {
			r.own = append(r.own, place("private word "+w))
		}
		if endsSentence(w) {
			inSentence = 0
		}
		if inSentence == longSentence+1 && lettery.MatchString(w) {
			r.long = append(r.long, place("long sentence"))
		}
	}
	return r
}

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	// ownWords are those that a stranger has to learn before the sentence makes sense.
	ownWords = wordSet(`scribe scribes purse purses fight fights guise guises shelf shelves sight sights beats beside whoever mend mends mended`)
	// asking are words after which "what" begins an indirect question.
	asking = wordSet(`know knows known knew knowing understand understands understood tell tells told telling say says said
		saying ask asks asked asking see sees seen show shows shown showing decide decides decided determine determines
		determined describe describes described describing explain explains explained about on choose chooses matter exactly
		just wonder learn learns learned out is are was be like define defines specify specifies control controls guess note
		consider find finds found check checks verify remember that's`)
	// subjects are words that begin a clause after "what".
	subjects = wordSet(`a an the it they this that these those we you he she i one its their his our my your all each every
		both other others there no nothing only is are was were be has have had does do did can could may might must will
		would should shall cannot can't isn't doesn't to not ever`)
	// pluralNouns end like a verb, and are none.
	pluralNouns = wordSet(`class process bus alias status address ways things kinds types types' values names`)
	// unowned are words after which "who" belongs to no person.
	unowned    = wordSet(`. ; : ( of for by to with from that since if when so because than as what but or where unless while then whether until`)
	portions   = wordSet(`both all each some many most none one two three several either neither any half few top part`)
	ofThose    = wordSet(`what those these two all both each who`)
	comparison = wordSet(`longer more less fewer different better worse further greater larger smaller later earlier sooner shorter slower faster op ops`)
	pauses     = wordSet(`. , ; : ) for and but`)
	beings     = wordSet(`is are was were be`)
	pointers   = wordSet(`it this that which`)
)

// headless names the headless form that begins with word i, "" for none: a clause
// that stands for a thing which it does not name.
func (l lexemes) headless(i int) string {
	before, w, next, third := l.word(i-1), l.word(i), l.word(i+1), l.word(i+2)
	switch w {
	case "what":
		if standsForThing(next) && !asking[before] && !l.asks(i) {
			return "what is"
		}
	case "who":
		if unowned[before] && !pauses[next] && !l.asks(i) {
			return "who has"
		}
	case "nobody", "somebody", "nobody's", "somebody's":
		return "nobody"
	case "one", "those":
		if next == "that" {
			return "one that"
		}
	case "of":
		if next == "which" && !portions[before] || before == "." && ofThose[next] {
			return "of which"
		}
	}
	if beings[w] && next == "no" && before != "there" && lettery.MatchString(third) && !comparison[third] {
		return "is no X"
	}
	// The first word before "is so" is the pronoun, as in "it is so".
	if beings[w] && next == "so" && pauses[third] && pointers[before] {
		return "it is so"
	}
	return ""
}

// standsForThing reports whether "what" before this word begins a clause, and does
// not belong to a noun as in "what type it has".
func standsForThing(next string) bool {
	verb := len(next) > 3 && (strings.HasSuffix(next, "s") || strings.HasSuffix(next, "ed"))
	return subjects[next] || verb && !pluralNouns[next]
}

// TestPlainPatterns: the measure finds the forms that it is for, and good English not.
func TestPlainPatterns(t *testing.T) {
	long := strings.Repeat("word ", longSentence)
	for _, tc := range []struct {
		text                string
		headless, long, own int
	}{
		{"It removes what the user wrote.", 1, 0, 0},
		{"It removes the user's text.", 0, 0, 0},
		{"The error says what the user wrote.", 0, 0, 0},
		{"What is removed?", 0, 0, 0},
		{"The page tells what type it has, and needs what kinds it has.", 0, 0, 0},
		{"A secret for who has root. A user who has root.", 1, 0, 0},
		{"Nobody reads it; take one that is open or those that are not.", 3, 0, 0},
		{"The file of which it is a copy, one of which is left.", 1, 0, 0},
		{"That is no error. There is no error. It is no longer there.", 1, 0, 0},
		{"Where this is so, it waits.", 1, 0, 0},
		{"The scribe stands beside it, as in `beside`.", 0, 0, 2},
		{long + ".", 0, 0, 0},
		{long + "more.", 0, 1, 0},
		{long + "\n\n- " + long, 0, 0, 0},
	} {
		r := read(markdownProse(tc.text))
		got := []int{len(r.headless), len(r.long), len(r.own)}
		if !slices.Equal(got, []int{tc.headless, tc.long, tc.own}) {
			t.Errorf("%q has %v (headless, long, own), want %v", tc.text, got, []int{tc.headless, tc.long, tc.own})
		}
	}
}

// TestProseOfAPage: code, headings and targets of links are not read.
func TestProseOfAPage(t *testing.T) {
	page := "# what is\n\n```\nwhat is\n```\n\n    what is\n\n<!-- what is -->\nA `what is` [link](what is).\n\n- item\n    what is\n"
	if r := read(markdownProse(page)); len(r.headless) != 1 || r.words != 6 {
		t.Errorf("%d patterns in %d words", len(r.headless), r.words)
	}
}
