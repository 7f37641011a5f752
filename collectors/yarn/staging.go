// Package yarn collects what YARN and MapReduce leave in HDFS about a job: the
// staging folder that its client fills and the ApplicationMaster removes, and
// the history files that stay. It decides nothing and computes nothing; the
// REST interfaces are package yarnclient's.
package yarn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"heddle/collectors/hdfs/jobsplit"
)

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
		{"job.splitmetainfo", &s.SplitMetaInfo},
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

// Save writes the files into folder, which must exist.
func (s Staged) Save(folder string) error {
	for name, data := range map[string][]byte{"job.xml": s.JobXML, "job.split": s.JobSplit, "job.splitmetainfo": s.SplitMetaInfo} {
		if err := os.WriteFile(path.Join(folder, name), data, 0o644); err != nil {
			return fmt.Errorf("keep staged %s: %w", name, err)
		}
	}
	return nil
}
