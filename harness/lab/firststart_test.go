package lab

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFirstState: a new lab has an empty HDFS and a certificate authority whose key is that
// of its certificate, and another lab has others. What a lab has already stays, even where a
// task has put a link in its place.
func TestFirstState(t *testing.T) {
	read := func(l *Lab, name string) []byte {
		t.Helper()
		data := must(os.ReadFile(l.nodePath("master", name)))
		return data
	}
	const version, cert, key = "name/current/VERSION", "rmstore/FSRMStateRoot/ProxyCARoot/caCert",
		"rmstore/FSRMStateRoot/ProxyCARoot/caPrivateKey"
	var labs []*Lab
	for range 2 {
		l := &Lab{plan: newPlan(t.TempDir(), savedPlan{Cfg: Default(), Network: 100})}
		mustDo(t, l.writeFirstState())
		labs = append(labs, l)
	}
	parsed := must(x509.ParseCertificate(read(labs[0], cert)))
	private := must(x509.ParsePKCS8PrivateKey(read(labs[0], key)))
	if !private.(*rsa.PrivateKey).PublicKey.Equal(parsed.PublicKey) || !parsed.IsCA || time.Now().AddDate(9, 0, 0).After(parsed.NotAfter) {
		t.Errorf("certificate %+v is not of the key, of no authority, or ends soon", parsed)
	}
	if !labs[0].hasData() || bytes.Equal(read(labs[0], version), read(labs[1], version)) ||
		bytes.Equal(read(labs[0], key), read(labs[1], key)) {
		t.Error("the lab would format HDFS, or two labs have the same cluster or key")
	}

	before := read(labs[0], key)
	mustDo(t, labs[0].writeFirstState())
	if !bytes.Equal(before, read(labs[0], key)) {
		t.Error("the second start made another key")
	}
	outside := t.TempDir()
	store := labs[0].nodePath("master", "rmstore")
	mustDo(t, os.RemoveAll(store))
	mustDo(t, os.Symlink(filepath.Join(outside, "there"), store))
	mustDo(t, labs[0].writeFirstState())
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("wrote through a link: %v, %v", left, err)
	}

	own := Default()
	own.HadoopHome = "/opt/hadoop"
	l := &Lab{plan: newPlan(t.TempDir(), savedPlan{Cfg: own, Network: 100})}
	mustDo(t, l.writeFirstState())
	if l.hasData() {
		t.Error("a Hadoop of any version gets the image of another")
	}
	if !strings.Contains(string(read(labs[0], version)), "layoutVersion=-67\n") {
		t.Error("the layout is not that of the image")
	}
}

// TestHalfFirstState: what a start that was ended in the middle of it left does not count
// as HDFS's data.
func TestHalfFirstState(t *testing.T) {
	l := &Lab{plan: newPlan(t.TempDir(), savedPlan{Cfg: Default(), Network: 100})}
	half := filepath.Join(l.nodePath("master", "name")+".new", "current")
	mustDo(t, os.MkdirAll(half, 0o755))
	mustDo(t, os.WriteFile(filepath.Join(half, "stray"), nil, 0o600))
	if l.hasData() {
		t.Fatal("half of the first files count as data")
	}
	mustDo(t, l.writeFirstState())
	files, err := os.ReadDir(l.nodePath("master", "name", "current"))
	if err != nil || len(files) != 4 {
		t.Errorf("%d files: %v, %v", len(files), files, err)
	}
	if _, err := os.Stat(filepath.Dir(half)); !os.IsNotExist(err) {
		t.Errorf("the half is left: %v", err)
	}
}
