// Package serve shows runs in a browser, and to Prometheus: [Live] is the page of a run
// that goes on and its metrics, [Folder] are the pages of all runs in a folder.
//
// A [Server] answers on loopback only, without encryption, and reads: nothing that it is
// asked for changes a run, a file or a cluster. Who asks must know a token. The server
// takes all that a request, a file or a cluster says for hostile. It limits how many
// connections there are, how long a request may take, and how many pages are made at a
// time. If it fails, it says so, and what it serves goes on.
//
// Package report makes the pages, package doc writes them, and package scrape writes
// metrics. This package computes no figure.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

const (
	maxConnections = 64       // further ones wait in the kernel
	maxHeaderBytes = 16 << 10 // of a request
	maxTokenBytes  = 1024
	headerLimit    = 5 * time.Second
	answerLimit    = 30 * time.Second // for a client to take an answer that is ready
	// closeLimit is how long answers that are under way may take when a server ends.
	closeLimit = 20 * time.Second
	// abandonLimit is the same if the command was interrupted.
	abandonLimit = 200 * time.Millisecond
)

// Loopback is the default address: a free port of this machine, for this machine.
const Loopback = "127.0.0.1:0"

// Server answers requests on loopback.
type Server struct {
	listener net.Listener
	token    string
	server   *http.Server
	ended    sync.WaitGroup
}

// Listen opens a server's port. The address is that of loopback, with a port, 0 for a
// free one. Requests are answered from Start on.
func Listen(address, token string) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("serve on %q: want host:port, such as %s", address, Loopback)
	}
	if !isLoopback(host) {
		if port == "0" || port == "" {
			port = "8080"
		}
		return nil, fmt.Errorf("serve on %q: want an address of loopback, such as 127.0.0.1:%[2]s: what is served is not encrypted. To open it from another machine, run there: ssh -L %[2]s:127.0.0.1:%[2]s THIS-MACHINE", address, port)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve on %q: %w", address, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() { // localhost may be anything
		l.Close()
		return nil, fmt.Errorf("serve on %q: this machine takes it for %s, which is not loopback; want 127.0.0.1:%s", address, l.Addr(), port)
	}
	return &Server{listener: netutil.LimitListener(l, maxConnections), token: token}, nil
}

// isLoopback reports whether a name or an address of a host means this machine, for
// this machine only.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() && address.Zone() == ""
}

// URL returns the address for a browser. It has the token.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Start begins to answer requests by h. If answering ends before Close is called, failed
// is told why.
func (s *Server) Start(h http.Handler, failed func(error)) {
	s.server = &http.Server{
		Handler:           guard(s.token, h),
		ReadHeaderTimeout: headerLimit,
		ReadTimeout:       2 * headerLimit,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // a stranger could fill the terminal
	}
	s.ended.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve on %s: %w", s.listener.Addr(), err))
		}
	})
}

// Close ends the server. It waits for answers that are under way, but only for a moment
// once ctx has ended.
func (s *Server) Close(ctx context.Context) {
	if s.server == nil {
		s.listener.Close()
		return
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(abandonLimit, cancel)
	})
	defer stop()
	if s.server.Shutdown(grace) != nil {
		_ = s.server.Close() // connections that are left are of no use any more
	}
	s.ended.Wait()
}

// guard lets those requests through to h that read, come through an address of loopback,
// and have the token: as the first part of the path, which h does not see, or as a
// bearer token. It also tells browsers what the answer must not do.
func guard(token string, h http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	is := func(sent string) bool {
		got := sha256.Sum256([]byte(sent))
		return len(sent) <= maxTokenBytes && subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patience(w, answerLimit)
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		if !isLoopback(hostOf(r.Host)) {
			// A page of a foreign name that its server has turned to 127.0.0.1.
			http.Error(w, "ask for 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		inPath := is(first)
		if !inPath {
			scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "Bearer") || !is(sent) {
				header.Set("Connection", "close")
				http.Error(w, "not found: the address has a token, which heddle prints", http.StatusNotFound)
				return
			}
			rest = strings.TrimPrefix(r.URL.Path, "/")
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		if inPath && r.URL.Path == "/"+token { // links in the page begin behind the last slash
			header.Set("Location", "/"+token+"/")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		x := r.Clone(r.Context())
		x.URL.Path, x.URL.RawPath = "/"+rest, ""
		h.ServeHTTP(w, x)
	})
}

// hostOf returns the host of a Host header, without its port.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.Trim(header, "[]")
}

// patience limits how long a client may take for an answer, from now on.
func patience(w http.ResponseWriter, limit time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // a recorder of a test has none
}

// sendPage answers with a page. The page says by itself what scripts and styles it
// allows.
func sendPage(w http.ResponseWriter, page []byte) {
	patience(w, answerLimit) // making it may have taken long
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // it fails only if the client has left
}
