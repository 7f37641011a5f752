package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestAgentRefuses(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("correct-horse-battery-staple"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--bogus"}, exitUsage},
		{[]string{"extra"}, exitUsage},
		{[]string{"--interval", "soon"}, exitUsage},
		{[]string{"--token-file", token + ".none"}, exitUsage},
		{[]string{"--token-file", token, "--listen", "nowhere"}, exitUsage},
		{[]string{"--token-file", token, "--cgroup", "../up"}, exitUsage},
		{[]string{"--token-file", token, "--tls-cert", token}, exitUsage},
		{[]string{"--token-file", token, "--listen", "192.0.2.1:0"}, exitFailed}, // no address of ours
	} {
		args := append([]string{"heddle", "agent"}, c.args...)
		if code := run(context.Background(), args); code != c.code {
			t.Errorf("%q: exit code %d, want %d", args, code, c.code)
		}
	}
}

// TestAgentMakesItsToken: without --token-file, and with nowhere to put one.
func TestAgentMakesItsToken(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	ended, end := context.WithCancel(t.Context())
	end()
	if code := run(ended, []string{"heddle", "agent", "--listen", "127.0.0.1:0"}); code != 0 {
		t.Errorf("told to stop at once: exit code %d", code)
	}
	st, err := os.Stat(filepath.Join(state, "heddle", "agent.token"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v; want mode 0600", st, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if code := run(ended, []string{"heddle", "agent"}); code != exitUsage {
		t.Errorf("without a home: exit code %d, want %d", code, exitUsage)
	}
}
