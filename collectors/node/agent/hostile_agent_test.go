package agent

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"heddle/collectors/node"
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

func page(samples string) string {
	return `{"samples":[` + samples + `],"next":"7.1","more":false,"lost":0,"restarted":false}`
}

const (
	jsonHeader = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	escapes    = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e"
)

// bomb is 64 MiB of spaces, compressed.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 64<<20))
	_ = z.Close()
	return b.String()
})

var hostileAgents = []struct {
	name  string
	agent hostileAgent
	says  string // in each error; empty: no error is wanted
}{
	{"nothing", says(""), "start `heddle agent` there"},
	{"no answer ever", forever("", "", time.Second), "no whole answer within 10s"},
	{"half a status line", says("HTTP/1.1 2"), "not reachable"},
	{"another protocol", says("220 mail.example.org ESMTP\r\n"), "not reachable"},
	{"binary", says("\x00\x01\x02\x03\xff\xfe\r\n\r\n"), "not reachable"},
	{"escapes as status", says("HTTP/1.1 404 " + escapes + "\r\nContent-Length: 0\r\n\r\n"), "404 Not Found"},
	{"an unknown status", says("HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n"), "999"},
	{"a status of nine digits", says("HTTP/1.1 200000000 OK\r\n\r\n"), "not reachable"},
	{"informational for ever", forever("", "HTTP/1.1 103 Early\r\n\r\n", 0), "not reachable"},
	{"switching protocols", says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), "status 101"},
	{"a header without end", forever("HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 1000)+"\r\n", 0), "not reachable"},
	{"one header line without end", forever("HTTP/1.1 200 OK\r\nX: ", strings.Repeat("x", 4096), 0), "not reachable"},
	{"a slow header", forever("HTTP/1.1 200 OK\r\nX: ", "x", time.Second), "no whole answer within 10s"},
	{"two lengths", says(jsonHeader + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), "not reachable"},
	{"a negative length", says(jsonHeader + "Content-Length: -5\r\n\r\n{}"), "not reachable"},
	{"a length of 2^63", says(jsonHeader + "Content-Length: 9223372036854775807\r\n\r\n{}"), "read the answer"},
	{"a body without end", forever(jsonHeader+"\r\n", strings.Repeat(" ", 4096), 0), "longer than 1048576 bytes"},
	{"chunks without end", forever(jsonHeader+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 0), "longer than"},
	{"chunks of a byte", forever(jsonHeader+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\n \r\n", 1000), 0), "not an agent's answer"},
	{"a chunk of 2^64", says(jsonHeader + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n"), "read the answer"},
	{"trailers without end", forever(jsonHeader+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", 0), "read the answer"},
	{"a slow body", forever(jsonHeader+"Content-Length: 1000\r\n\r\n", " ", time.Second), "no whole answer within 10s"},
	{"a body cut off", says(jsonHeader + "Content-Length: 1000\r\n\r\n{\"node\":"), "read the answer"},
	{"a compressed bomb", func(ctx context.Context, c net.Conn) {
		says(jsonHeader+"Content-Encoding: gzip\r\n\r\n"+bomb())(ctx, c)
	}, "compressed (gzip)"},
	{"another coding", says(jsonHeader + "Content-Encoding: " + strings.Repeat("br", 500) + "\r\n\r\n"), "compressed"},
	{"a web page", answersAs("200 OK", "text/html", "<html>"), "not an agent's"},
	{"no content type", says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "not an agent's"},
	{"escapes as content type", answersAs("200 OK", "text/"+escapes, "{}"), "not reachable"},
	{"a redirect", says("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"), "302 Found"},
	{"a permanent redirect", says("HTTP/1.1 308 Permanent Redirect\r\nLocation: https://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"), "308"},
	{"401 for ever", answersAs("401 Unauthorized", "application/json", `{"error":"no"}`), "token refused"},
	{"407", answersAs("407 Proxy Authentication Required", "text/html", ""), "407"},
	{"an error with escapes", answersAs("500 no", "application/json", `{"error":"`+strings.Repeat(`\u001b[2J`, 1000)+`"}`), "?[2J?[2J"},
	{"an error that is long", answersAs("500 no", "application/json", `{"error":"`+strings.Repeat("x", 1000_000)+`"}`), "xxx…"},
	{"429 with a long wait", says("HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}"), "x"},
	{"nothing as JSON", answers(""), "unexpected EOF"},
	{"half of JSON", answers(`{"samples":[{"seq":1`), "unexpected EOF"},
	{"a list", answers(`[1]`), "unmarshal JSON array"},
	{"a text", answers(`"x"`), "unmarshal JSON string"},
	{"a number of a megabyte", answers(strings.Repeat("9", 1000_000)), "unmarshal JSON number"},
	{"deep lists", answers(strings.Repeat("[", 500_000)), "unmarshal JSON array"},
	{"deep objects", answers(strings.Repeat(`{"a":`, 100_000)), "exceeded max depth"},
	{"bytes of no character", answers("\xff\xfe{}"), "invalid character"},
	{"text with an escape in JSON", answers("{\"\x1b\":1}"), "invalid character"},
	{"two answers in one", answers(`{} {}`), "after top-level value"},
}

// TestHostileAgents asks agents that send what no agent sends. Each request
// ends within its time limit, costs little memory, and its error names the agent
// and has nothing in it that a terminal would obey. Time is that of a bubble.
func TestHostileAgents(t *testing.T) {
	tried := 0
	bomb() // so that no request's memory is that of making it
	for _, h := range hostileAgents {
		for what, ask := range map[string]func(context.Context, *Client) error{
			"info":    func(ctx context.Context, c *Client) error { _, err := c.Info(ctx); return err },
			"samples": func(ctx context.Context, c *Client) error { _, err := c.Samples(ctx, FromNow); return err },
			"follow":  func(ctx context.Context, c *Client) error { _, err := c.Follow().Next(ctx); return err },
		} {
			tried++
			t.Run(h.name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := hostileClient(t, h.agent)
					start := time.Now()
					var err error
					bytes := allocated(func() { err = ask(t.Context(), c) })
					if took := time.Since(start); took > 11*time.Second {
						t.Errorf("took %v, want at most the time limit of 10 s", took)
					}
					if err == nil || !strings.Contains(err.Error(), h.says) || !strings.Contains(err.Error(), "http://node:9177") {
						t.Fatalf("error %v, want one that says %q and the URL", err, h.says)
					}
					checkText(t, err.Error())
					if bytes > 16<<20 {
						t.Errorf("%d MiB of memory allocated, want at most 16", bytes>>20)
					}
				})
			})
		}
	}
	t.Logf("%d requests to %d hostile agents", tried, len(hostileAgents))
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

// goodSample has each figure that an agent sends.
func goodSample(seq uint64) node.Sample {
	f, u, n := 0.5, uint64(5), 3
	cpu := node.CPU{UserCores: 1, SystemCores: 1, IdleCores: &f, IowaitCores: &f, StealCores: &f}
	return node.Sample{
		Seq: seq, WallNs: 1_795_262_400_500_000_000, MonoNs: int64(seq) * 1e9, IntervalNs: 1e9, CPU: &cpu, Cores: []node.CPU{cpu, cpu},
		Quota:    &node.Quota{LimitCores: &f, Periods: 10, ThrottledPeriods: 5, ThrottledNs: 7},
		Load:     &node.Load{Load1: 1, Load5: 2, Load15: 3, Tasks: &n},
		Memory:   &node.Memory{TotalBytes: 100, FreeBytes: 50, AvailableBytes: 60, BuffersBytes: &u, CachedBytes: 20, ShmemBytes: 5, DirtyBytes: 5, PageCacheBytes: 15},
		Disks:    []node.Disk{{Device: "vda", ReadBytesPerSec: 1, WriteBytesPerSec: 1, ReadsPerSec: 1, WritesPerSec: 1, InFlight: &u, QueueMean: &f, BusyFraction: &f}},
		Networks: []node.Network{{Interface: "eth0", ReceiveBytesPerSec: 1, TransmitBytesPerSec: 1, ReceivePacketsPerSec: 1, TransmitPacketsPerSec: 1, ReceiveErrors: 1, TransmitErrors: 1, ReceiveDrops: 1, TransmitDrops: 1}},
		Absent:   map[string]string{"quota": "for the test"},
	}
}

// badFigures stand in place of each figure, text and list of a good sample.
var badFigures = []string{
	"-1", "-0.5", "-9223372036854775808", "1e300", "1e999", "-1e999", "18446744073709551615", "18446744073709551616", "9223372036854775807",
	strings.Repeat("9", 500), "0." + strings.Repeat("0", 500) + "1", "NaN", "Infinity", "0x10", "1_000", `"1"`, "true", "[]", "{}", "[[[]]]", `[1,"x",null]`,
	`"` + strings.Repeat("x", 10_000) + `"`, `"\u001b[2J\u0007"`, `"\u202e"`, `""`, `"\ud800"`,
}

// TestBadFigures replaces each part of a good sample by each bad figure. Either
// the answer is refused, or the sample, or what the client gives is in range.
func TestBadFigures(t *testing.T) {
	encoded, err := json.Marshal(goodSample(1))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := decodePage([]byte(page(string(encoded)))); err != nil || len(p.Samples) != 1 {
		t.Fatalf("the good sample: %+v, %v", p, err)
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		t.Fatal(err)
	}
	tried, refused, taken := 0, 0, 0
	eachPart(tree, func(put func(any)) {
		for _, bad := range badFigures {
			const place = `"\u0000place"`
			put("\x00place")
			whole, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			p, err := decodePage([]byte(page(strings.Replace(string(whole), place, bad, 1))))
			switch {
			case err != nil || p.Refused == 1 && len(p.Samples) == 0:
				refused++
			case len(p.Samples) == 1:
				taken++
				checkInRange(t, bad, p.Samples[0])
			default:
				t.Errorf("%s: %d samples, %d refused", bad, len(p.Samples), p.Refused)
			}
			for _, err := range []error{err, p.WhyRefused} {
				if err != nil {
					checkText(t, err.Error())
				}
			}
		}
	})
	if refused < tried/2 || taken == 0 {
		t.Errorf("%d tried, %d refused, %d taken; want most refused, and some taken", tried, refused, taken)
	}
	t.Logf("%d samples with a bad figure: %d refused, %d harmless", tried, refused, taken)
}

// eachPart calls do for each value below a JSON value, with a function that
// replaces it, and puts the value back.
func eachPart(v any, do func(put func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			do(func(other any) { v[key] = other })
			v[key] = below
			eachPart(below, do)
		}
	case []any:
		for i, below := range v {
			do(func(other any) { v[i] = other })
			v[i] = below
			eachPart(below, do)
		}
	}
}

// checkInRange: no figure can make a sum overflow or a trace invalid.
func checkInRange(t *testing.T, what string, s node.Sample) {
	t.Helper()
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, below := range v {
				checkText(t, key)
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		case string:
			checkText(t, v)
		case json.Number:
			f, err := strconv.ParseFloat(string(v), 64)
			if whole := string(encoded); err != nil || f < 0 || f > 1<<58 && !strings.Contains(whole, `"seq":`+string(v)+`,`) && !strings.Contains(whole, `"wallNs":`+string(v)+`,`) {
				t.Errorf("%s: a figure of %s", what, v)
			}
		}
	}
	walk(tree)
}

// TestBadPages has pages whose samples are fine one by one.
func TestBadPages(t *testing.T) {
	sample := func(seq uint64) string { s, _ := json.Marshal(goodSample(seq)); return string(s) }
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	names := make([]string, maxParts+1)
	for i := range names {
		names[i] = fmt.Sprintf(`{"device":"sd%d","readBytesPerSec":1}`, i)
	}
	for _, c := range []struct {
		name, body     string
		taken, refused int
		says           string
	}{
		{"good", page(sample(1) + "," + sample(2)), 2, 0, ""},
		{"the same number twice", page(sample(1) + "," + sample(1) + "," + sample(2)), 2, 1, ""},
		{"numbers that go back", page(sample(5) + "," + sample(3) + "," + sample(4) + "," + sample(6)), 2, 2, ""},
		{"no number", page(sample(0)), 0, 1, ""},
		{"null", page("null,null"), 0, 2, ""},
		{"more than a page", page(many(maxPage+1, `{"seq":1,"wallNs":1}`)), 0, 0, "1001 samples"},
		{"many small ones", page(many(100_000, "{}")), 0, 0, "items in"},
		{"many small disks", page(`{"seq":1,"disks":[` + many(100_000, "{}") + `]}`), 0, 0, "items in"},
		{"numbers for disks", page(`{"seq":1,"disks":[` + many(100_000, "1") + `]}`), 0, 0, "items in"},
		{"thousands of disks", page(`{"seq":1,"disks":[` + strings.Join(names, ",") + `]}`), 0, 1, ""},
		{"just not too many disks", page(`{"seq":1,"disks":[` + strings.Join(names[1:], ",") + `]}`), 1, 0, ""},
		{"a disk without a name", page(`{"seq":1,"disks":[{"readBytesPerSec":1}]}`), 0, 1, ""},
		{"no cursor", `{"samples":[]}`, 0, 0, "no cursor"},
		{"a long cursor", `{"samples":[],"next":"` + strings.Repeat("7", 65) + `"}`, 0, 0, "no cursor"},
		{"a cursor with escapes", `{"samples":[],"next":"\u001b[2J"}`, 0, 0, "no cursor"},
		{"a negative loss", `{"samples":[],"next":"7.1","lost":-1}`, 0, 0, "unmarshal JSON number"},
		{"samples twice", `{"samples":[` + sample(1) + `],"samples":[` + sample(2) + `,` + sample(3) + `],"next":"7.1"}`, 2, 0, ""},
	} {
		var p Page
		var err error
		bytes := allocated(func() { p, err = decodePage([]byte(c.body)) })
		if c.says != "" && (!errors.Is(err, ErrBadAnswer) || !strings.Contains(err.Error(), c.says)) || c.says == "" && err != nil ||
			len(p.Samples) != c.taken || p.Refused != c.refused || (c.refused > 0) != (p.WhyRefused != nil) {
			t.Errorf("%s: %d taken, %d refused (%v), error %v; want %d, %d, %q", c.name, len(p.Samples), p.Refused, p.WhyRefused, err, c.taken, c.refused, c.says)
		}
		if bytes > 16<<20 {
			t.Errorf("%s: %d MiB allocated for %d KiB", c.name, bytes>>20, len(c.body)>>10)
		}
	}
}

func FuzzPage(f *testing.F) {
	good, _ := json.Marshal(goodSample(1))
	f.Add([]byte(page(string(good))))
	f.Add([]byte(page("null,{},[]")))
	f.Add([]byte(`{"samples":[],"next":"x","lost":1e3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := decodePage(body)
		if err != nil {
			checkText(t, err.Error())
		}
		if p.WhyRefused != nil {
			checkText(t, p.WhyRefused.Error())
		}
		for _, s := range p.Samples {
			checkInRange(t, "fuzzed", s)
		}
	})
}

func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"node":"a","cpus":2,"nowWallNs":1795262400500000000,"clock":{"maxErrorUs":5}}`))
	f.Add([]byte(`{"node":"\u001b[2J","cpus":-2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		info, err := decodeInfo(body)
		if err == nil && (info.CPUs < 0 || info.NowWallNs < 0 || info.NowMonoNs < 0 || info.MemoryBytes > math.MaxInt64) {
			t.Errorf("figures out of range: %+v", info)
		}
		for _, text := range []string{info.Node, info.Version, info.Hostname, info.Kernel, info.Mode, info.Cgroup, info.NoDropCaches, fmt.Sprint(err)} {
			checkText(t, text)
		}
		dropped, err := decodeDropped(body)
		checkText(t, dropped.Scope+dropped.How+fmt.Sprint(err))
		checkText(t, reply{body: body}.refusal())
	})
}

// FuzzAnswer sends bytes in place of an HTTP answer.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(jsonHeader + "Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 401 x\r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, err := hostileClient(t, says(string(answer))).Info(t.Context())
		if err != nil {
			checkText(t, err.Error())
		}
	})
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
