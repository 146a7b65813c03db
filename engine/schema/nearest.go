package schema

import "strings"

// maxWord is the longest word that Nearest looks at.
const maxWord = 64

// Nearest returns the word of among that was probably meant by word, or "" when none is
// near. A word is near when it is reached by changing, adding, dropping or swapping
// about a third of the letters; case counts nothing. Of equals the first in the
// alphabet wins, so the order of among does not matter. The cost is that of a table of
// both lengths for each candidate. It is paid for an error only.
func Nearest(word string, candidates []string) string {
	best, bestDist := "", maxWord
	a := []rune(strings.ToLower(word))
	if len(a) == 0 || len(a) > maxWord {
		return ""
	}
	for _, w := range candidates {
		b := []rune(strings.ToLower(w))
		longest := max(len(a), len(b))
		if len(b) == 0 || len(b) > maxWord {
			continue
		}
		d := distance(a, b)
		if d > max(1, longest/3) || d >= longest {
			continue
		}
		if d < bestDist || d == bestDist && w < best {
			best, bestDist = w, d
		}
	}
	return best
}

// distance counts the letters to change, add, drop or swap with their neighbour to get
// from a to b. It is the distance of optimal string alignment. Three rows are enough,
// so nothing is allocated.
func distance(a, b []rune) int {
	var rows [3][maxWord + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, up, upup := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(up[j]+1, cur[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], upup[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
