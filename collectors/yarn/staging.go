// Package yarn collects what YARN and MapReduce leave in HDFS about a job: the
// staging folder that its client fills and the ApplicationMaster removes, and
// the history files that stay. It decides nothing and computes nothing; the
// REST interfaces are package yarnclient's.
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

// Staged is what a job's client hands to its ApplicationMaster. The files are
// there from before the application exists until it ends.
type Staged struct {
	JobXML        []byte // job.xml
	JobSplit      []byte // job.split
	SplitMetaInfo []byte // job.splitmetainfo
}

// StagingFolder is where a job's client puts its files. root is
// yarn.app.mapreduce.am.staging-dir.
func StagingFolder(root, user, job string) string {
	return path.Join(root, user, ".staging", job)
}

// ReadStaged copies a job's staged files. An error wraps fs.ErrNotExist where
// the job has ended or has not got that far.
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

// Splits are the job's input splits, in the order of its maps. Where the kind
// of split is not known, the error says so and meta alone is returned.
func (s Staged) Splits() (meta []jobsplit.Meta, splits []jobsplit.Split, err error) {
	meta, err = jobsplit.ParseMeta(bytes.NewReader(s.SplitMetaInfo))
	if err != nil {
		return nil, nil, err
	}
	splits, err = jobsplit.Parse(s.JobSplit, meta)
	return meta, splits, err
}

// Conf is the job's configuration.
func (s Staged) Conf() (Conf, error) { return ParseConf(bytes.NewReader(s.JobXML)) }

// Save writes the files into folder. Nobody else may read them, as in HDFS: a
// job's configuration may hold passwords.
func (s Staged) Save(folder *os.Root) error {
	for name, data := range map[string][]byte{"job.xml": s.JobXML, "job.split": s.JobSplit, splitMetaInfo: s.SplitMetaInfo} {
		if err := folder.WriteFile(name, data, 0o600); err != nil {
			return fmt.Errorf("keep staged %s: %w", name, err)
		}
	}
	return nil
}

// RewriteSplits replaces a job's job.splitmetainfo, which must hold was, by now.
// That has to be done before the job's ApplicationMaster starts: it is the
// only reader. NodeManagers refuse a file of another modification time than the
// client's, so that is kept; nobody sees a part of the file, or another time.
// What was written is read back and compared.
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
		return fmt.Errorf("%s was changed by somebody else", name)
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
		return fmt.Errorf("read %d bytes back from %s that are not the %d written", len(content), name, len(now))
	case !after.Modified.Equal(before.Modified) || after.Mode != before.Mode:
		return fmt.Errorf("%s has time %v and mode %v, want %v and %v", name, after.Modified, after.Mode, before.Modified, before.Mode)
	}
	return nil
}
