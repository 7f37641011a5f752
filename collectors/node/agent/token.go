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
)

// ReadToken reads an agent's bearer token from the first line of a file. It
// fails if other users can read the file. No error text contains a part of the
// token.
func ReadToken(path string) (string, error) {
	if path == "" {
		return "", errors.New("no token file given")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if st.Mode().Perm()&0o007 != 0 {
		return "", fmt.Errorf("token file %s: every user of this machine may read or write it; chmod 600 it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenBytes || len(data) > maxTokenBytes {
		return "", fmt.Errorf("token file %s: want one line of %d to %d characters, such as `openssl rand -hex 32` writes",
			path, minTokenBytes, maxTokenBytes)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("token file %s: want one line of printable characters without spaces", path)
		}
	}
	return token, nil
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
