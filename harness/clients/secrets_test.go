package clients

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/harness/config"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// TestSecrets: no key, ticket, cookie or token gets into an error or a log, also if a
// daemon sends back all that it was sent.
func TestSecrets(t *testing.T) {
	const password, cookie, token, key = "the-known-password", "u=alice&p=alice&t=kerberos&s=KNOWNCOOKIE=", "S05PV04gVE9LRU4",
		"KNOWN KEY OF THE MASTER"
	kdc := kdctest.Start(t, "alice", "HTTP/127.0.0.1")
	right, wrong := kdc.Keytab(t, "alice", ""), kdc.Keytab(t, "bob", password)
	kdc.WantsProof.Store(true)
	var mu sync.Mutex
	secrets := map[string]string{
		"password": password, "token": token, "key": key, "key as sent": base64.RawURLEncoding.EncodeToString([]byte(key)),
		"cookie": "KNOWNCOOKIE",
	}
	for i, path := range []string{right, wrong} {
		data := errtest.Must(os.ReadFile(path))
		raw := data[len(data)-32:] // of AES 256
		if bytes.Count(raw, []byte{0}) > 8 {
			raw = data[len(data)-36 : len(data)-4] // before the version of four bytes
		}
		secrets[fmt.Sprint("raw key ", i)], secrets[fmt.Sprint("key in hex ", i)] = string(raw[:24]), hex.EncodeToString(raw[:24])
		secrets[fmt.Sprint("key in base64 ", i)] = base64.StdEncoding.EncodeToString(raw[:24])
	}
	proofs := 0
	echo := func(status int, kind string, shape func(string) string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			all := string(body)
			for name, values := range r.Header {
				all += "\n" + name + ": " + strings.Join(values, " ")
			}
			if _, sent, ok := strings.Cut(r.Header.Get("Authorization"), "Negotiate "); ok {
				mu.Lock()
				proofs++
				secrets[fmt.Sprint("ticket ", proofs)] = sent[20:60]
				mu.Unlock()
			}
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: cookie, Quoted: true})
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, shape(all))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	plain := func(all string) string { return all }
	remote := func(all string) string {
		return fmt.Sprintf(`{"RemoteException":{"exception":"WebApplicationException","message":%q,"javaClassName":"a"}}`, all)
	}
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	said := ""
	for _, x := range []struct{ url, keytab, principal string }{
		{echo(500, "text/plain", plain), right, "alice"},
		{echo(400, "application/json", remote), right, "alice"},
		{echo(401, "text/html", func(all string) string { return "<html>" + all + "</html>" }), right, "alice"},
		{echo(200, "application/json", plain), right, "alice"},
		{echo(200, "text/html", func(all string) string { return "<html><body>" + all }), right, "alice"},
		{echo(500, "text/plain", plain), wrong, "bob"},
		{echo(500, "text/plain", plain), wrong, "alice"},
	} {
		c := errtest.Must(To(&config.Cluster{
			Name: "blue", User: "alice", ResourceManagers: []string{x.url}, HistoryServer: x.url, NameNodes: []string{"127.0.0.1:9"},
			Security: config.SecurityKerberos,
			Kerberos: &config.Kerberos{Conf: kdc.Conf, Principal: x.principal, Keytab: x.keytab, NameNode: "nn/_HOST"},
		}, Patience{Once: true, Call: time.Second}))
		for range 2 { // with a ticket, and with a cookie
			for _, ask := range []func(context.Context) error{
				func(ctx context.Context) error { _, err := c.RM.Info(ctx); return err },
				func(ctx context.Context) error { _, err := c.RM.Nodes(ctx); return err },
				func(ctx context.Context) error { _, err := c.RM.AM("application_1_0001").Job(ctx); return err },
				func(ctx context.Context) error { _, err := c.HDFS.Stat(ctx, "/"); return err },
				func(ctx context.Context) error {
					return c.RM.Submit(ctx, yarnclient.Submission{
						ID: "application_1_0001", Command: "true", Tokens: map[string]string{"a": token},
						Secrets: map[string][]byte{"k": []byte(key)},
					})
				},
			} {
				said += fmt.Sprintf("%v\n%+v\n", ask(t.Context()), c.Config)
			}
		}
		c.Close()
	}
	said += logged.String()
	if proofs == 0 || !strings.Contains(said, "…") {
		t.Errorf("%d proofs were sent back, and nothing is blotted out: the test shows nothing", proofs)
	}
	for name, secret := range secrets {
		if at := strings.Index(said, secret); at >= 0 {
			t.Errorf("the %s is in what was said: %q", name, said[max(0, at-200):min(len(said), at+100)])
		}
	}
}
