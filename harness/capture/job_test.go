package capture

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
)

// Files of a job stay in its own folder, whatever its id or their names are, and
// nobody else can read them.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	run, outside := filepath.Join(dir, "run"), filepath.Join(dir, "outside")
	errtest.None(t, errors.Join(os.Mkdir(run, 0o700), os.Mkdir(outside, 0o700), os.Symlink(outside, filepath.Join(run, "job_1_0002"))))
	folder := errtest.Must(os.OpenRoot(run))
	defer folder.Close()
	for _, c := range []struct {
		job  traces.JobID
		file string
	}{
		{"../outside", "x"},
		{"job_../../../outside", "x"},
		{"/etc", "x"},
		{"", "x"},
		{"job_1_0001", "job_1_0001-/../../../outside/x.jhist"},
		{"job_1_0001", "../../x"},
		{"job_1_0001", "/etc/x"},
		{"job_1_0002", "x"}, // a link
	} {
		err := keep(folder, c.job, func(own *os.Root) error { return own.WriteFile(c.file, []byte("x"), 0o600) })
		if err == nil {
			t.Errorf("%q of job %q is kept, want an error", c.file, c.job)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v; want nothing", entries, err)
	}
	errtest.None(t, keep(folder, "job_1_0003", func(own *os.Root) error { return own.WriteFile("job.xml", nil, 0o600) }))
	if info, err := os.Stat(filepath.Join(run, "job_1_0003")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder of the job: %v, %v; want mode 0700", info, err)
	}
}
