package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Hadoop's daemons, and so the containers that NodeManagers start, run as a
// user that owns nothing on this machine but the lab's data. Only agents run as
// root, since they drop the page cache. For Hadoop the daemons are hadoopUser all
// the same: its simple authentication believes the variable HADOOP_USER_NAME.

// firstUID is the user id of the lab with the first network. Distributions and
// systemd give the ids from 60706 to 61183 to nobody.
const firstUID = 60900

// uid returns the user id, and group id, of the lab's daemons. Each lab has its
// own, so that its tasks cannot reach the data of another lab.
func (p *plan) uid() int { return uidOf(p.Network) }

func uidOf(network int) int { return firstUID + network - firstNet }

// userExists reports whether this machine knows a user with this id. It asks
// getent, which knows users of the network too.
func userExists(id int) bool {
	return exec.Command("getent", "passwd", strconv.Itoa(id)).Run() == nil
}

// written returns the folders of a node in which its daemons and containers
// write. All other files of the lab belong to root, who may follow a link in
// them without a doubt.
func (p *plan) written(n node) []string {
	names := []string{"tmp", "data", "nm-local", "nm-logs"}
	if n.rack == 0 {
		names = append(names, "name", "rmstore", "node-labels", "node-attributes")
	}
	if n.name == "keeper" {
		names = append(names, "journal", "zookeeper")
	}
	var folders []string
	for _, name := range names {
		folders = append(folders, p.nodePath(n.name, name))
	}
	return folders
}

// give makes a folder that belongs to the lab's user. If the folder belongs to
// another user, such as one of an earlier network of the lab, all in it changes
// hands. The lab must be down.
func (p *plan) give(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: want a folder; remove what is there", folder)
	case owner(info).Uid == uint32(p.uid()):
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		// A task can give a second name to any file of the same disk, so a file
		// with two names may be one that is not the lab's.
		if err != nil || info.Mode().IsRegular() && owner(info).Nlink > 1 {
			return err
		}
		return root.Lchown(path, p.uid(), p.uid())
	})
	// The folder itself comes last: if this is interrupted, the next start begins
	// again.
	return cmp.Or(err, os.Chmod(folder, 0o700), os.Lchown(folder, p.uid(), p.uid()))
}

func owner(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// writeUnprivileged writes the script that runs a command as the lab's user, and
// what the script puts in the place of the machine's list of users. Java wants
// the name of the user that it runs as.
func (l *Lab) writeUnprivileged() error {
	views, err := l.views()
	if err != nil {
		return err
	}
	script, err := l.script("unprivileged.sh", views...)
	if err != nil {
		return err
	}
	admin, user := "root", "heddle-lab"
	if l.Cfg.Kerberos {
		// A secured Hadoop gives a job's map outputs only to reduces of the user who
		// owns the files, by name. The lab's containers have one user for all jobs.
		admin, user = "machine-root", hadoopUser
	}
	users := fmt.Sprintf("%s:x:0:0::/:/bin/sh\n%s:x:%d:%[3]d::/:/bin/sh\n", admin, user, l.uid())
	groups := fmt.Sprintf("%s:x:0:\n%s:x:%d:\n", admin, user, l.uid())
	return errors.Join(
		os.MkdirAll(l.path("view"), 0o755),
		writeFile(l.path("passwd"), []byte(users), 0o644),
		writeFile(l.path("group"), []byte(groups), 0o644),
		writeFile(l.unprivileged(), script, 0o755),
	)
}

func (l *Lab) unprivileged() string { return l.path("unprivileged") }

// view is a folder that only its owner may enter, and below which the lab's user
// needs something.
type view struct {
	Over  string   // the folder
	Paths []string // what the lab's user needs, relative to the folder, each with a slash before it
}

// views returns the folders above Java, Hadoop and the lab's files that the
// lab's user may not enter.
func (l *Lab) views() ([]view, error) {
	needs := append([]string{l.root}, l.programs()...)
	if recordClasses != "" {
		needs = append(needs, recordClasses)
	}
	var views []view
	var have []string
	for len(needs) > 0 {
		path := needs[0]
		needs = needs[1:]
		if path == l.Archive {
			path = filepath.Dir(path)
		}
		if to, err := filepath.EvalSymlinks(path); err != nil {
			return nil, err
		} else if to != path {
			needs = append(needs, to) // the lab's user must be able to follow the links
		}
		if slices.ContainsFunc(have, func(h string) bool { return path == h || strings.HasPrefix(path, h+"/") }) {
			continue
		}
		have = append(have, path)
		over, err := closed(path)
		if err != nil {
			return nil, err
		}
		if over == "" {
			continue
		}
		at := slices.IndexFunc(views, func(v view) bool { return v.Over == over })
		if at < 0 {
			at, views = len(views), append(views, view{Over: over})
		}
		views[at].Paths = append(views[at].Paths, strings.TrimPrefix(path, over))
	}
	slices.Reverse(views) // the folder above the lab's files comes last: the others' mounts are made from there
	return views, nil
}

// closed returns the uppermost folder above a path that others than its owner
// may not enter, or "" if there is none. It returns an error if they may not
// enter the path itself.
func closed(path string) (over string, err error) {
	for at := path; at != "/"; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err != nil:
			return "", err
		case info.Mode()&0o001 != 0:
		case at == path:
			return "", fmt.Errorf("the lab's daemons do not run as root and cannot read %s; 'chmod -R a+rX %[1]s' lets them", path)
		default:
			over = at
		}
	}
	return over, nil
}
