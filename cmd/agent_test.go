package cmd

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAgentRefuses(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	mustDo(t, os.WriteFile(token, []byte("correct-horse-battery-staple"), 0o600))
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--bogus"}, exitUsage},
		{[]string{"extra"}, exitUsage},
		{[]string{"--set", "interval=soon"}, exitUsage},
		{[]string{"--token-file", token + ".none"}, exitUsage},
		{[]string{"--token-file", token, "--listen", "nowhere"}, exitUsage},
		{[]string{"--token-file", token, "--listen", ":99999"}, exitUsage},
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

// TestAgentAsService runs an agent as a service manager does: without a home or a
// state folder, told to read its files again, and told to stop.
func TestAgentAsService(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "agent.token")
	const oldToken, newToken = "correct-horse-battery-staple", "another-horse-battery-staple"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(token, []byte(oldToken), 0o400))
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	must(err)
	defer manager.Close()
	must(manager.SetReadDeadline(time.Now().Add(time.Minute)))
	told := func(want string) {
		t.Helper()
		text := make([]byte, 100)
		n, err := manager.Read(text)
		if err != nil || string(text[:n]) != want {
			t.Errorf("the service manager was told %q (%v), want %q", text[:n], err, want)
		}
	}
	c := program(t, "agent", "--listen", "127.0.0.1:0", "--node", "worker1", "--token-file", token)
	c.Dir, c.Env = "/", []string{asMain + "=1", "NOTIFY_SOCKET=" + filepath.Join(dir, "notify")}
	stderr, err := c.StderrPipe()
	must(err)
	must(c.Start())
	lines, said := bufio.NewScanner(stderr), []string{}
	until := func(text string) string {
		t.Helper()
		for lines.Scan() {
			said = append(said, lines.Text())
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("the agent ended and never said %q:\n%s", text, strings.Join(said, "\n"))
		return ""
	}
	_, url, _ := strings.Cut(until("agent ready"), "url=")
	url, _, _ = strings.Cut(url, " ")
	told("READY=1")
	status := func(token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/info", nil)
		must(err)
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		must(err)
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := [2]int{status(oldToken), status(newToken)}; got != [2]int{200, 401} {
		t.Errorf("at first the old and the new token give %v", got)
	}
	must(os.WriteFile(token+".new", []byte(newToken), 0o400))
	must(os.Rename(token+".new", token))
	must(c.Process.Signal(syscall.SIGHUP))
	until("changed token file in use")
	if got := [2]int{status(oldToken), status(newToken)}; got != [2]int{401, 200} {
		t.Errorf("after SIGHUP the old and the new token give %v", got)
	}
	must(c.Process.Signal(syscall.SIGTERM))
	told("STOPPING=1")
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	must(lines.Err())
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGTERM the agent ended with %v, want status 0", err)
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, oldToken) || strings.Contains(text, newToken) {
		t.Errorf("the log tells a token:\n%s", text)
	}
}
