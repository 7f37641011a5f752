package runs

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFile is the file in heddle's state folder with the key of marks. Only its user can
// read it.
const keyFile = "run.key"

// Own reports whether this user's heddle began the run here, and which experiment and
// cluster files it has is as heddle wrote it. Those of others may name any program.
func (r *Run) Own() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key != nil
}

// mark is what only somebody with the key can make for what decides how the run goes on:
// its name, world and settings, and the hashes of the files at the top of its folder.
func (m *Manifest) mark(key []byte) string {
	h := hmac.New(sha256.New, key)
	// As JSON leaves out what is empty, what was read has the mark of what was written. A hash takes all.
	_ = json.NewEncoder(h).Encode(Manifest{Name: m.Name, World: m.World, Seed: m.Seed, Settings: m.Settings, Files: m.Files})
	return hex.EncodeToString(h.Sum(nil))
}

// ownKey returns the key of this user's marks, nil if there is none. With made, a missing
// one is made.
func ownKey(made bool) []byte {
	folder, err := StateFolder()
	if err != nil {
		return nil
	}
	path := filepath.Join(folder, keyFile)
	key, err := os.ReadFile(path)
	if made && errors.Is(err, fs.ErrNotExist) && os.MkdirAll(folder, 0o700) == nil {
		// A link makes the file appear whole, and only once.
		temp := path + "." + rand.Text()
		if os.WriteFile(temp, []byte(rand.Text()+rand.Text()), 0o600) == nil {
			_ = os.Link(temp, path) // another heddle may have been first, or the folder takes no file: then there is no mark
		}
		os.Remove(temp)
		key, err = os.ReadFile(path)
	}
	if err != nil || len(key) < sha256.Size {
		return nil
	}
	return key
}
