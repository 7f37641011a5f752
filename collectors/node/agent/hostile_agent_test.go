package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
)

// A hostile agent is a function that gets a connection on which a request has
// come in, and its context, which ends when the client is done.
type hostileAgent func(ctx context.Context, c net.Conn)

// says sends a text and closes the connection.
func says(text string) hostileAgent {
	return func(_ context.Context, c net.Conn) { _, _ = io.WriteString(c, text) }
}

// answers sends a whole answer of JSON.
func answers(body string) hostileAgent { return answersAs("200 OK", "application/json", body) }

func answersAs(status, media, body string) hostileAgent {
	return says(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, media, len(body), body))
}

// forever sends a beginning, and then a text again and again, each a while after
// the one before.
func forever(begin, text string, pause time.Duration) hostileAgent {
	return func(ctx context.Context, c net.Conn) {
		_, err := io.WriteString(c, begin)
		for err == nil && ctx.Err() == nil {
			if pause > 0 {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
			_, err = io.WriteString(c, text)
		}
	}
}

const (
	jsonHeader = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	escapes    = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e"
)

var hostileAgents = []struct {
	name  string
	agent hostileAgent
	says  string // in the error
}{
	{"nothing", says(""), "start `heddle agent` there"},
	{"no answer ever", forever("", "", time.Second), "no whole answer within 10s"},
	{"another protocol", says("220 mail.example.org ESMTP\r\n"), "not reachable"},
	{"an unknown status", says("HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n"), "999"},
	{"switching protocols", says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), "status 101"},
	{"a header without end", forever("HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 1000)+"\r\n", 0), "not reachable"},
	{"a slow header", forever("HTTP/1.1 200 OK\r\nX: ", "x", time.Second), "no whole answer within 10s"},
	{"a length of 2^63", says(jsonHeader + "Content-Length: 9223372036854775807\r\n\r\n{}"), "read the answer"},
	{"a body without end", forever(jsonHeader+"\r\n", strings.Repeat(" ", 4096), 0), "longer than 1048576 bytes"},
	{
		"chunks without end", forever(jsonHeader+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 0),
		"longer than",
	},
	{"a slow body", forever(jsonHeader+"Content-Length: 1000\r\n\r\n", " ", time.Second), "no whole answer within 10s"},
	{"a body cut off", says(jsonHeader + "Content-Length: 1000\r\n\r\n{\"node\":"), "read the answer"},
	{"compressed", says(jsonHeader + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"), "not an agent's answer"},
	{"a web page", answersAs("200 OK", "text/html", "<html>"), "not an agent's"},
	{"escapes as content type", answersAs("200 OK", "text/"+escapes, "{}"), "not reachable"},
	{"a redirect", says("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"), "302 Found"},
	{"401 for ever", answersAs("401 Unauthorized", "application/json", `{"error":"no"}`), "token refused"},
	{"an error with escapes", answersAs("500 no", "application/json", `{"error":"`+strings.Repeat(`\u001b[2J`, 1000)+`"}`), "?[2J?[2J"},
	{"an error that is long", answersAs("500 no", "application/json", `{"error":"`+strings.Repeat("x", 1000_000)+`"}`), "xxx…"},
	{"429 with a long wait", says("HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}"), "x"},
	{"half of JSON", answers(`{"samples":[{"seq":1`), "unexpected end of JSON"},
	{"a list", answers(`[1]`), "cannot unmarshal array"},
	{"deep objects", answers(strings.Repeat(`{"a":`, 100_000)), "exceeded max depth"},
	{"two answers in one", answers(`{} {}`), "after top-level value"},
}

// TestHostileAgents asks agents that send what no agent sends. Each request
// ends within its time limit, costs little memory, and its error names the agent
// and has nothing in it that a terminal would obey. Time is that of a bubble.
func TestHostileAgents(t *testing.T) {
	for _, h := range hostileAgents {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := hostileClient(t, h.agent)
				start := time.Now()
				var err error
				bytes := allocated(func() { _, err = c.Info(t.Context()) })
				if took := time.Since(start); took > 11*time.Second {
					t.Errorf("took %v, want at most the time limit of 10 s", took)
				}
				wantError(t, err, h.says, "http://node:9177")
				checkText(t, err.Error())
				if bytes > 16<<20 {
					t.Errorf("%d MiB of memory allocated, want at most 16", bytes>>20)
				}
			})
		})
	}
}

// TestHungDrop: an agent that takes the request to drop caches and never answers
// costs the time limit, and so does one that is always busy.
func TestHungDrop(t *testing.T) {
	for name, agent := range map[string]hostileAgent{
		"no answer":   forever("", "", time.Second),
		"always busy": says("HTTP/1.1 429 x\r\nRetry-After: 0\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"error\":\"busy\"}"),
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := hostileClient(t, agent).DropCaches(t.Context())
			if took := time.Since(start); err == nil || took > dropTimeout+time.Minute+time.Second {
				t.Errorf("%s: %v after %v, want an error within %v", name, err, took, dropTimeout)
			}
		})
	}
}

// checkText fails for a text that a terminal would obey, or of great length.
func checkText(t *testing.T, text string) {
	t.Helper()
	if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 {
		t.Errorf("character %q at %d of %.300q", text[at], at, text)
	}
	if len(text) > 4000 {
		t.Errorf("text of %d bytes: %.300q", len(text), text)
	}
}

// allocated returns the memory that do allocates. It is more than do ever holds.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// hostileClient returns a client of an agent behind pipes, so that it works in a
// bubble, too.
func hostileClient(t *testing.T, serve hostileAgent) *Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				serve(ctx, theirs)
			}
		}()
		return ours, nil
	}})
	t.Cleanup(cancel)
	return c
}
