package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	colinmarc "github.com/colinmarc/hdfs/v2"
)

// History is a finished job's history, as the ApplicationMaster wrote it.
type History struct {
	Name    string // file name of the events, JOBID-….jhist
	Folder  string // where it was found
	Events  []byte // the .jhist
	ConfXML []byte // JOBID_conf.xml, nil where it is gone
}

// jobID is Hadoop's form of a job's id, which here is a part of paths.
var jobID = regexp.MustCompile(`^job_[0-9]{1,19}_[0-9]{4,10}$`)

// historyName is what follows a job's id in the name of its history file:
// times, user, job's name, status and queue, percent-encoded by Hadoop.
var historyName = regexp.MustCompile(`^-[A-Za-z0-9._*%+-]{1,220}\.jhist$`)

// isHistory says whether a file of that name is the job's history. The name is
// kept, so any other form is none.
func isHistory(name, job string) bool {
	rest, ok := strings.CutPrefix(name, job)
	return ok && historyName.MatchString(rest)
}

// ErrNoHistory says that a job's history is not (yet) there.
var ErrNoHistory = errors.New("no history of the job")

// HistoryFolders are the settings that say where history lies:
// mapreduce.jobhistory.intermediate-done-dir and .done-dir.
type HistoryFolders struct {
	Intermediate string // history lies here, by user, until the server moves it
	Done         string // by date and serial number of the job
}

// FoldersFrom takes the history folders from the history server's settings;
// root is yarn.app.mapreduce.am.staging-dir, below which they are by default.
func FoldersFrom(get func(name string) string, root string) HistoryFolders {
	f := HistoryFolders{Intermediate: get("mapreduce.jobhistory.intermediate-done-dir"), Done: get("mapreduce.jobhistory.done-dir")}
	if f.Intermediate == "" {
		f.Intermediate = path.Join(root, "history/done_intermediate")
	}
	if f.Done == "" {
		f.Done = path.Join(root, "history/done")
	}
	f.Intermediate, f.Done = WithoutScheme(f.Intermediate), WithoutScheme(f.Done)
	return f
}

// WithoutScheme is the path of an HDFS URI, "hdfs://host:port/a" as "/a".
func WithoutScheme(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return strings.TrimPrefix(uri, "hdfs:")
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// ReadHistory finds and reads the history of a finished job, job_1_0002. The error wraps
// ErrNoHistory where it is not there (yet).
func ReadHistory(ctx context.Context, files *colinmarc.Client, folders HistoryFolders, user, job string) (History, error) {
	if !jobID.MatchString(job) {
		return History{}, fmt.Errorf("read history: %q is no job's id: want job_TIMESTAMP_NUMBER", job)
	}
	h, err := readHistoryIn(files, path.Join(folders.Intermediate, user), job)
	if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	// The server files by date of submission and by the upper digits of the
	// job's serial number; the days are few, so they are looked through.
	serial := serialFolder(job)
	days, err := dayFolders(ctx, files, folders.Done)
	if err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	for i := len(days) - 1; i >= 0; i-- {
		h, err := readHistoryIn(files, path.Join(days[i], serial), job)
		if !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
	}
	return History{}, fmt.Errorf("read history of %s: %w in %s or %s", job, ErrNoHistory, folders.Intermediate, folders.Done)
}

// readHistoryIn reads a job's history from one folder; fs.ErrNotExist where it
// is not there.
func readHistoryIn(files *colinmarc.Client, folder, job string) (History, error) {
	infos, err := files.ReadDir(folder)
	if err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	h := History{Folder: folder}
	for _, info := range infos {
		name := info.Name()
		switch {
		case isHistory(name, job):
			h.Name = name
		case name == job+"_conf.xml":
			// Best effort: the events are what counts.
			h.ConfXML, _ = files.ReadFile(path.Join(folder, name))
		}
	}
	if h.Name == "" {
		return History{}, fmt.Errorf("read history of %s in %s: %w", job, folder, fs.ErrNotExist)
	}
	if h.Events, err = files.ReadFile(path.Join(folder, h.Name)); err != nil {
		return History{}, fmt.Errorf("read history of %s: %w", job, err)
	}
	return h, nil
}

// serialFolder is the done folder's last level for a job: its serial number in
// at least nine digits, cut to the upper ones.
func serialFolder(job string) string {
	serial := job[strings.LastIndexByte(job, '_')+1:]
	if n := 9 - len(serial); n > 0 {
		serial = strings.Repeat("0", n) + serial
	}
	return serial[:len(serial)-3]
}

// dayFolders lists done/yyyy/mm/dd, oldest first.
func dayFolders(ctx context.Context, files *colinmarc.Client, done string) ([]string, error) {
	level := []string{done}
	for range 3 {
		var next []string
		for _, folder := range level {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			infos, err := files.ReadDir(folder)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, info := range infos {
				if info.IsDir() {
					next = append(next, path.Join(folder, info.Name()))
				}
			}
		}
		level = next
	}
	return level, nil
}
