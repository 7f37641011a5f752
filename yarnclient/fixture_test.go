package yarnclient

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded answers every request with one recorded answer of testdata: *.json
// and *.xml are bodies of status 200, *.http are whole answers, .gz is
// unpacked.
func recorded(t *testing.T, name string) http.RoundTripper {
	t.Helper()
	body := readFixture(t, name)
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(name, ".http") {
			head, rest, _ := bytes.Cut(body, []byte("\r\n\r\n")) // curl has joined the chunks
			resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(head, "\r\n\r\n"...))), req)
			if err != nil {
				return nil, err
			}
			resp.Body, resp.ContentLength, resp.TransferEncoding = io.NopCloser(bytes.NewReader(rest)), int64(len(rest)), nil
			return resp, nil
		}
		kind := "application/json;charset=utf-8"
		if strings.Contains(name, ".xml") {
			kind = "application/xml; charset=utf-8"
		}
		return textAnswer(200, kind, body), nil
	})
}

func readFixture(t testing.TB, name string) []byte {
	t.Helper()
	b := must(os.ReadFile(filepath.Join("testdata", name)))
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func textAnswer(status int, kind string, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// fixtureRM and fixtureHistory get the recorded answer whatever they
// ask.
func fixtureRM(t *testing.T, name string) *RM {
	t.Helper()
	rm := must(NewRM(Options{Addresses: []string{"http://rm.test:8088"}, User: "root", Transport: recorded(t, name), Retries: -1}))
	return rm
}

func fixtureHistory(t *testing.T, name string) *History {
	t.Helper()
	h := must(NewHistory(Options{Addresses: []string{"jhs.test:19888"}, Transport: recorded(t, name), Retries: -1}))
	return h
}

var bg = context.Background()
