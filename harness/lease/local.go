package lease

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Local is a folder of this machine in place of HDFS, for a cluster that has none. It is a
// Files. Only this user may read it.
type Local string

func (f Local) at(name string) string {
	return filepath.Join(string(f), filepath.FromSlash(path.Clean("/"+name)))
}

// MkdirAll implements Files.
func (f Local) MkdirAll(_ context.Context, name string) error { return os.MkdirAll(f.at(name), 0o700) }

// Create implements Files.
func (f Local) Create(_ context.Context, name string, data []byte) error {
	file, err := os.OpenFile(f.at(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// Read implements Files.
func (f Local) Read(_ context.Context, name string) ([]byte, error) { return os.ReadFile(f.at(name)) }

// Names implements Files.
func (f Local) Names(_ context.Context, name string) (names []string, err error) {
	entries, err := os.ReadDir(f.at(name))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Modified implements Files.
func (f Local) Modified(_ context.Context, name string) (time.Time, error) {
	info, err := os.Stat(f.at(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Rename implements Files.
func (f Local) Rename(_ context.Context, from, to string) error {
	return os.Rename(f.at(from), f.at(to))
}

// RemoveAll implements Files.
func (f Local) RemoveAll(_ context.Context, name string) error { return os.RemoveAll(f.at(name)) }
