package yarntest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"heddle/yarnclient"
)

// Moody is an HTTP server that answers like the handler Well until a test makes
// it misbehave.
type Moody struct {
	Well http.Handler
	// Spare is a URL path that the server answers correctly even while it
	// misbehaves.
	Spare string
	mood  atomic.Pointer[Misdeed]
}

// Misbehave makes the server answer later requests with the given fault; nil
// makes it answer correctly again.
func (m *Moody) Misbehave(d *Misdeed) { m.mood.Store(d) }

func (m *Moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d := m.mood.Load(); d != nil && r.URL.Path != m.Spare {
		d.serve(w, r, m.Well)
		return
	}
	m.Well.ServeHTTP(w, r)
}

// Misdeed is a fault that a fake web server shows: a fault of a Hadoop daemon,
// or of whatever else listens at the address. It works on any HTTP connection
// that a handler can take over, even one in memory.
type Misdeed struct {
	Name string
	// Lie is true if a client cannot tell that the wrong answer is wrong, since
	// Hadoop might send the same.
	Lie   bool
	serve answerer
}

// answerer is a function that answers an HTTP request wrongly. It may take the
// correct answer from the handler that is its last parameter, and change it.
type answerer func(w http.ResponseWriter, r *http.Request, well http.Handler)

// Misdeeds returns all faults that a fake web server can show.
func Misdeeds() []*Misdeed { return slices.Clone(misdeeds) }

const (
	jsonType = "application/json"
	htmlType = "text/html"
	// okHead is the start of an HTTP answer that a fault writes byte by byte.
	okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
)

var misdeeds = []*Misdeed{
	// Faults in which the connection breaks or stays silent, or the server does
	// not speak HTTP.
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
	{Name: "closes in the midst of the headers", serve: sends(okHead[:30])},
	{Name: "closes in the midst of the body", serve: sends(okHead + "Content-Length: 1000\r\n\r\n{\"clusterInfo\":{")},
	{Name: "silent in the midst of the body", serve: raw(func(c net.Conn) {
		io.WriteString(c, okHead+"Content-Length: 1000\r\n\r\n{\"clusterInfo\":{") //nolint:errcheck // the client may have left
		io.Copy(io.Discard, c)                                                     //nolint:errcheck // until the client leaves
	})},
	{Name: "a header byte a second", serve: repeat("HTTP/1.1 200 OK\r\nX: ", "x", time.Second)},
	{Name: "a body byte a second", serve: repeat(okHead+"\r\n", " ", time.Second)},
	{Name: "endless headers", serve: repeat("HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 64<<10)+"\r\n", 0)},
	{Name: "endless body", serve: repeat(okHead+"\r\n{\"clusterInfo\":[", strings.Repeat("{},", 16<<10), 0)},
	{Name: "endless interim answers", serve: repeat("", "HTTP/1.1 102 Processing\r\n\r\n", time.Millisecond)},
	{Name: "bad chunks", serve: raw(func(c net.Conn) {
		io.WriteString(c, okHead+"Transfer-Encoding: chunked\r\n\r\n-7fffffffffffffff\r\n{}") //nolint:errcheck // the client may have left
	})},
	{Name: "gzip bomb", serve: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", jsonType)
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
	{Name: "SSH", serve: sends("SSH-2.0-OpenSSH_9.2\r\n")},
	{Name: "an RPC port", serve: sends("\x00\x00\x00\x70\x00\xff\xfe\x1b[2J\x07")},
	// Faults in which the server sends an error, or data that is not Hadoop's.
	{Name: "empty", serve: say(200, jsonType, "")},
	{Name: "an empty object", serve: say(200, jsonType, "{}")},
	{Name: "null", serve: say(200, jsonType, "null")},
	{Name: "other JSON", serve: say(200, jsonType, `{"error":"who are you?"}`)},
	{Name: "a list", serve: say(200, jsonType, `[1,2,3]`)},
	{Name: "a web page", serve: say(200, htmlType, "<!DOCTYPE html><html><head><title>Welcome to nginx</title></head></html>")},
	{Name: "deep nesting", serve: say(200, jsonType, `{"clusterInfo":`+strings.Repeat("[", 200_000))},
	{Name: "deep XML", serve: say(200, "application/xml", strings.Repeat("<clusterInfo>", 20_000))},
	{Name: "301", serve: say(301, htmlType, "")},
	{Name: "302 to a login page", serve: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, "http://login.invalid/?from="+r.Host, http.StatusFound)
	}},
	{Name: "400", serve: say(400, jsonType, `{"RemoteException":{"exception":"BadRequestException","message":"no"}}`)},
	{Name: "401", serve: say(401, htmlType, "<html>Authentication required</html>")},
	{Name: "403", serve: say(403, "text/plain", "no")},
	{Name: "404", serve: say(404, htmlType, "<html>not found</html>")},
	{Name: "500", serve: say(500, jsonType, `{"RemoteException":{"exception":"WebApplicationException","message":"because"}}`)},
	{Name: "500 page", serve: say(500, htmlType, "<html><pre>java.lang.NullPointerException\n\tat a.b(C.java:1)</pre></html>")},
	{Name: "500 of 16 MiB", serve: func(w http.ResponseWriter, r *http.Request, well http.Handler) {
		say(500, jsonType, `{"RemoteException":{"exception":"X","message":"`+strings.Repeat("because ", 2<<20)+`"}}`)(w, r, well)
	}},
	{Name: "503", serve: say(503, "text/plain", "")},
	{Name: "999", serve: say(999, "text/plain", "")},
	// Faults in which the server redirects the client.
	{Name: "standby", serve: redirect(func(*http.Request) string { return "" }, "This is standby RM. There is no active RM right now.")},
	{Name: "redirects to itself", serve: redirect(func(r *http.Request) string { return "http://" + r.Host + r.URL.RequestURI() }, "")},
	{Name: "redirects in a circle", serve: redirect(func(r *http.Request) string {
		return "http://localhost:" + port(r.Host) + r.URL.RequestURI()
	}, "")},
	{Name: "redirects to nowhere", serve: redirect(func(r *http.Request) string { return "http://127.0.0.1:1" + r.URL.RequestURI() }, "")},
	{Name: "redirects to a file", serve: redirect(func(*http.Request) string { return "file:///etc/passwd" }, "")},
	// Faults in which the server changes the correct answer.
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

// say returns a fault: the server answers every request with the same status
// and text.
func say(status int, kind, body string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck // the client may have left
	}
}

// redirect returns a fault: the server redirects the client. The address is
// the result of the function that is the first parameter. If that result is
// empty, the answer has no address.
func redirect(to func(r *http.Request) string, body string) answerer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		if location := to(r); location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
		io.WriteString(w, body) //nolint:errcheck // the client may have left
	}
}

