package ipc

import "testing"

// TestDigest is the example of RFC 2831, section 4.
func TestDigest(t *testing.T) {
	d := &Digest{
		User: "chris", Password: "secret", Realm: "elwood.innosoft.com", Nonce: "OA6MG9tEQGm2hh", CNonce: "OA6MHXh6VqTrRk",
		URI: "imap/elwood.innosoft.com", QOP: "auth",
	}
	if got, want := d.Response("AUTHENTICATE"), "d388dad90d4bbd760a152321f2143af7"; got != want {
		t.Errorf("the client's proof is %s, want %s", got, want)
	}
	if got, want := d.Response(""), "ea40f60335c427b5527b84dbabcdfffd"; got != want {
		t.Errorf("the server's proof is %s, want %s", got, want)
	}
}
