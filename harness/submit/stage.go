package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
)

// files is what a Submitter needs of HDFS.
type files interface {
	Stat(ctx context.Context, name string) (hdfs.File, error)
	Mkdir(ctx context.Context, folder string, mode fs.FileMode) error // makes missing folders above it too; no error if the folder exists
	Chmod(ctx context.Context, name string, mode fs.FileMode) error
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	Write(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error
	SetReplication(ctx context.Context, name string, replicas int) error
	Rename(ctx context.Context, from, to string) error  // fs.ErrExist if the new name exists
	RemoveAll(ctx context.Context, folder string) error // no error if it does not exist
}

// store is the HDFS of a cluster.
type store struct{ *hdfs.Client }

func (s store) Write(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	return s.WriteFile(ctx, name, r, hdfs.WriteOptions{Mode: mode})
}

// Permissions of what Hadoop's client stages. Only the job's user can enter the
// folders, so the files are as private.
const (
	folderMode = 0o700
	fileMode   = 0o644
)

// haveStaging makes the user's staging folder, or checks it as Hadoop's client
// does: another user's folder is refused, as its owner could change what is
// staged.
func (s *Submitter) haveStaging(ctx context.Context) error {
	s.staging.Lock()
	defer s.staging.Unlock()
	if s.ready {
		return nil
	}
	folder := yarn.StagingFolder(stagingRoot(s.site), s.user, "")
	have, err := s.files.Stat(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.files.Mkdir(ctx, folder, folderMode); err != nil {
			return fmt.Errorf("make staging folder hdfs %s: %w", folder, err)
		}
		have, err = s.files.Stat(ctx, folder)
	}
	switch {
	case err != nil:
		return fmt.Errorf("staging folder: %w", err)
	case !have.Dir || have.Owner != s.user:
		return fmt.Errorf("staging folder hdfs %s belongs to %q; want a folder of user %q", folder, have.Owner, s.user)
	case have.Mode.Perm() != folderMode:
		if err := s.files.Chmod(ctx, folder, folderMode); err != nil {
			return fmt.Errorf("protect staging folder hdfs %s: %w", folder, err)
		}
	}
	s.ready = true
	return nil
}

// cacheFile is a file in HDFS that NodeManagers copy to the nodes of a job, as
// it was when the job was submitted.
type cacheFile struct {
	path, link        string
	bytes, modifiedMs int64
	public            bool // whether all users of a node share its copy
}

// staged are the files of a job that is ready to be submitted.
type staged struct {
	files []cacheFile // files of the job's tasks
	own   []cacheFile // job.xml, job.split and job.splitmetainfo
}

// JobXML is the name of a job's configuration in its staging folder.
const JobXML = "job.xml"

// stage writes a job's files into its staging folder.
func (s *Submitter) stage(ctx context.Context, j Job, job Submitted) (staged, error) {
	var out staged
	if j.Output != "" {
		if _, err := s.files.Stat(ctx, j.Output); err == nil {
			return out, fmt.Errorf("output folder hdfs %s exists; want a new one", j.Output)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return out, fmt.Errorf("output folder: %w", err)
		}
	}
	for _, f := range j.Files {
		c, err := s.cacheFile(ctx, f.Path, f.Link)
		if err != nil {
			return out, fmt.Errorf("file of the tasks: %w", err)
		}
		out.files = append(out.files, c)
	}
	splits, metas, err := jobsplit.Encode(j.Splits, j.Hosts)
	if err != nil {
		return out, err
	}
	conf, err := s.jobConf(j, job, out.files).XML()
	if err != nil {
		return out, err
	}
	if err := s.begin(ctx, job.Folder, j.Settings["mapreduce.job.tags"], conf); err != nil {
		return out, fmt.Errorf("make staging folder hdfs %s: %w", job.Folder, err)
	}
	own, err := s.cacheFile(ctx, path.Join(job.Folder, JobXML), JobXML)
	if err != nil {
		return out, fmt.Errorf("stage %s: %w", JobXML, err)
	}
	own.public = false
	out.own = []cacheFile{own}
	for _, f := range []struct {
		name    string
		content []byte
	}{{"job.split", splits}, {"job.splitmetainfo", jobsplit.AppendMeta(nil, metas)}} {
		c, err := s.stageFile(ctx, path.Join(job.Folder, f.name), f.content)
		if err != nil {
			return out, fmt.Errorf("stage %s: %w", f.name, err)
		}
		out.own = append(out.own, c)
	}
	return out, nil
}

// begin makes a job's staging folder with job.xml in it. Package change knows the job
// by its tags, if it has any, which at first are in the folder's name and then in
// job.xml: a crash at any moment leaves nothing that is not known.
func (s *Submitter) begin(ctx context.Context, folder, tags string, conf []byte) error {
	first := folder
	if tags != "" {
		first += "." + url.PathEscape(tags)
	}
	if err := s.files.Mkdir(ctx, first, folderMode); err != nil {
		return err
	}
	err := s.Put(ctx, path.Join(first, JobXML), conf)
	if err == nil && first != folder {
		err = s.files.Rename(ctx, first, folder)
	}
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyUp)
		defer cancel()
		if rerr := s.files.RemoveAll(clean, first); rerr != nil {
			err = fmt.Errorf("%w; hdfs %s is left, remove it: %w", err, first, rerr)
		}
	}
	return err
}