// sends returns a fault: the server writes a text and closes the connection.
func sends(text string) answerer {
	return raw(func(c net.Conn) { io.WriteString(c, text) }) //nolint:errcheck // the client may have left
}

// raw returns a fault: when the request has arrived, the function serve takes
// over the connection, so that the answer need not be HTTP.
func raw(serve func(c net.Conn)) answerer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		serve(c)
	}
}

// repeat returns a fault: the server writes the text head once. Then it writes
// the text piece again and again, until the client leaves.
func repeat(head, piece string, pause time.Duration) answerer {
	return raw(func(c net.Conn) {
		_, err := io.WriteString(c, head)
		for err == nil {
			<-time.After(pause)
			_, err = io.WriteString(c, piece)
		}
	})
}

// altered returns a fault: the server sends the correct answer, but the
// function alter changes its body.
func altered(alter func(body []byte) []byte) answerer {
	return func(w http.ResponseWriter, r *http.Request, well http.Handler) {
		answer := httptest.NewRecorder()
		well.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		w.Write(alter(answer.Body.Bytes())) //nolint:errcheck // the client may have left
	}
}

// leaves returns a fault: in the JSON of the correct answer, each text, number
// or other single value is replaced by a result of the function change.
func leaves(change func(v any) any) answerer {
	return altered(func(body []byte) []byte { return changeLeaves(body, change) })
}

// numbers returns a fault: in the correct answer, the server replaces each
// number, quoted or not, by the same given text.
func numbers(to string) answerer {
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

// text returns a fault: in the correct answer, the server replaces each string
// that is not a number by the same given text.
func text(to string) answerer {
	return leaves(func(v any) any {
		if s, is := v.(string); is && !json.Valid([]byte(s)) {
			return to
		}
		return v
	})
}

func port(host string) string {
	_, p, _ := net.SplitHostPort(host)
	return p
}

// changeLeaves replaces each text, number or other single value in a JSON text
// by what the function change returns. A body that is not JSON stays unchanged.
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
