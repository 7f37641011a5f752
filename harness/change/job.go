package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"heddle/collectors/yarn"
	"heddle/harness/lease"
	"heddle/harness/submit"
	"heddle/yarnclient"
)

// DataRoot is the HDFS folder for everything that heddle writes to HDFS, but for what
// clients of jobs stage.
const DataRoot = "/heddle"

// application is the kind of applications that heddle submits, and jobFolder that of
// the folders that these make in HDFS. Both are noted by a tag, which every one of
// them carries, before the first is submitted.
//
// The journal names no folder. A folder of heddle is one whose name in DataRoot has
// the tag, or one of the user's staging folder whose name or job.xml has it. So whatever a
// journal says, no folder is removed that no job of heddle made.
type (
	application struct{}
	jobFolder   struct{}
)

// Tag returns a new tag for jobs: each application that is submitted has a YARN tag
// that is the tag and a suffix, such as TAG-1, and each folder that it makes has the
// tag in its name. What is left of them is removed with the kinds [Application] and
// [JobFolder].
func (h *Hold) Tag(ctx context.Context) (tag string, err error) {
	tag = newName("heddle")
	return tag, h.do("note the tag of jobs", func() error {
		return h.noteAll(ctx, Change{Kind: JobFolder, Name: tag, Value: h.cluster.Staging}, Change{Kind: Application, Name: tag})
	})
}

// EndApps kills the applications that have one of the given YARN tags, and returns
// when all have ended. Their tag stays noted. It may be called after the hold's
// Context has ended.
func (h *Hold) EndApps(ctx context.Context, tags ...string) error {
	u := &undoing{h: h, Target: h.cluster, asked: map[key]error{}}
	var list []Change
	for _, t := range tags {
		list = append(list, Change{Kind: Application, Name: t})
	}
	u.undo(context.WithoutCancel(ctx), kinds[Application.index()], list)
	if len(u.report.Left) > 0 {
		return fmt.Errorf("end applications tagged %s: %s", u.report.Left[0].Name, u.report.Left[0].Why)
	}
	return nil
}

// madeBy matches the names that newName gives, with or without a suffix.
var madeBy = regexp.MustCompile(`^heddle[a-z-]*-[a-z0-9.]{1,30}-[0-9a-f]{16}(-[a-z0-9]+)?$`)

// carries reports whether the name of something is the tag, or begins with it and a
// hyphen.
func carries(name, tag string) bool {
	rest, ours := strings.CutPrefix(name, tag)
	return ours && (rest == "" || rest[0] == '-')
}

func anyCarries(names []string, tag string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return carries(name, tag) })
}

// named reports whether a folder's name ends with the tag, or with the tag and a suffix.
func named(folder, tag string) bool {
	i := strings.Index(folder, tag)
	return i >= 0 && carries(folder[i:], tag)
}

// left returns the unfinished applications that have a tag, by this tag.
func (application) left(ctx context.Context, u *undoing, list []Change) (map[string][]yarnclient.App, error) {
	apps, err := unfinishedApps(ctx, u.RM)
	found := map[string][]yarnclient.App{}
	for _, a := range apps {
		for _, c := range list {
			if madeBy.MatchString(c.Name) && anyCarries(strings.Split(a.Tags, ","), c.Name) {
				found[c.Name] = append(found[c.Name], a)
			}
		}
	}
	return found, err
}

func (k application) Left(ctx context.Context, u *undoing, list []Change) (finder, error) {
	found, err := k.left(ctx, u, list)
	return func(c Change) finding {
		for _, a := range found[c.Name] {
			return finding{left, fmt.Sprintf("%s is still in state %s; by hand: yarn application -kill %s", a.ID, a.State, a.ID)}
		}
		return finding{}
	}, err
}

func (k application) Undo(ctx context.Context, u *undoing, list []Change) []error {
	found, err := k.left(ctx, u, list)
	return each(list, func(c Change) error {
		errs := []error{err}
		for _, a := range found[c.Name] {
			if err := u.RM.KillApp(ctx, a.ID); err != nil {
				errs = append(errs, fmt.Errorf("end %s: %w", a.ID, err))
			}
		}
		return errors.Join(errs...)
	})
}

// depth is how many folders below DataRoot the folders are that have the jobs'
// outputs: at most three, as in hibench/SIZE/WORKLOAD.
const depth = 3

// left returns the folders with a tag, by this tag.
func (jobFolder) left(ctx context.Context, u *undoing, list []Change) (map[string][]string, error) {
	found := map[string][]string{}
	add := func(folder string, tags ...string) (ours bool) { // tags are those of the job that is staged there
		for _, c := range list {
			if madeBy.MatchString(c.Name) && (named(path.Base(folder), c.Name) || anyCarries(tags, c.Name)) {
				found[c.Name] = append(found[c.Name], folder)
				ours = true
			}
		}
		return ours
	}
	var look func(folder string, depth int) error
	look = func(folder string, depth int) error {
		inside, err := folders(ctx, u.HDFS, folder)
		for _, f := range inside {
			if !add(f) && depth > 0 && f != lease.Root && err == nil {
				err = look(f, depth-1)
			}
		}
		return err
	}
	if err := look(DataRoot, depth); err != nil {
		return nil, err
	}
	staging := map[string]bool{}
	for _, c := range list {
		if path.IsAbs(c.Value) && path.Clean(c.Value) == c.Value && madeBy.MatchString(c.Name) {
			staging[c.Value] = true
		}
	}
	for folder := range staging {
		inside, err := folders(ctx, u.HDFS, folder)
		if err != nil {
			return nil, err
		}
		for _, f := range inside {
			add(f, stagedTags(ctx, u.HDFS, f)...)
		}
	}
	return found, nil
}

// folders returns the paths of the folders in a folder; none if that does not exist.
func folders(ctx context.Context, h HDFS, folder string) (list []string, err error) {
	entries, err := h.List(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Dir {
			list = append(list, e.Path)
		}
	}
	return list, err
}

// mostConf is how long a job.xml is read; Hadoop's are some 200 kB.
const mostConf = 16 << 20

// stagedTags returns the YARN tags of the job that is staged in a folder. It returns
// none if the folder is not a job's, or is removed meanwhile by the job's
// ApplicationMaster.
func stagedTags(ctx context.Context, h HDFS, folder string) []string {
	r, err := h.Open(ctx, path.Join(folder, submit.JobXML))
	if err != nil {
		return nil
	}
	defer r.Close()
	conf, err := yarn.ParseConf(io.LimitReader(r, mostConf))
	if err != nil {
		return nil
	}
	return strings.Split(conf["mapreduce.job.tags"], ",")
}

// Left says of a folder that it cannot be removed while an application that may use
// it has not ended.
func (k jobFolder) Left(ctx context.Context, u *undoing, list []Change) (finder, error) {
	apps, err := application{}.left(ctx, u, list)
	if err != nil {
		return nil, err
	}
	found, err := k.left(ctx, u, list)
	return func(c Change) finding {
		switch folders, apps := found[c.Name], apps[c.Name]; {
		case len(folders) == 0:
			return finding{}
		case len(apps) > 0:
			return finding{stuck, apps[0].ID + " has not ended"}
		default:
			return finding{left, "hdfs " + folders[0] + " is there"}
		}
	}, err
}

func (k jobFolder) Undo(ctx context.Context, u *undoing, list []Change) []error {
	found, err := k.left(ctx, u, list)
	return each(list, func(c Change) error {
		errs := []error{err}
		for _, folder := range found[c.Name] {
			errs = append(errs, u.HDFS.RemoveAll(ctx, folder))
		}
		return errors.Join(errs...)
	})
}
