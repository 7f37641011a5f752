package yarnclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestBadAnswers names, for every kind of wrong answer, what errors.Is finds
// and what the message tells a user.
func TestBadAnswers(t *testing.T) {
	text := func(status int, kind, body string) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) {
			return textAnswer(status, kind, []byte(body)), nil
		})
	}
	refused := func(status int, exception, message string) http.RoundTripper {
		return text(status, "application/json", `{"RemoteException":{"exception":"`+exception+`","message":"`+message+`","javaClassName":"x.`+
			exception+`"}}`)
	}
	for _, test := range []struct {
		name      string
		transport http.RoundTripper
		is        []error
		exception string // of the RemoteError, "-" for none
		says      []string
	}{
		{
			"unknown application", recorded(t, "3.4.2/err-app.http"),
			[]error{ErrNotFound},
			"NotFoundException",
			[]string{"404", "application_1_0001 not found"},
		},
		{"unknown node", recorded(t, "3.4.2/err-node-unknown.http"), []error{ErrNotFound}, "NotFoundException", []string{"nohost"}},
		{"bad node id", recorded(t, "3.4.2/err-node-noport.http"), nil, "IllegalArgumentException", []string{"400", "Expected host:port"}},
		{"unknown label", recorded(t, "3.4.2/err-label.http"), nil, "BadRequestException", []string{"new labels=[nope]"}},
		{"unknown label, XML", recorded(t, "3.4.2/err-label-xml.http"), nil, "BadRequestException", []string{"new labels=[nope]"}},
		{
			"NameNode's web port", recorded(t, "3.4.2/html-nn.http"),
			[]error{ErrNotRest, ErrNotFound},
			"-",
			[]string{"Error 404 Not Found", "is this the ResourceManager's web address?"},
		},
		{"unknown path", recorded(t, "3.4.2/html-404.http"), []error{ErrNotRest, ErrNotFound}, "-", []string{"Sorry, got error 404"}},
		{
			"RPC port", recorded(t, "3.4.2/ipc.http"),
			[]error{ErrNotRest, ErrNotFound},
			"-",
			[]string{"Hadoop IPC port", "is this the ResourceManager's web address?"},
		},
		{
			"web page with status 200", text(200, "text/html", "<!DOCTYPE html><html><head><title>Router login</title></head>"),
			[]error{ErrNotRest},
			"-",
			[]string{"Router login"},
		},
		{"web page as XML", text(200, "application/xml", "\n <HTML><body>hello"), []error{ErrNotRest}, "-", []string{"hello"}},
		{"redirect", text(302, "text/html", ""), []error{ErrNotRest}, "-", []string{"redirected to no address"}},
		{
			"redirect to a login page", leads("https://u:pw@gw:8443/sso/websso?originalUrl=x"),
			[]error{ErrNotRest},
			"-",
			[]string{"redirected to https://gw:8443/sso/websso; is this", "A gateway"},
		},
		{
			"401 page", text(401, "text/html", "<html>Authentication required</html>"),
			[]error{ErrUnauthorized},
			"-",
			[]string{"401", "Authentication required", "Kerberos"},
		},
		{
			"401 explained", refused(401, "AuthorizationException", "User dr.who is not an admin"),
			[]error{ErrUnauthorized},
			"AuthorizationException",
			[]string{"dr.who", "yarn.admin.acl"},
		},
		{"403 text", text(403, "text/plain", "Unable to kill"), []error{ErrUnauthorized}, "-", []string{"403", "Unable to kill"}},
		{
			"503 explained", refused(503, "UndeclaredThrowableException", ""), nil, "UndeclaredThrowableException",
			[]string{"503", "the ResourceManager's log"},
		},
		{"503 alone", text(503, "text/plain", ""), []error{ErrUnavailable}, "-", []string{"503", "try again later"}},
		{"400 text", text(400, "text/plain", "Failed to re-init queues : bad capacity"), nil, "", []string{"bad capacity"}},
		{"500 without a body", text(500, "text/plain", ""), nil, "", []string{"Internal Server Error"}},
		{"empty", text(200, "application/json", ""), []error{ErrBadAnswer}, "-", []string{"cut off after 0 bytes"}},
		{
			"truncated", text(200, "application/json", `{"app":{"id":"application_1_0001","na`),
			[]error{ErrBadAnswer},
			"-",
			[]string{"cut off after 37 bytes"},
		},
		{"other JSON", text(200, "application/json", `{"foo":1}`), []error{ErrBadAnswer}, "-", []string{`no "app"`, `{\"foo\":1}`}},
		{"body ends early", bodyFails(io.ErrUnexpectedEOF), []error{ErrBadAnswer}, "-", []string{"cut off"}},
		{"no active ResourceManager, at last", text(200, "text/plain", "There is no active RM right now."), []error{ErrStandby}, "-", nil},
		{"no active ResourceManager", text(307, "text/plain", "There is no active RM right now."), []error{ErrStandby}, "-", []string{"standby"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rm, err := NewRM(Options{Addresses: []string{"http://rm.test:8088"}, User: "alice", Transport: test.transport, Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = rm.App(bg, "application_1_0001")
			checkError(t, err, test.is, append(test.says,
				"yarn: GET http://rm.test:8088/ws/v1/cluster/apps/application_1_0001?deSelects=resourceRequests: "))
			var remote *RemoteError
			switch {
			case errors.As(err, &remote) != (test.exception != "-"):
				t.Errorf("RemoteError: %v, want %q", remote, test.exception)
			case remote != nil && remote.Exception != test.exception:
				t.Errorf("exception %q, want %q", remote.Exception, test.exception)
			}
		})
	}
}

// checkError wants an error that is these and no other sentinels.
func checkError(t *testing.T, err error, is []error, says []string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if _, ok := errors.AsType[*RequestError](err); !ok {
		t.Errorf("%T is no RequestError", err)
	}
	for _, sentinel := range []error{
		ErrUnreachable, ErrUnauthorized, ErrNotFound, ErrStandby, ErrUnavailable,
		ErrNotRest, ErrBadAnswer, ErrJobEnded, ErrNoMaster,
	} {
		want := slices.Contains(is, sentinel)
		if errors.Is(err, sentinel) != want {
			t.Errorf("%q: is %q: %v, want %v", err, sentinel, !want, want)
		}
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if strings.Contains(err.Error(), "alice") {
		t.Errorf("%q names the user", err)
	}
}

func leads(to string) http.RoundTripper {
	return roundTripper(func(*http.Request) (*http.Response, error) {
		resp := textAnswer(302, "text/html", nil)
		resp.Header.Set("Location", to)
		return resp, nil
	})
}

func bodyFails(err error) http.RoundTripper {
	return roundTripper(func(*http.Request) (*http.Response, error) {
		resp := textAnswer(200, "application/json", nil)
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"app":{`), failingReader{err})), 100
		return resp, nil
	})
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestUnreachable dials for real: a port that nobody listens on, and one where
// something else than HTTP answers.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n') // it answers the request line
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n")
			conn.Close()
		}
	}()
	address := l.Addr().String()
	get := func() error {
		rm, err := NewRM(Options{Addresses: []string{address}, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer rm.Close()
		_, err = rm.Info(bg)
		return err
	}
	checkError(t, get(), []error{ErrNotRest}, []string{"malformed HTTP", "is this the ResourceManager's web address?"})
	l.Close()
	<-done
	err = get()
	checkError(t, err, []error{ErrUnreachable}, []string{"connection refused", "is the ResourceManager running"})
	if e := new(RequestError); !errors.As(err, &e) || !e.Unsent {
		t.Errorf("%v: not marked as never sent", err)
	}
}

func TestTLSMismatch(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	rm, err := NewRM(Options{Addresses: []string{strings.Replace(plain.URL, "http:", "https:", 1)}, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = rm.Info(bg)
	checkError(t, err, []error{ErrNotRest}, []string{"HTTP response to HTTPS client"})
}

func TestTimeoutAndCancel(t *testing.T) {
	hang := roundTripper(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		rm, err := NewRM(Options{Addresses: []string{"rm.test:8088"}, Transport: hang, Timeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = rm.Nodes(t.Context())
		checkError(t, err, []error{ErrUnreachable}, []string{"no answer within 3s"})
		if took := time.Since(start); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("read gave up after %v, want 3 tries of 3 s and two short pauses", took)
		}
		start = time.Now()
		err = rm.ReplaceLabels(t.Context(), map[string]string{"n:1": "x"})
		checkError(t, err, []error{ErrUnreachable}, []string{"POST", "the change may have been made"})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("write took %v, want one try of 3 s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		_, err = rm.Nodes(ctx)
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("cancelled: %v after %v", err, time.Since(start))
		}
	})
}

func TestRetriesReadsOnly(t *testing.T) {
	var calls atomic.Int32
	flaky := roundTripper(func(req *http.Request) (*http.Response, error) {
		if calls.Add(1) < 3 {
			if req.Method == http.MethodGet && calls.Load() == 1 {
				return nil, io.EOF
			}
			return textAnswer(503, "text/plain", nil), nil
		}
		return textAnswer(200, "application/json", []byte(`{"nodes":{}}`)), nil
	})
	synctest.Test(t, func(t *testing.T) {
		rm := must(NewRM(Options{Addresses: []string{"rm.test:8088"}, Transport: flaky}))
		if _, err := rm.Nodes(t.Context()); err != nil || calls.Load() != 3 {
			t.Errorf("read: %v after %d calls, want the third to succeed", err, calls.Load())
		}
		calls.Store(0)
		if err := rm.KillApp(t.Context(), "application_1_0001"); !errors.Is(err, ErrUnavailable) || calls.Load() != 1 {
			t.Errorf("write: %v after %d calls, want ErrUnavailable after one", err, calls.Load())
		}
		calls.Store(0)
		refusing := roundTripper(func(*http.Request) (*http.Response, error) {
			calls.Add(1)
			return textAnswer(503, "application/json", []byte(`{"RemoteException":{"exception":"X","message":"no"}}`)), nil
		})
		rm = must(NewRM(Options{Addresses: []string{"rm.test:8088"}, Transport: refusing}))
		if _, err := rm.Nodes(t.Context()); err == nil || calls.Load() != 1 {
			t.Errorf("explained 503: %v after %d calls, want one", err, calls.Load())
		}
	})
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"rm:8088":                  "http://rm:8088",
		" https://rm:8090/ ":       "https://rm:8090",
		"http://gate/yarn/":        "http://gate/yarn",
		"":                         "error",
		"ftp://rm":                 "error",
		"http://":                  "error",
		"http://:8088":             "error",
		"http://alice:secret@rm:1": "error",
		"http://a b":               "error",
		"http://rm:80 88\x7f":      "error",
	} {
		rm, err := NewRM(Options{Addresses: []string{address}})
		switch {
		case want == "error":
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v; want an error without the password", address, err)
			}
		case err != nil || rm.Address() != want:
			t.Errorf("%q: %v, %v; want %q", address, rm, err, want)
		}
	}
	if _, err := NewRM(Options{}); err == nil {
		t.Error("no address was accepted")
	}
}

// A daemon that does not say what it is, is none: a message that ends with "the
// ResourceManager is" would help nobody.
func TestSaysNotWhatItIs(t *testing.T) {
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		return textAnswer(200, "application/json", []byte("{}")), nil
	})
	o := Options{Addresses: []string{"http://rm.test:8088"}, Transport: answer, Retries: -1}
	rm, err := NewRM(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rm.Active(bg)
	checkError(t, err, []error{ErrBadAnswer}, []string{"http://rm.test:8088", "the answer has no haState"})
	_, err = rm.Node(bg, "n:1")
	checkError(t, err, []error{ErrBadAnswer}, []string{"http://rm.test:8088", "the answer has no state"})
	_, err = rm.App(bg, "application_1_0001")
	checkError(t, err, []error{ErrBadAnswer}, []string{"http://rm.test:8088", "the answer has no state"})
	history := must(NewHistory(o))
	_, err = history.Info(bg)
	checkError(t, err, []error{ErrBadAnswer}, []string{"http://rm.test:8088", "the answer has no hadoopVersion"})
}
