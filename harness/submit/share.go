package submit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"heddle/collectors/hdfs"
	"heddle/collectors/yarn"
)

// sharedFolder is the HDFS folder of files that many jobs, of all users, use.
const sharedFolder = "/heddle/shared"

// ownFolder is the name of the folder in a user's staging folder that takes the
// place of sharedFolder where that is not to be trusted.
const ownFolder = "heddle-shared"

// Share uploads a local file to HDFS, for the field Files of many jobs, and
// returns its path there. The path has the hash of the content: a file that is
// there already is not uploaded again, and is never changed. So NodeManagers,
// which share the file among all users, copy it once to each node. Two processes
// may share the same file at the same time.
//
// Tasks run what is in the file. So one that is there already is used only if it
// has the content, and if nobody but this user and HDFS's superuser can change
// it. Otherwise, or if this user may not write there, the file goes to a folder
// that only this user can enter.
func (s *Submitter) Share(ctx context.Context, local string) (string, error) {
	f, err := s.share(ctx, local)
	return f.path, err
}

func (s *Submitter) share(ctx context.Context, local string) (cacheFile, error) {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	f, err := s.upload(ctx, local)
	if err != nil {
		return cacheFile{}, fmt.Errorf("share %s with jobs: %w", local, err)
	}
	return f, nil
}

func (s *Submitter) upload(ctx context.Context, local string) (cacheFile, error) {
	in, err := os.Open(local)
	if err != nil {
		return cacheFile{}, err
	}
	defer in.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, in)
	if err != nil {
		return cacheFile{}, err
	}
	sum := hash.Sum(nil)
	name := hex.EncodeToString(sum[:8]) + "-" + filepath.Base(local)
	f, err := s.shareAs(ctx, path.Join(sharedFolder, name), in, size, sum)
	var distrust *distrustError
	if !errors.As(err, &distrust) && !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	if err := s.haveStaging(ctx); err != nil {
		return cacheFile{}, err
	}
	return s.shareAs(ctx, path.Join(yarn.StagingFolder(stagingRoot(s.site), s.user, ownFolder), name), in, size, sum)
}

// distrustError says why a file or folder in HDFS is not used.
type distrustError struct {
	path, why string
}

func (e *distrustError) Error() string {
	return fmt.Sprintf("hdfs %s %s; remove it, then it is made anew", e.path, e.why)
}

// shareAs makes the file with a name in HDFS, or checks the one that is there.
func (s *Submitter) shareAs(ctx context.Context, name string, content io.ReadSeeker, size int64, sum []byte) (cacheFile, error) {
	if err := s.trustAbove(ctx, name); err != nil {
		return cacheFile{}, err
	}
	have, err := s.files.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.uploadAs(ctx, name, content); err != nil {
			return cacheFile{}, err
		}
		if err := s.trustAbove(ctx, name); err != nil { // another user may have made a folder first
			return cacheFile{}, err
		}
		have, err = s.files.Stat(ctx, name)
	}
	if err != nil {
		return cacheFile{}, err
	}
	if err := s.trust(ctx, have); err != nil {
		return cacheFile{}, err
	}
	if have.Dir || have.Length != size {
		return cacheFile{}, &distrustError{name, fmt.Sprintf("has %d bytes, want %d", have.Length, size)}
	}
	if err := s.sameContent(ctx, have, sum); err != nil {
		return cacheFile{}, err
	}
	public, err := s.isPublic(ctx, have)
	return cacheFile{path: name, bytes: size, modifiedMs: have.Modified.UnixMilli(), public: public}, err
}

// trustAbove checks the folders above a file. A missing one has none above it
// that another user could have made. The staging folder is not checked again: it
// is entered by its user alone, and haveStaging has seen to that.
func (s *Submitter) trustAbove(ctx context.Context, name string) error {
	staging := yarn.StagingFolder(stagingRoot(s.site), s.user, "")
	for folder := path.Dir(name); folder != staging; folder = path.Dir(folder) {
		have, err := s.files.Stat(ctx, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if err := s.trust(ctx, have); err != nil {
				return err
			}
		}
		if folder == "/" {
			return nil
		}
	}
	return nil
}

// trust checks that only this user and HDFS's superuser, who owns its root
// folder, can change a file or folder.
func (s *Submitter) trust(ctx context.Context, f hdfs.File) error {
	root, err := s.files.Stat(ctx, "/")
	if err != nil {
		return err
	}
	switch {
	case f.Owner != s.user && f.Owner != root.Owner:
		return &distrustError{f.Path, fmt.Sprintf("belongs to %q, want user %q or HDFS's superuser %q", f.Owner, s.user, root.Owner)}
	case f.Mode&0o022 != 0:
		return &distrustError{f.Path, fmt.Sprintf("has mode %04o, so others may change it", f.Mode.Perm())}
	}
	return nil
}

// sameContent reads a file in HDFS and compares its hash, unless this Submitter
// has written or read the file and it is the same since.
func (s *Submitter) sameContent(ctx context.Context, f hdfs.File, sum []byte) error {
	if slices.ContainsFunc(s.read, func(r hdfs.File) bool { return sameFile(r, f) }) {
		return nil
	}
	in, err := s.files.Open(ctx, f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(reader(func(b []byte) (int, error) {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		return in.Read(b)
	}), f.Length+1))
	if err != nil {
		return fmt.Errorf("read hdfs %s: %w", f.Path, err)
	}
	if n != f.Length || !bytes.Equal(hash.Sum(nil), sum) {
		return &distrustError{f.Path, "has another content than its name says"}
	}
	again, err := s.files.Stat(ctx, f.Path)
	if err != nil {
		return err
	}
	if !sameFile(again, f) {
		return &distrustError{f.Path, "has changed while it was read"}
	}
	s.read = append(s.read, f)
	return nil
}

func sameFile(a, b hdfs.File) bool {
	return a.Path == b.Path && a.ID == b.ID && a.Length == b.Length && a.Modified.Equal(b.Modified)
}

// reader is a function that reads.
type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// uploadAs writes a file under a name of its own and renames it when it is
// complete. If another process was faster, its file stays: jobs may use it
// already, and a file with another time would break them.
func (s *Submitter) uploadAs(ctx context.Context, name string, content io.ReadSeeker) error {
	if err := s.files.Mkdir(ctx, path.Dir(name), 0o755); err != nil {
		return err
	}
	var random [6]byte
	rand.Read(random[:])
	part := fmt.Sprintf("%s/.%s.%x", path.Dir(name), path.Base(name), random)
	err := s.write(ctx, part, content, 0o755)
	if err == nil {
		err = s.files.SetReplication(ctx, part, s.replication())
	}
	var made hdfs.File
	if err == nil {
		made, err = s.files.Stat(ctx, part)
	}
	if err == nil {
		err = s.files.Rename(ctx, part, name)
	}
	if err == nil {
		made.Path = name
		s.read = append(s.read, made)
		return nil
	}
	remove := s.files.RemoveAll(context.WithoutCancel(ctx), part)
	if errors.Is(err, fs.ErrExist) {
		return remove
	}
	return errors.Join(err, remove)
}
