package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"heddle/collectors/yarn"
	"heddle/harness/clients"
)

// RemoveStaged removes the staging folders of jobs that nobody will remove any
// more, and returns their paths. Such a folder is left if a job's client is
// killed before it has submitted the job, or if a job is killed before its
// ApplicationMaster has started. It is in the staging folder of the cluster
// file's user, and the function left says of one of the job's YARN tags that it
// is of an ended process. All applications with such a tag must have ended.
func RemoveStaged(ctx context.Context, c *clients.Clients, left func(tag string) bool) (removed []string, err error) {
	site, err := readSite(c.Config.Hadoop.Conf)
	if err != nil {
		return nil, err
	}
	root := yarn.StagingFolder(stagingRoot(site), c.Config.User, "")
	names, err := c.HDFS.Names(ctx, root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for staging folders of killed jobs: %w", err)
	}
	files, err := c.HDFS.Files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		folder := path.Join(root, name)
		text, err := files.ReadFile(path.Join(folder, jobXML))
		if err != nil { // an ended job's ApplicationMaster removes its folder meanwhile, or the folder is not a job's
			continue
		}
		conf, err := yarn.ParseConf(bytes.NewReader(text))
		if err != nil || !slices.ContainsFunc(strings.Split(conf["mapreduce.job.tags"], ","), left) {
			continue
		}
		if err := c.HDFS.RemoveAll(ctx, folder); err != nil {
			return removed, fmt.Errorf("remove staging folder of a killed job: %w", err)
		}
		removed = append(removed, folder)
	}
	return removed, nil
}
