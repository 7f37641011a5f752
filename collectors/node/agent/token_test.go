package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadToken(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"good", "  " + testToken + "\n", 0o600, ""},
		{"shared with a group", testToken, 0o640, ""},
		{"open to all", testToken, 0o644, "chmod 600"},
		{"empty", "", 0o600, "16 to 1024 characters"},
		{"short", "123456789012345", 0o600, "16 to 1024 characters"},
		{"long", strings.Repeat("x", 2000), 0o600, "16 to 1024 characters"},
		{"two lines", testToken + "\n" + testToken, 0o600, "printable"},
		{"binary", testToken + "\x00\xff", 0o600, "printable"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, c.text)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		token, err := ReadToken(path)
		switch {
		case c.want == "" && (err != nil || token != testToken):
			t.Errorf("%s: %q, %v", c.name, token, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		case err != nil && c.text != "" && strings.Contains(err.Error(), strings.TrimSpace(c.text)):
			t.Errorf("%s: the error tells the token: %v", c.name, err)
		}
	}
	if _, err := ReadToken(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
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
	first, err := ReadToken(path)
	if err != nil {
		t.Fatal(err)
	}
	created, err = CreateToken(path)
	if err != nil || created {
		t.Errorf("created again: %v, %v", created, err)
	}
	if again, err := ReadToken(path); again != first {
		t.Errorf("the token changed, %v", err)
	}
	if _, err := CreateToken("/proc/none/token"); err == nil || !strings.Contains(err.Error(), "create token") {
		t.Errorf("in /proc: %v", err)
	}
}
