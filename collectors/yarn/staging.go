// Package yarn collects the files of a job that YARN and MapReduce keep in
// HDFS: those in the staging folder, which the client writes and the
// ApplicationMaster removes, and the history files, which stay. It does not
// evaluate them. Package yarnclient has the REST clients.
package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
)

const splitMetaInfo = "job.splitmetainfo"

// Staged is the files that a job's client passes to its ApplicationMaster. They
// exist from before the application's start until its end.
type Staged struct {
	JobXML        []byte // content of job.xml
	JobSplit      []byte // content of job.split
	SplitMetaInfo []byte // content of job.splitmetainfo
}

// StagingFolder returns the folder in which a job's client puts its files. root
// is yarn.app.mapreduce.am.staging-dir.
func StagingFolder(root, user, job string) string {
	return path.Join(root, user, ".staging", job)
}

// ReadStaged reads a job's staged files. The error wraps fs.ErrNotExist if the
// job has ended or has not written them yet.
func ReadStaged(ctx context.Context, files *colinmarc.Client, folder string) (Staged, error) {
	var s Staged
	for _, f := range []struct {
		name string
		into *[]byte
	}{
		{splitMetaInfo, &s.SplitMetaInfo},
		{"job.split", &s.JobSplit},
		{"job.xml", &s.JobXML},
	} {
		if err := ctx.Err(); err != nil {
			return Staged{}, err
		}
		data, err := files.ReadFile(path.Join(folder, f.name))
		if err != nil {
			return Staged{}, fmt.Errorf("read staged %s: %w", f.name, err)
		}
		*f.into = data
	}
	return s, nil
}

// Splits returns the job's input splits in the order of its maps. If the class
// of a split is not supported, it returns meta and an error.
func (s Staged) Splits() (meta []jobsplit.Meta, splits []jobsplit.Split, err error) {
	meta, err = jobsplit.ParseMeta(bytes.NewReader(s.SplitMetaInfo))
	if err != nil {
		return nil, nil, err
	}
	splits, err = jobsplit.Parse(s.JobSplit, meta)
	return meta, splits, err
}

// Conf returns the job's configuration.
func (s Staged) Conf() (Conf, error) { return ParseConf(bytes.NewReader(s.JobXML)) }

// Save writes the files into folder. Only the owner may read them, as in HDFS:
// a job's configuration may contain passwords.
func (s Staged) Save(folder *os.Root) error {
	for name, data := range map[string][]byte{"job.xml": s.JobXML, "job.split": s.JobSplit, splitMetaInfo: s.SplitMetaInfo} {
		if err := folder.WriteFile(name, data, 0o600); err != nil {
			return fmt.Errorf("keep staged %s: %w", name, err)
		}
	}
	return nil
}

// RewriteSplits replaces the content of a job's job.splitmetainfo, which must
// be was, by now. It must do so before the job's ApplicationMaster starts, the
// only reader. The file keeps its modification time, as NodeManagers refuse a
// file with another one. Readers see the old or the new file as a whole.
// RewriteSplits reads the new file back and compares it.
func RewriteSplits(ctx context.Context, c *hdfs.Client, folder string, was, now []byte) error {
	if err := rewriteSplits(ctx, c, path.Join(folder, splitMetaInfo), was, now); err != nil {
		return fmt.Errorf("rewrite %s: %w", splitMetaInfo, err)
	}
	return nil
}

func rewriteSplits(ctx context.Context, c *hdfs.Client, name string, was, now []byte) error {
	files, err := c.Files()
	if err != nil {
		return err
	}
	before, err := c.Stat(ctx, name)
	if err != nil {
		return err
	}
	if content, err := files.ReadFile(name); err != nil {
		return err
	} else if !bytes.Equal(content, was) {
		return fmt.Errorf("%s: another process has changed it", name)
	}
	part := path.Join(path.Dir(name), ".heddle."+path.Base(name))
	err = c.WriteFile(ctx, part, bytes.NewReader(now), hdfs.WriteOptions{
		Replication: before.Replication, BlockSize: before.BlockSize, Mode: before.Mode,
	})
	if err != nil {
		return err
	}
	if err = c.SetTimes(ctx, part, before.Modified, time.Time{}); err == nil {
		err = files.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, files.Remove(part))
	}
	after, err := c.Stat(ctx, name)
	if err != nil {
		return err
	}
	content, err := files.ReadFile(name)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(content, now):
		return fmt.Errorf("%s: the %d bytes read back differ from the %d written", name, len(content), len(now))
	case !after.Modified.Equal(before.Modified) || after.Mode != before.Mode:
		return fmt.Errorf("%s: time %v and mode %v: want %v and %v", name, after.Modified, after.Mode, before.Modified, before.Mode)
	}
	return nil
}
