// Package nearest finds, for a name that nothing has, the name that was likely
// meant: what messages about misspelt keys and parameters suggest.
package nearest

import (
	"fmt"
	"strings"
)

// Name returns the candidate that name was most likely meant to be, or "" where
// none is like it.
func Name(name string, candidates []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if len(name) > 2 && strings.HasPrefix(c, name) {
			return c
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Hint is the end of a message that refuses name: which candidate was likely
// meant, or else all that there are.
func Hint(name string, candidates []string) string {
	if near := Name(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known here: " + strings.Join(candidates, ", ")
}
