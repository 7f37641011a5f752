package lab

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Two things that Hadoop makes at its first start cost a lab seconds: HDFS is formatted
// by a JVM of its own, and the ResourceManager makes a key while all NodeManagers wait.
// Up writes both itself, for the Hadoop that it knows. Where Hadoop does not find them,
// it makes its own.

// writeFirstState writes what the NameNode and the ResourceManager keep, if the lab has
// none of it yet. Their folders are root's until they are given to the lab's user, so
// that no task can have put a link there.
func (l *Lab) writeFirstState() error {
	for folder, files := range map[string]func() (map[string][]byte, error){
		l.nodePath("master", "name"):    l.emptyHDFS,
		l.nodePath("master", "rmstore"): proxyCA,
	} {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		list, err := files()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(folder), 0o755)
		}
		if err != nil {
			return fmt.Errorf("write what %s has at first: %w", folder, err)
		}
		if err := writeFolder(folder, list); err != nil {
			return err
		}
	}
	return nil
}

// writeFolder makes a folder with files, all of them or none: half of a NameNode's files
// would count as data that must not be formatted.
func writeFolder(folder string, files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	half := folder + ".new"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(half, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
	return os.Rename(half, folder)
}

// emptyHDFS returns the files of a NameNode without files, as the default Hadoop formats it.
// Another Hadoop formats its own.
func (l *Lab) emptyHDFS() (map[string][]byte, error) {
	if l.Cfg.HadoopHome != "" || l.Cfg.Hadoop != DefaultHadoop {
		return nil, nil
	}
	image, err := hadoopFiles.ReadFile("hadoop/fsimage")
	if err != nil {
		return nil, err
	}
	const name = "fsimage_0000000000000000000"
	now := time.Now().UnixMilli()
	version := fmt.Sprintf("namespaceID=71006851\nblockpoolID=BP-%d-%s-%[1]d\nstorageType=NAME_NODE\ncTime=%[1]d\n"+
		"clusterID=CID-%[3]s\nlayoutVersion=-67\n",
		now, l.master().ip, rand.Text())
	return map[string][]byte{
		"current/" + name:          image,
		"current/" + name + ".md5": fmt.Appendf(nil, "%x *%s\n", md5.Sum(image), name),
		"current/seen_txid":        []byte("0\n"),
		"current/VERSION":          []byte(version),
	}, nil
}

// proxyCA returns the ResourceManager's certificate authority, in the forms in which it
// keeps it: a self-signed certificate and its private key. The authority is for
// ApplicationMasters that serve HTTPS; those of a lab do not.
func proxyCA() (map[string][]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	about := x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{OrganizationalUnit: []string{"heddle lab"}},
		NotBefore: now, NotAfter: now.AddDate(10, 0, 0),
		SignatureAlgorithm: x509.SHA512WithRSA, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, &about, &about, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return map[string][]byte{
		"FSRMStateRoot/ProxyCARoot/caCert":       cert,
		"FSRMStateRoot/ProxyCARoot/caPrivateKey": private,
	}, err
}
