// Package nearest finds, for a misspelt name, the known name that was likely
// meant. Messages about unknown keys and parameters suggest this name.
package nearest

import (
	"fmt"
	"strings"
)

// Name returns the one of the candidates that the misspelt name was most likely
// meant to be, or "" if no candidate is similar to the name.
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

// distance returns the least number of letters to insert, remove or replace in
// order to turn text a into text b.
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

// Hint returns the end of an error message about an unknown name. It suggests
// the candidate that was likely meant, or lists all candidates.
func Hint(name string, candidates []string) string {
	if near := Name(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known here: " + strings.Join(candidates, ", ")
}
