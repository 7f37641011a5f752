package agent

import (
	"slices"
	"sync"
)

// clientTokens are the tokens of a Client. Many goroutines may use them at the
// same time.
type clientTokens struct {
	file string

	mu    sync.Mutex
	now   string   // the token that was sent last
	known []string // the tokens of the file when it was last read
}

func (t *clientTokens) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// other reads the file again and returns the first of its tokens that was not
// tried. It returns "" if there is none. If the file cannot be read now, the
// tokens that were in it before are used.
func (t *clientTokens) other(tried []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(tried) > 2*maxTokens { // the file changes all the time
		return ""
	}
	if tokens, err := ReadTokens(t.file); err == nil {
		t.known = tokens
	}
	for _, token := range t.known {
		if !slices.Contains(tried, token) {
			t.now = token
			return token
		}
	}
	t.now = t.known[0]
	return ""
}
