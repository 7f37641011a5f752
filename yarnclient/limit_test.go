package yarnclient

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestBombs: answers of some kilobytes on the wire that unpack to a list of
// millions, and without an end.
func TestBombs(t *testing.T) {
	for name, c := range map[string]struct {
		elements int // negative: endless
		says     string
		maxBytes uint64
	}{
		"small elements become large ones": {2_000_000, "more than 256 MiB of memory", 2 << 30},
		"without an end":                   {-1, "answers are limited to 256 MiB", 3 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			if c.elements < 0 && os.Getenv("HEDDLE_LONG") != "1" {
				t.Skip("unpacks 256 MiB: set HEDDLE_LONG=1")
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", asJSON)
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				fmt.Fprint(z, `{"apps":{"app":[`)
				const many = 1000
				text := strings.Repeat(`{"a":1},`, many)
				for n := 0; n != c.elements; n += many {
					if _, err := io.WriteString(z, text); err != nil {
						return
					}
				}
				fmt.Fprint(z, `{}]}}`)
				z.Close()
			}))
			defer s.Close()
			rm, err := NewRM(Options{Addresses: []string{s.URL}, Retries: -1, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer rm.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = rm.Apps(t.Context(), AppFilter{})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrBadAnswer) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), s.URL) {
				t.Errorf("error %v, want ErrBadAnswer that says %q and the address", err, c.says)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > c.maxBytes {
				t.Errorf("%d MiB allocated in all, want at most %d", n>>20, c.maxBytes>>20)
			}
		})
	}
}

// TestAsksForCompressedAnswers has a server that sees whether a client takes gzip. Hadoop
// then compresses its answers: a list of nodes to a twentieth.
func TestAsksForCompressedAnswers(t *testing.T) {
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Type", asJSON)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"nodes":{"node":[{"id":"n1:1","nodeHostName":"n1","state":"RUNNING"}]}}`)
		z.Close()
	}))
	defer s.Close()
	rm := must(NewRM(Options{Addresses: []string{s.URL}, Retries: -1}))
	defer rm.Close()
	nodes, err := rm.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Host != "n1" {
		t.Fatalf("%v, %v", nodes, err)
	}
	if asked != "gzip" {
		t.Errorf("the client takes %q, want gzip", asked)
	}
}
