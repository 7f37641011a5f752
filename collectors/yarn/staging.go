// Package yarn reads the files that a MapReduce job keeps in HDFS. The files in
// the job's staging folder are written by the client and removed by the
// ApplicationMaster. The history files stay. The package also formats a job's
// configuration. It does not evaluate the files. Package yarnclient has the REST
// clients.
package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
)

const splitMetaInfo = "job.splitmetainfo"

// Staged is the content of the files that a job's client passes to the job's
// ApplicationMaster. The files exist from before the application's start until
// its end.
type Staged struct {
	JobXML        []byte // content of the file job.xml, the job's configuration
	JobSplit      []byte // content of the file job.split, which says what each map reads
	SplitMetaInfo []byte // content of the file job.splitmetainfo, which lists the hosts of each map's input
}

// StagingFolder returns the HDFS folder in which a job's client puts the files
// for the ApplicationMaster. root is yarn.app.mapreduce.am.staging-dir.
func StagingFolder(root, user, job string) string {
	return path.Join(root, user, ".staging", job)
}

// ReadStaged reads the files in a job's staging folder. The error wraps
// fs.ErrNotExist if the job has ended or its client has not written the files
// yet.
func ReadStaged(ctx context.Context, c *hdfs.Client, folder string) (Staged, error) {
	var s Staged
	for _, f := range []struct {
		name string
		into *[]byte
	}{
		{splitMetaInfo, &s.SplitMetaInfo},
		{"job.split", &s.JobSplit},
		{"job.xml", &s.JobXML},
	} {
		data, err := c.ReadFile(ctx, path.Join(folder, f.name))
		if err != nil {
			return Staged{}, fmt.Errorf("read staged %s: %w", f.name, err)
		}
		*f.into = data
	}
	return s, nil
}

// Splits returns the job's input splits in the order of its maps. meta has the
// hosts of each split. If the Java class of a split is not supported, Splits
// returns meta together with an error.
func (s Staged) Splits() (meta []jobsplit.Meta, splits []jobsplit.Split, err error) {
	meta, err = jobsplit.ParseMeta(bytes.NewReader(s.SplitMetaInfo))
	if err != nil {
		return nil, nil, err
	}
	splits, err = jobsplit.Parse(s.JobSplit, meta)
	return meta, splits, err
}

// Conf returns the job's configuration from job.xml.
func (s Staged) Conf() (Conf, error) { return ParseConf(bytes.NewReader(s.JobXML)) }

// Save writes copies of the files from the job's staging folder into a local
// folder. Only the owner may read them, as in HDFS, since a job's
// configuration may contain passwords.
func (s Staged) Save(folder *os.Root) error {
	for name, data := range map[string][]byte{"job.xml": s.JobXML, "job.split": s.JobSplit, splitMetaInfo: s.SplitMetaInfo} {
		if err := folder.WriteFile(name, data, 0o600); err != nil {
			return fmt.Errorf("keep staged %s: %w", name, err)
		}
	}
	return nil
}

// RewriteSplits replaces the content of a job's file job.splitmetainfo. It
// fails if the content is not equal to the parameter was; the parameter now is
// the new content. Call it before the job's ApplicationMaster starts, since
// the ApplicationMaster reads the file only at its start. The file keeps its
// modification time, since NodeManagers refuse a file whose time has changed.
// A reader sees either the whole old file or the whole new one. At the end,
// RewriteSplits reads the file back and compares it with the new content.
func RewriteSplits(ctx context.Context, c *hdfs.Client, folder string, was, now []byte) error {
	if err := rewriteSplits(ctx, c, path.Join(folder, splitMetaInfo), was, now); err != nil {
		return fmt.Errorf("rewrite %s: %w", splitMetaInfo, err)
	}
	return nil
}

func rewriteSplits(ctx context.Context, c *hdfs.Client, name string, was, now []byte) error {
	files, err := c.Files(ctx)
	if err != nil {
		return err
	}
	before, err := c.Stat(ctx, name)
	if err != nil {
		return err
	}
	if content, err := c.ReadFile(ctx, name); err != nil {
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
	if err = c.SetModified(ctx, part, before.Modified); err == nil {
		err = files.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, c.RemoveAll(context.WithoutCancel(ctx), part))
	}
	after, err := c.Stat(ctx, name)
	if err != nil {
		return err
	}
	content, err := c.ReadFile(ctx, name)
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
