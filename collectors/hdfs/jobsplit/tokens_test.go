package jobsplit

import (
	"strings"
	"testing"
)

func TestToken(t *testing.T) {
	long := strings.Repeat("p", 300)
	file := "HDTS\x00\x02" + "\x01a\x02id\x02pw\x05OTHER\x00" + "\x01b\x03id2\x8e\x01\x2c" + long + "\x04KIND\x01s"
	id, password, err := Token([]byte(file), "KIND")
	if err != nil || string(id) != "id2" || string(password) != long {
		t.Errorf("token %s %s, error %v", id, password, err)
	}
	for i := range len(file) - 8 { // the service of the last token may be cut off
		if _, _, err := Token([]byte(file[:i]), "KIND"); err == nil {
			t.Errorf("a file that ends after %d bytes has a token", i)
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add([]byte("HDTS\x00\x01\x01a\x02id\x02pw\x05OTHER\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = Token(b, "KIND") })
}
