package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/collectors/node/agent"
	"heddle/traces/errtest"
)

// TestDropCaches has agents that empty their node's page cache, some that fail,
// and some that do not allow it.
func TestDropCaches(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	mustDo(t, os.WriteFile(token, []byte("a-token-of-an-agent-for-tests-only"), 0o600))
	const ok, forbidden, broken, gone = 200, 403, 500, 0
	for _, x := range []struct {
		name     string
		agents   []int // status of each agent's answer
		warnings []string
		wantErr  string
	}{
		{"all", []int{ok, ok}, nil, ""},
		{"none is named", nil, nil, "the cluster file names no agent"},
		{"one is gone", []int{ok, gone, ok}, []string{"drop page cache of n1"}, ""},
		{"one is broken, one gone", []int{gone, ok, broken}, []string{"of n0", "of n2"}, ""},
		{"one may not", []int{ok, forbidden, gone}, nil, "drop page cache of n1"},
		{"all are gone", []int{gone, gone}, nil, "drop page cache of n1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &Clients{}
			for i, status := range x.agents {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					fmt.Fprint(w, map[bool]string{true: `{"scope":"host"}`, false: `{"error":"no"}`}[status == ok])
				}))
				defer s.Close()
				if status == gone {
					s.Close()
				}
				client := errtest.Must(agent.NewClient(agent.ClientOptions{URL: s.URL, TokenFile: token}))
				defer client.Close()
				c.Agents = append(c.Agents, Agent{Node: fmt.Sprintf("n%d", i), Client: client})
			}
			warnings, err := c.DropCaches(t.Context())
			if x.wantErr == "" && err != nil || x.wantErr != "" && (err == nil || !strings.Contains(err.Error(), x.wantErr)) {
				t.Errorf("error %v, want %q", err, x.wantErr)
			}
			if len(warnings) != len(x.warnings) {
				t.Fatalf("warnings %q, want %q", warnings, x.warnings)
			}
			for i, want := range x.warnings {
				if !strings.Contains(warnings[i], want) || !strings.Contains(warnings[i], "may come from memory") {
					t.Errorf("warning %q, want one of %q", warnings[i], want)
				}
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := c.DropCaches(ended); len(x.agents) > 0 && !errors.Is(err, context.Canceled) {
				t.Errorf("interrupted: %v", err)
			}
		})
	}
}
