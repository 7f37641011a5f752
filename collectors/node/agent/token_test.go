package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadTokens(t *testing.T) {
	const second = "another-horse-battery-staple"
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		tokens     []string
		wantErr    string
	}{
		{"one", "  " + testToken + "\n", 0o600, []string{testToken}, ""},
		{"two", testToken + "\n" + second + "\n", 0o600, []string{testToken, second}, ""},
		{"two, of Windows", testToken + "\r\n" + second + "\r\n", 0o600, []string{testToken, second}, ""},
		{
			"two of the greatest length", strings.Repeat("x", 1024) + "\n" + strings.Repeat("y", 1024) + "\n", 0o600,
			[]string{strings.Repeat("x", 1024), strings.Repeat("y", 1024)},
			"",
		},
		{"shared with a group", testToken, 0o640, []string{testToken}, ""},
		{"open to all", testToken, 0o644, nil, "chmod 600"},
		{"empty", "", 0o600, nil, "one or two lines"},
		{"an empty line between", testToken + "\n\n" + second, 0o600, nil, "one or two lines"},
		{"three", testToken + "\n" + second + "\n" + testToken + "3", 0o600, nil, "one or two lines"},
		{"two on one line", testToken + " " + second, 0o600, nil, "one or two lines"},
		{"short", "123456789012345", 0o600, nil, "16 to 1024 characters"},
		{"second short", testToken + "\n123456789012345", 0o600, nil, "16 to 1024 characters"},
		{"long", strings.Repeat("x", 1025), 0o600, nil, "16 to 1024 characters"},
		{"endless", strings.Repeat("x", 1<<20), 0o600, nil, "16 to 1024 characters"},
		{"binary", testToken + "\x00\xff", 0o600, nil, "printable"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, c.text)
		mustDo(t, os.Chmod(path, c.mode))
		tokens, err := ReadTokens(path)
		switch {
		case c.wantErr == "" && (err != nil || !slices.Equal(tokens, c.tokens)):
			t.Errorf("%s: %q, %v", c.name, tokens, err)
		case c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)):
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.wantErr)
		case err != nil && c.text != "" && strings.Contains(err.Error(), strings.TrimSpace(c.text)):
			t.Errorf("%s: the error tells the token: %v", c.name, err)
		}
	}
	wantError(t, errOf(ReadTokens(filepath.Join(t.TempDir(), "none"))), "no such file")
}

func TestCreateToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a/b/token")
	created, err := CreateToken(path)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", st.Mode(), err)
	}
	first := must(ReadTokens(path))
	created, err = CreateToken(path)
	if err != nil || created {
		t.Errorf("created again: %v, %v", created, err)
	}
	if again, err := ReadTokens(path); !slices.Equal(again, first) {
		t.Errorf("the token changed, %v", err)
	}
	wantError(t, errOf(CreateToken("/proc/none/token")), "create token")
}
