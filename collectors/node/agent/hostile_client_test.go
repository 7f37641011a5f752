package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/node"
)

const bearer = "Authorization: Bearer " + testToken + "\r\n"

// hostileRequests are what no client of ours sends. The answer's status is 0
// where the agent closes the connection without an answer.
var hostileRequests = []struct {
	name, request string
	status        int
}{
	{"nothing", "", 0},
	{"another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
	{"a header of 64 KiB", "GET /info HTTP/1.1\r\nHost: n\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n" + bearer + "\r\n", 431},
	{"ten thousand headers", "GET /info HTTP/1.1\r\nHost: n\r\n" + strings.Repeat("X: y\r\n", 10_000) + bearer + "\r\n", 431},
	{"a query of 10 KiB", "GET /samples?since=" + strings.Repeat("x", 10<<10) + " HTTP/1.1\r\nHost: n\r\n" + bearer + "\r\n", 400},
	{"a cursor with an escape", "GET /samples?since=%1b%5b2J HTTP/1.1\r\nHost: n\r\n" + bearer + "\r\n", 400},
	{"a path upwards", "GET /../../etc/passwd HTTP/1.1\r\nHost: n\r\n" + bearer + "\r\n", 307},
	{"the token of another scheme", "GET /info HTTP/1.1\r\nHost: n\r\nAuthorization: Basic " + testToken + "\r\n\r\n", 401},
	{"the token twice", "GET /info HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer x\r\n" + bearer + "\r\n", 401},
	{"a length and chunks", "POST /drop-caches HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" + bearer +
		"\r\n0\r\n\r\n", 403},
	{"a body of 2^62 bytes", "POST /drop-caches HTTP/1.1\r\nHost: n\r\nContent-Length: 4611686018427387904\r\n" + bearer + "\r\n", 403},
	{"a body that never comes", "GET /info HTTP/1.1\r\nHost: n\r\nContent-Length: 1000\r\n" + bearer + "\r\n", 200},
	{"half of a request", "GET /info HTT", 400},
}

// TestHostileRequests sends an agent what no client sends, each on a connection
// of its own, while it samples. It answers or closes, within a time limit, and
// sampling goes on.
func TestHostileRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a, l := samplingAgent(t, tokenFile(t))
		a.refusals.log, a.failures.log = slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewTextHandler(&log, nil))
		started, tried := time.Now(), 0
		for _, r := range hostileRequests {
			c := must(l.dial(t.Context(), "", ""))
			tried++
			begin := time.Now()
			go func() { _, _ = io.WriteString(c, r.request) }() // the agent need not read it all
			status := 0
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil {
				status = resp.StatusCode
				body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
				checkText(t, strings.TrimSpace(strings.ReplaceAll(string(body), "\n", " ")))
			}
			c.Close()
			if status != r.status || time.Since(begin) > 11*time.Second {
				t.Errorf("%s: status %d after %v (%v), want %d", r.name, status, time.Since(begin), err, r.status)
			}
		}
		synctest.Wait()
		elapsed := uint64(time.Since(started) / time.Second)
		if got := a.ring.last; got+1 < elapsed {
			t.Errorf("%d samples in %d s", got, elapsed)
		}
		if strings.Contains(log.String(), testToken) {
			t.Errorf("the log tells the token:\n%s", &log)
		}
		t.Logf("%d hostile requests", tried)
	})
}

// TestSlowBody: a request whose body dribbles is ended.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := samplingAgent(t, tokenFile(t))
		c, err := l.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		start := time.Now()
		for _, err = io.WriteString(c, "POST /drop-caches HTTP/1.1\r\nHost: n\r\nContent-Length: 1000\r\n"+bearer+"\r\n"); err == nil; _,
			err = c.Write([]byte{'x'}) {
			<-time.After(time.Second)
		}
		if took := time.Since(start); took > 12*time.Second {
			t.Errorf("a body came in for %v, want 10 s", took)
		}
	})
}

// TestSlowReaders: clients with the token that do not read their answers lose
// their connections, and the memory of answers is limited meanwhile.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, l := samplingAgent(t, tokenFile(t))
		big := node.Sample{Absent: map[string]string{"disk": strings.Repeat("x", 16<<10)}}
		for range 50 {
			big.Seq = a.ring.last + 1
			a.ring.add(big)
		}
		var conns []net.Conn
		for range maxConnections {
			c := must(l.dial(t.Context(), "", ""))
			defer c.Close()
			fmt.Fprint(c, "GET /samples HTTP/1.1\r\nHost: n\r\n"+bearer+"\r\n")
			conns = append(conns, c)
		}
		<-time.After(31 * time.Second)
		for _, c := range conns {
			if n, err := io.Copy(io.Discard, c); n > 64<<10 || err != nil {
				t.Errorf("after 31 s without reading: %d more bytes, %v; want the connection closed", n, err)
			}
		}
	})
}

// TestOneAddress: one address cannot take all connections.
func TestOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := samplingAgent(t, tokenFile(t))
		open := 0
		for range 2 * maxConnections {
			c := must(l.dialFrom(t.Context(), net.IPv4(10, 9, 9, 9)))
			defer c.Close()
			synctest.Wait()
			if _, err := c.Write([]byte("GET")); err == nil {
				open++
			}
		}
		if open != maxFromOne {
			t.Errorf("one address has %d connections, want %d", open, maxFromOne)
		}
		start := time.Now()
		c := newClient(t, ClientOptions{URL: "http://node:9177", DialContext: l.dial})
		if _, err := c.Info(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("another address: %v after %v", err, time.Since(start))
		}
	})
}

// TestConnectionsPerSecond: a flood of connections is let in slowly, however
// soon each is closed.
func TestConnectionsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := samplingAgent(t, tokenFile(t))
		start, flood := time.Now(), 500
		for range flood {
			c := must(l.dial(t.Context(), "", ""))
			c.Close()
		}
		least := time.Duration(flood-connectionsAtOnce-2) * time.Second / connectionsPerSec
		if took := time.Since(start); took < least {
			t.Errorf("%d connections in %v, want at least %v", flood, took, least)
		}
	})
}

// TestFloodsLogLittle: what strangers cause makes few lines of log.
func TestFloodsLogLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := newAgent(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 1000 {
			askWith(t, a.Handler(), "wrong", "GET /info")
		}
		<-time.After(logInterval)
		askWith(t, a.Handler(), "wrong", "GET /info")
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "similarMessagesLeftOut=999") {
			t.Errorf("%d lines for 1001 requests, want 2 with how many were left out:\n%s", n, &log)
		}
	})
}
