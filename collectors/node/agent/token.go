package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	minTokenBytes = 16
	maxTokenBytes = 1024
	// maxTokens is the number of tokens that are valid at the same time: while
	// tokens are changed, the old one and the new one.
	maxTokens = 2
)

// ReadTokens reads bearer tokens from a file of one or two lines. An agent
// accepts each of them. A client sends the first, and the other one if an agent
// refuses the first. ReadTokens fails if other users can read the file. No error
// text contains a part of a token.
func ReadTokens(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("no token file given")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, fmt.Errorf("token file %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokens*(maxTokenBytes+2)+1))
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	tokens := strings.Fields(string(data))
	if len(tokens) == 0 || len(tokens) > maxTokens || strings.Count(strings.TrimSpace(string(data)), "\n") != len(tokens)-1 {
		return nil, fmt.Errorf("token file %s: want one token a line, and one or two lines; `openssl rand -hex 32` writes a token", path)
	}
	for _, token := range tokens {
		if len(token) < minTokenBytes || len(token) > maxTokenBytes {
			return nil, fmt.Errorf("token file %s: want tokens of %d to %d characters, such as `openssl rand -hex 32` writes",
				path, minTokenBytes, maxTokenBytes)
		}
		for _, c := range []byte(token) {
			if c <= ' ' || c > '~' {
				return nil, fmt.Errorf("token file %s: want printable characters only", path)
			}
		}
	}
	return tokens, nil
}

// private returns an error if every user of this machine can read or write the
// file.
func private(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s: every user of this machine may read or write it; chmod 600 it", f.Name())
	}
	return nil
}

// CreateToken writes a new random bearer token to a file that only this user
// can read. If the file exists, CreateToken does not change it.
func CreateToken(path string) (created bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("create token: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create token: %w", err)
	}
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, fmt.Errorf("create token: %w", errors.Join(err, os.Remove(path)))
	}
	return true, nil
}