// Put writes a small file to HDFS, such as one that tells a job's tasks what to
// do. If a DataNode is gone or answers too late, it tries again: many nodes that
// fetch the program of a job for the first time keep a small cluster's network
// busy for that long.
func (s *Submitter) Put(ctx context.Context, name string, content []byte) error {
	return s.write(ctx, name, bytes.NewReader(content), fileMode)
}

func (s *Submitter) write(ctx context.Context, name string, content io.ReadSeeker, mode fs.FileMode) error {
	return hdfs.Again(ctx, func() error {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return s.files.Write(ctx, name, content, mode)
	})
}

func (s *Submitter) stageFile(ctx context.Context, name string, content []byte) (cacheFile, error) {
	if err := s.Put(ctx, name, content); err != nil {
		return cacheFile{}, err
	}
	if path.Base(name) == "job.split" { // every task reads it
		if err := s.files.SetReplication(ctx, name, s.replication()); err != nil {
			return cacheFile{}, err
		}
	}
	have, err := s.files.Stat(ctx, name)
	if err != nil {
		return cacheFile{}, err
	}
	return cacheFile{path: name, link: path.Base(name), bytes: have.Length, modifiedMs: have.Modified.UnixMilli()}, nil
}

// replication is the number of replicas of files that many nodes of a job read.
func (s *Submitter) replication() int {
	if n, err := strconv.Atoi(strings.TrimSpace(text(s.site, "mapreduce.client.submit.file.replication", ""))); err == nil && n > 0 {
		return n
	}
	return 10
}

// cacheFile returns the file at a path in HDFS as the tasks of a job will see
// it.
func (s *Submitter) cacheFile(ctx context.Context, name, link string) (cacheFile, error) {
	if s.jar.path != "" && name == s.jar.path {
		f := s.jar
		f.link = link
		return f, nil
	}
	f, err := s.files.Stat(ctx, name)
	if err != nil {
		return cacheFile{}, err
	}
	if f.Dir {
		return cacheFile{}, fmt.Errorf("hdfs %s is a folder; want a file", name)
	}
	public, err := s.isPublic(ctx, f)
	return cacheFile{name, link, f.Length, f.Modified.UnixMilli(), public}, err
}

// isPublic reports whether every user may read a file: all may read it and
// enter each folder above it. NodeManagers refuse to share other files.
func (s *Submitter) isPublic(ctx context.Context, f hdfs.File) (bool, error) {
	if f.Mode&0o004 == 0 {
		return false, nil
	}
	for folder := path.Dir(f.Path); ; folder = path.Dir(folder) {
		above, err := s.files.Stat(ctx, folder)
		if err != nil || above.Mode&0o001 == 0 {
			return false, err
		}
		if folder == "/" {
			return true, nil
		}
	}
}

// streamingJar returns the path of the Streaming jar in a Hadoop home.
func streamingJar(home string) (string, error) {
	pattern := filepath.Join(home, "share/hadoop/tools/lib/hadoop-streaming-*.jar")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("submit: %d files %s; want one: jobs' commands run by Hadoop Streaming, so hadoop.home of the cluster "+
			"file must have its jar", len(found), pattern)
	}
	return found[0], nil
}
