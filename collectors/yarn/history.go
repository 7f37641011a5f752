package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"heddle/collectors/hdfs"
	"heddle/traces/jhist"
)

// History is the history of an ended MapReduce job, as the job's
// ApplicationMaster wrote it to HDFS.
type History struct {
	Name    string // name of the history file, JOBID-….jhist
	Events  []byte // content of the .jhist file, which has the job's events
	ConfXML []byte // content of JOBID_conf.xml; nil if the file is gone
	// Job is what the events say, if there is no file of them.
	Job *jhist.Job
}

// jobID matches the ids of MapReduce jobs. Ids become parts of file paths, so
// any other form is refused.
var jobID = regexp.MustCompile(`^job_[0-9]{1,19}_[0-9]{4,10}$`)

// historyName matches the part of a history file's name after the job's id:
// times, user, job name, status and queue, percent-encoded by Hadoop.
var historyName = regexp.MustCompile(`^-[A-Za-z0-9._*%+-]{1,220}\.jhist$`)

// isHistory reports whether a file name is the name of the given job's history
// file. Any other form of name is refused, since callers make file paths from
// the name.
func isHistory(name, job string) bool {
	rest, ok := strings.CutPrefix(name, job)
	return ok && historyName.MatchString(rest)
}

// ErrNoHistory means that HDFS has no history file of the job, or does not
// have it yet.
var ErrNoHistory = errors.New("no history of the job")

// HistoryFolders are the HDFS folders that contain history files of ended jobs.
// They are set by mapreduce.jobhistory.intermediate-done-dir and
// mapreduce.jobhistory.done-dir.
type HistoryFolders struct {
	Intermediate string // folder of jobs that have just ended, ordered by user; the history server moves their files from here to Done
	Done         string // folder into which the history server moves history files, ordered by date and job number
}

// FoldersFrom returns the HDFS folders that contain history files. It takes
// them from the history server's settings, which the function get returns by
// name. By default both folders are below root, the value of
// yarn.app.mapreduce.am.staging-dir.
func FoldersFrom(get func(name string) string, root string) HistoryFolders {
	folder := func(property, otherwise string) string {
		return hdfs.BarePath(cmp.Or(get(property), path.Join(root, otherwise)))
	}
	return HistoryFolders{
		Intermediate: folder("mapreduce.jobhistory.intermediate-done-dir", "history/done_intermediate"),
		Done:         folder("mapreduce.jobhistory.done-dir", "history/done"),
	}
}

// ReadHistory reads the history files of an ended job from HDFS. job is an id
// such as job_1_0002. The error wraps ErrNoHistory if HDFS has no history file
// of the job, or does not have it yet.
func ReadHistory(ctx context.Context, c *hdfs.Client, folders HistoryFolders, user, job string) (History, error) {
	if !jobID.MatchString(job) {
		return History{}, fmt.Errorf("read history: %q: want a job id, job_TIMESTAMP_NUMBER", job)
	}
	h, err := readHistoryIn(ctx, c, path.Join(folders.Intermediate, user), job)
	if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	// The history server orders files by date and by the upper digits of the
	// job's serial number. The date of the job is not known. So the folders of
	// all dates are searched, which are few.
	serial := serialFolder(job)
	days, err := dayFolders(ctx, c, folders.Done)
	if err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	for _, day := range slices.Backward(days) {
		h, err := readHistoryIn(ctx, c, path.Join(day, serial), job)
		if !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
	}
	return History{}, fmt.Errorf("read history of %s: %w in %s or %s", job, ErrNoHistory, folders.Intermediate, folders.Done)
}

// readHistoryIn reads a job's history files from one HDFS folder. It returns
// fs.ErrNotExist if the folder has no history file of the job.
func readHistoryIn(ctx context.Context, c *hdfs.Client, folder, job string) (History, error) {
	names, err := c.Names(ctx, folder)
	if err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	var h History
	for _, name := range names {
		switch {
		case isHistory(name, job):
			h.Name = name
		case name == job+"_conf.xml":
			// It is no error if the file JOBID_conf.xml cannot be read: the job's
			// events are in the .jhist file.
			h.ConfXML, _ = c.ReadFile(ctx, path.Join(folder, name))
		}
	}
	if h.Name == "" {
		return History{}, fmt.Errorf("read history of %s in %s: %w", job, folder, fs.ErrNotExist)
	}
	if h.Events, err = c.ReadFile(ctx, path.Join(folder, h.Name)); err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	return h, nil
}

// serialFolder returns the name of the folder that has a job's files below the
// folder of their date. It is the job's serial number, written with at least
// nine digits, without the last three digits: 000012 for job 12345.
func serialFolder(job string) string {
	serial := job[strings.LastIndexByte(job, '_')+1:]
	if n := 9 - len(serial); n > 0 {
		serial = strings.Repeat("0", n) + serial
	}
	return serial[:len(serial)-3]
}

// dayFolders lists the folders of single days below the history server's folder
// done: done/yyyy/mm/dd, oldest first.
func dayFolders(ctx context.Context, c *hdfs.Client, done string) ([]string, error) {
	level := []string{done}
	for range 3 {
		var next []string
		for _, folder := range level {
			list, err := c.List(ctx, folder)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, f := range list {
				if f.Dir {
					next = append(next, f.Path)
				}
			}
		}
		level = next
	}
	return level, nil
}
