package node

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestDropSocket: an agent that is not root asks a service, and believes it only
// when it says that it has done it.
func TestDropSocket(t *testing.T) {
	for _, c := range []struct{ name, answer, says string }{
		{"done", "dropped\n", ""},
		{"failed", "", `it answers ""`},
		{"another service", "SSH-2.0-OpenSSH_9.2p1\n", `it answers "SSH-2.0-`},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "drop.sock")
			listener := must(net.Listen("unix", socket))
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte(c.answer))
				conn.Close()
			}()
			s := must(NewSampler(Options{DropSocket: socket}))
			if err := s.CanDropCaches(); err != nil {
				t.Errorf("the socket can be opened: %v", err)
			}
			dropped, err := s.DropCaches()
			if c.says == "" && (err != nil || dropped.Scope != "host") {
				t.Errorf("dropped %+v, error %v", dropped, err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q in it", err, c.says)
			}
		})
	}
	s := must(NewSampler(Options{DropSocket: filepath.Join(t.TempDir(), "none")}))
	wantError(t, s.CanDropCaches(), "none")
	wantError(t, errOf(s.DropCaches()), "socket unit")
}
