// Package nearest finds, for a misspelt name, the known name that was likely
// meant. Messages about unknown keys and parameters suggest this name.
package nearest

import (
	"cmp"
	"fmt"
	"strings"
)

// Name returns the one of the candidates that the misspelt name was most likely
// meant to be, or "" if no candidate is similar to the name. It is the shortest
// candidate that begins with the name. If there is none, it is the one that
// differs in the fewest letters, if they are few.
func Name(name string, candidates []string) string {
	most := min(max(1, len(name)/3), len(name)-1) // a name of three letters that differs in two is another word, as is any other single letter
	if len(name) > 3 {
		most = max(2, most)
	}
	best, bestDistance := "", most+1
	longer := ""
	for _, c := range candidates {
		if len(name) > 2 && strings.HasPrefix(c, name) && (longer == "" || len(c) < len(longer)) {
			longer = c
		}
		if len(c)-len(name) >= bestDistance || len(name)-len(c) >= bestDistance {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return cmp.Or(longer, best)
}

// distance returns the least number of letters to insert, remove, replace or
// exchange with the next one in order to turn text a into text b.
func distance(a, b string) int {
	// row[j] is the distance of the first i letters of a from the first j of b,
	// last[j] that of the first i-1 letters, before[j] that of the first i-2.
	n := len(b) + 1
	rows := make([]int, 3*n)
	before, last, row := rows[:n], rows[n:2*n], rows[2*n:]
	for i := range len(a) + 1 {
		before, last, row = last, row, before
		for j := range row {
			if i == 0 || j == 0 {
				row[j] = i + j
				continue
			}
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, row[j-1]+1, last[j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// Hint returns the end of an error message about an unknown name. It suggests
// the candidate that was likely meant, or lists all candidates.
func Hint(name string, candidates []string) string {
	if near := Name(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known here: " + strings.Join(candidates, ", ")
}
