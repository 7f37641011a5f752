package yarntest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/yarnclient"
)

// Moody answers like Well until a test makes it misbehave.
type Moody struct {
	Well http.Handler
	// Spare is a path that Well always answers.
	Spare string
	mood  atomic.Pointer[Misdeed]
}

// Misbehave applies a misdeed to later requests; nil ends that.
func (m *Moody) Misbehave(d *Misdeed) { m.mood.Store(d) }

func (m *Moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d := m.mood.Load(); d != nil && r.URL.Path != m.Spare {
		d.serve(w, r, m.Well)
		return
	}
	m.Well.ServeHTTP(w, r)
}

// Misdeed is a fault of a Hadoop web server, or of whatever listens at its
// address. It works over any connection that can be hijacked, even one in
// memory.
type Misdeed struct {
	Name string
	// Lie is true if a client cannot tell that the answer is wrong: Hadoop
	// might give it.
	Lie   bool
	serve func(w http.ResponseWriter, r *http.Request, well http.Handler)
}

// Misdeeds returns all misdeeds.
func Misdeeds() []*Misdeed {
	const javascript, page = "application/json", "text/html"
	say := func(status int, kind, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body) //nolint:errcheck // the client may have left
		}
	}
	redirect := func(to func(r *http.Request) string, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			if location := to(r); location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(http.StatusTemporaryRedirect)
			io.WriteString(w, body) //nolint:errcheck // the client may have left
		}
	}
	// raw hands the connection to serve once the request has arrived.
	raw := func(serve func(c net.Conn)) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			serve(c)
		}
	}
	repeat := func(head, piece string, pause time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
		return raw(func(c net.Conn) {
			_, err := io.WriteString(c, head)
			for err == nil {
				<-time.After(pause)
				_, err = io.WriteString(c, piece)
			}
		})
	}
	// altered sends the answer of well with its body changed.
	altered := func(alter func(body []byte) []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, well http.Handler) {
			answer := httptest.NewRecorder()
			well.ServeHTTP(answer, r)
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(answer.Code)
			w.Write(alter(answer.Body.Bytes())) //nolint:errcheck // the client may have left
		}
	}
	leaves := func(change func(v any) any) func(http.ResponseWriter, *http.Request, http.Handler) {
		return altered(func(body []byte) []byte { return changeLeaves(body, change) })
	}
	numbers := func(to string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return leaves(func(v any) any {
			if s, quoted := v.(string); quoted && json.Valid([]byte(s)) && s != "true" && s != "false" {
				return to
			}
			if _, is := v.(json.Number); is {
				if !json.Valid([]byte(to)) {
					return to
				}
				return json.Number(to)
			}
			return v
		})
	}
	text := func(to string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return leaves(func(v any) any {
			if s, is := v.(string); is && !json.Valid([]byte(s)) {
				return to
			}
			return v
		})
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	return []*Misdeed{
		{Name: "silent", serve: func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			io.Copy(io.Discard, r.Body) //nolint:errcheck // else it is not seen that the client leaves
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}},
		{Name: "closes", serve: raw(func(net.Conn) {})},
		{Name: "resets", serve: raw(func(c net.Conn) {
			if tcp, is := c.(*net.TCPConn); is {
				tcp.SetLinger(0) //nolint:errcheck // as rude as it gets
			}
		})},
		{Name: "closes in the midst of the headers", serve: raw(func(c net.Conn) { io.WriteString(c, head[:30]) })},                                          //nolint:errcheck // the client may have left
		{Name: "closes in the midst of the body", serve: raw(func(c net.Conn) { io.WriteString(c, head+"Content-Length: 1000\r\n\r\n{\"clusterInfo\":{") })}, //nolint:errcheck // the client may have left
		{Name: "silent in the midst of the body", serve: raw(func(c net.Conn) {
			io.WriteString(c, head+"Content-Length: 1000\r\n\r\n{\"clusterInfo\":{") //nolint:errcheck // the client may have left
			io.Copy(io.Discard, c)                                                   //nolint:errcheck // until the client leaves
		})},
		{Name: "a header byte a second", serve: repeat("HTTP/1.1 200 OK\r\nX: ", "x", time.Second)},
		{Name: "a body byte a second", serve: repeat(head+"\r\n", " ", time.Second)},
		{Name: "endless headers", serve: repeat("HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 64<<10)+"\r\n", 0)},
		{Name: "endless body", serve: repeat(head+"\r\n{\"clusterInfo\":[", strings.Repeat("{},", 16<<10), 0)},
		{Name: "endless interim answers", serve: repeat("", "HTTP/1.1 102 Processing\r\n\r\n", time.Millisecond)},
		{Name: "bad chunks", serve: raw(func(c net.Conn) { io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n-7fffffffffffffff\r\n{}") })}, //nolint:errcheck // the client may have left
		{Name: "gzip bomb", serve: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", javascript)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			zeros := make([]byte, 1<<20)
			for range 1 << 10 {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
			z.Close() //nolint:errcheck // the client may have left
		}},
		{Name: "no gzip but said so", serve: func(w http.ResponseWriter, r *http.Request, well http.Handler) {
			w.Header().Set("Content-Encoding", "gzip")
			well.ServeHTTP(w, r)
		}},
		{Name: "SSH", serve: raw(func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })},                         //nolint:errcheck // the client may have left
		{Name: "an RPC port", serve: raw(func(c net.Conn) { io.WriteString(c, "\x00\x00\x00\x70\x00\xff\xfe\x1b[2J\x07") })}, //nolint:errcheck // the client may have left
		{Name: "empty", serve: say(200, javascript, "")},
		{Name: "an empty object", serve: say(200, javascript, "{}")},
		{Name: "null", serve: say(200, javascript, "null")},
		{Name: "other JSON", serve: say(200, javascript, `{"error":"who are you?"}`)},
		{Name: "a list", serve: say(200, javascript, `[1,2,3]`)},
		{Name: "a web page", serve: say(200, page, "<!DOCTYPE html><html><head><title>Welcome to nginx</title></head></html>")},
		{Name: "deep nesting", serve: say(200, javascript, `{"clusterInfo":`+strings.Repeat("[", 200_000))},
		{Name: "deep XML", serve: say(200, "application/xml", strings.Repeat("<clusterInfo>", 20_000))},
		{Name: "301", serve: say(301, page, "")},
		{Name: "302 to a login page", serve: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "http://login.invalid/?from="+r.Host, http.StatusFound)
		}},
		{Name: "400", serve: say(400, javascript, `{"RemoteException":{"exception":"BadRequestException","message":"no"}}`)},
		{Name: "401", serve: say(401, page, "<html>Authentication required</html>")},
		{Name: "403", serve: say(403, "text/plain", "no")},
		{Name: "404", serve: say(404, page, "<html>not found</html>")},
		{Name: "500", serve: say(500, javascript, `{"RemoteException":{"exception":"WebApplicationException","message":"because"}}`)},
		{Name: "500 page", serve: say(500, page, "<html><pre>java.lang.NullPointerException\n\tat a.b(C.java:1)</pre></html>")},
		{Name: "500 of 16 MiB", serve: say(500, javascript, `{"RemoteException":{"exception":"X","message":"`+strings.Repeat("because ", 2<<20)+`"}}`)},
		{Name: "503", serve: say(503, "text/plain", "")},
		{Name: "999", serve: say(999, "text/plain", "")},
		{Name: "standby", serve: redirect(func(*http.Request) string { return "" }, "This is standby RM. There is no active RM right now.")},
		{Name: "redirects to itself", serve: redirect(func(r *http.Request) string { return "http://" + r.Host + r.URL.RequestURI() }, "")},
		{Name: "redirects in a circle", serve: redirect(func(r *http.Request) string { return "http://localhost:" + port(r.Host) + r.URL.RequestURI() }, "")},
		{Name: "redirects to nowhere", serve: redirect(func(r *http.Request) string { return "http://127.0.0.1:1" + r.URL.RequestURI() }, "")},
		{Name: "redirects to a file", serve: redirect(func(*http.Request) string { return "file:///etc/passwd" }, "")},
		{Name: "cut off", serve: altered(func(body []byte) []byte { return body[:len(body)*2/3] })},
		{Name: "nothing but null", serve: leaves(func(any) any { return nil })},
		{Name: "lists for values", serve: leaves(func(v any) any { return []any{v, v} })},
		{Name: "objects for values", serve: leaves(func(v any) any { return map[string]any{"value": v} })},
		{Name: "text for numbers", serve: numbers("many")},
		{Name: "hostile text", Lie: true, serve: text("../../../../tmp/x\x1b[2J\n;$(reboot)")},
		{Name: "long text", Lie: true, serve: text(strings.Repeat("x", 64<<10))},
		{Name: "text that is not UTF-8", Lie: true, serve: altered(func(body []byte) []byte {
			body = changeLeaves(body, func(v any) any {
				if s, is := v.(string); is && !json.Valid([]byte(s)) {
					return "NOT UTF-8"
				}
				return v
			})
			return bytes.ReplaceAll(body, []byte("NOT UTF-8"), []byte("r1\xff\xfe"))
		})},
		{Name: "negative numbers", Lie: true, serve: numbers("-1")},
		{Name: "no numbers but 0", Lie: true, serve: numbers("0")},
		{Name: "huge numbers", Lie: true, serve: numbers("4611686018427387000")},
		{Name: "boundless numbers", serve: numbers("1e999")},
		{Name: "everything twice", Lie: true, serve: altered(func(body []byte) []byte {
			if inner := bytes.TrimSpace(body); len(inner) > 2 && inner[0] == '{' {
				return bytes.Join([][]byte{inner[:len(inner)-1], inner[1:]}, []byte(","))
			}
			return body
		})},
		{Name: "another content type", Lie: true, serve: func(w http.ResponseWriter, r *http.Request, well http.Handler) {
			answer := httptest.NewRecorder()
			well.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "image/png")
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes()) //nolint:errcheck // the client may have left
		}},
		{Name: "slow but right", Lie: true, serve: func(w http.ResponseWriter, r *http.Request, well http.Handler) {
			<-time.After(300 * time.Millisecond)
			well.ServeHTTP(w, r)
		}},
		{Name: "starting", serve: altered(func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(yarnclient.HAActive), []byte(yarnclient.HAInitializing))
		})},
	}
}

// Listener accepts connections that stay in memory, so that virtual time works.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// NewListener returns a listener for one http.Server.
func NewListener() *Listener {
	l := &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// DialContext connects to the listener in memory, whatever the address.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: ctx.Err()}
	}
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and DialContext fail.
func (l *Listener) Close() error { l.close(); return nil }

// Addr returns a made-up address.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

func port(host string) string {
	_, p, _ := net.SplitHostPort(host)
	return p
}

// changeLeaves changes each value of a JSON text other than objects and lists.
// It returns a text that is not JSON unchanged.
func changeLeaves(body []byte, change func(v any) any) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var all any
	if d.Decode(&all) != nil {
		return body
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				v[name] = walk(member)
			}
			return v
		case []any:
			for i, element := range v {
				v[i] = walk(element)
			}
			return v
		}
		return change(v)
	}
	changed := walk(all)
	out, err := json.Marshal(changed)
	if err != nil {
		panic(err)
	}
	return out
}
