package yarntest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"time"

	"heddle/yarnclient"
)

// ServeHTTP answers the requests to all daemons of the fake cluster. A test
// that needs real sockets passes the cluster to httptest.NewServer. There, a
// ResourceManager that is down drops connections; through Transport it refuses
// them.
func (c *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := c.faultFor(r)
	if f != nil && f.Hang && !f.Apply {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	answer := httptest.NewRecorder()
	if f == nil || f.Status == 0 || f.Apply {
		c.answer(answer, r)
	}
	if f != nil {
		f.spoil(answer, r)
	}
	maps.Copy(w.Header(), answer.Header())
	body := answer.Body.Bytes()
	if f != nil && f.Cut > 0 && f.Cut < len(body) {
		w.Header().Set("Content-Length", itoa(len(body)))
		body = body[:f.Cut]
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body) // the error is ignored, since writing an answer fails only if the client has left
}

func (c *Fake) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if c.haState == "" && !strings.HasPrefix(r.URL.Path, "/ws/v1/history") && !strings.HasPrefix(r.URL.Path, "/ws/v1/node") {
		panic(http.ErrAbortHandler)
	}
	if c.haState == yarnclient.HAStandby && strings.HasPrefix(r.URL.Path, "/ws/v1/cluster") && r.URL.Path != "/ws/v1/cluster/info" {
		if c.active != "" {
			w.Header().Set("Location", c.active+r.URL.RequestURI())
		} else {
			w.Header().Set("Refresh", "3; url="+r.URL.RequestURI())
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprintln(w, "This is standby RM.")
		return
	}
	c.mux.ServeHTTP(w, r)
}

// Transport returns an HTTP transport that leads every request to the fake
// cluster, whatever its host, without sockets. Virtual time needs this, since
// testing/synctest does not wait for a socket.
func (c *Fake) Transport() http.RoundTripper { return transport{c} }

type transport struct{ c *Fake }

func (t transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	defer req.Body.Close()
	if err := pause(req, t.c.cfg.Latency); err != nil {
		return nil, err
	}
	if t.c.refuses(req) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	server := req.Clone(req.Context())
	server.Host = req.URL.Host
	rec := httptest.NewRecorder()
	defer func() {
		if recover() != nil { // a handler panics to drop the connection, so the client gets an error
			if err = req.Context().Err(); err == nil {
				err = io.EOF
			}
			resp = nil
		}
	}()
	t.c.ServeHTTP(rec, server)
	resp = rec.Result()
	resp.Request = req
	if length := rec.Header().Get("Content-Length"); length != "" && length != itoa(rec.Body.Len()) {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(rec.Body.Bytes()), cutOff{}))
	}
	return resp, nil
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (c *Fake) refuses(r *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	return c.haState == "" && !strings.HasPrefix(r.URL.Path, "/ws/v1/history") && !strings.HasPrefix(r.URL.Path, "/ws/v1/node")
}

func pause(req *http.Request, d time.Duration) error {
	if d <= 0 {
		return req.Context().Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-req.Context().Done():
		return req.Context().Err()
	case <-t.C:
		return nil
	}
}

// write sends an answer in a dialect of JSON, or in XML if the request asks
// for it. The dialect called natural is the only JSON dialect whose answers
// have the root name.
func (c *Fake) write(w http.ResponseWriter, r *http.Request, d dialect, root string, members func(*writer)) {
	out := &writer{d: d}
	kind := "application/json;charset=utf-8"
	switch {
	case strings.Contains(r.Header.Get("Accept"), "xml"):
		out.d, kind = markup, "application/xml; charset=utf-8"
		out.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`)
		out.object(root, func() { members(out) })
	case d == natural:
		out.WriteByte('{')
		out.object(root, func() { members(out) })
		out.WriteByte('}')
	default:
		if d == mapped && c.cfg.Typed {
			out.d = typed
		}
		out.WriteByte('{')
		members(out)
		out.WriteByte('}')
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(out.Bytes()) // the error is ignored, since writing to an httptest.ResponseRecorder cannot fail
}

// refuse answers a request with an error status and a RemoteException as body.
func (c *Fake) refuse(w http.ResponseWriter, r *http.Request, status int, exception, message string) {
	rec := httptest.NewRecorder()
	c.write(rec, r, natural, "RemoteException", func(w *writer) {
		w.text("exception", exception)
		w.set("message", message)
		w.text("javaClassName", "org.apache.hadoop.yarn.webapp."+exception)
	})
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	w.WriteHeader(status)
	_, _ = w.Write(rec.Body.Bytes())
}

func (c *Fake) notFound(w http.ResponseWriter, r *http.Request, what string) {
	c.refuse(w, r, http.StatusNotFound, "NotFoundException", "java.lang.Exception: "+what+" not found")
}
