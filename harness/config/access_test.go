package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDialContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := Cluster{Hosts: map[string]string{"r1n1": "127.0.0.1"}}
	conn, err := c.DialContext()(t.Context(), "tcp", net.JoinHostPort("r1n1", port))
	if err != nil {
		t.Fatalf("dial by a name of hosts: %v", err)
	}
	conn.Close()
}

func TestToken(t *testing.T) {
	const secret = "c2VjcmV0"
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		token         string
		warning, err  string
	}{
		{"private", secret + "\n", 0o600, secret, "", ""},
		{"open", secret, 0o644, secret, "chmod 600", ""},
		{"empty", "\n", 0o600, "", "", "does not hold one line"},
		{"two lines", secret + "\n" + secret, 0o600, "", "", "does not hold one line"},
		{"not a token", strings.Repeat(secret, 600), 0o600, "", "", "too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
			token, warning, err := Agent{Node: "n1", TokenFile: file}.Token()
			if token != c.token {
				t.Errorf("token %q, want %q", token, c.token)
			}
			if c.warning == "" && warning != "" || !strings.Contains(warning, c.warning) {
				t.Errorf("warning %q, want %q", warning, c.warning)
			}
			switch {
			case c.err == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one with %q", err, c.err)
			case err != nil && (strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "n1")):
				t.Errorf("error %v: want the node in it and not the token", err)
			}
		})
	}
}
