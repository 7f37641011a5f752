package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLeftOutputs finds the folders that jobs of ended processes of this host
// wrote, wherever workloads put them, and no others.
func TestLeftOutputs(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("%s%d-1-0a1b2c3d", ownPrefix(tagPrefix), dead.Process.Pid)
	want := []string{
		"/heddle/hibench/64MiB/Wordcount/Check-" + left + "-1",
		"/heddle/hibench/64MiB/Wordcount/Output-" + left + "-1",
		"/heddle/hibench/64MiB/Wordcount/Output-" + left + "-1-found",
		"/heddle/streaming/output-" + left + "-2",
		"/heddle/trace/output/" + left + "-12",
	}
	stay := []string{
		"/heddle/trace/output/" + ownName(tagPrefix) + "-1", // of this process
		"/heddle/trace/output/heddle-another.host-1-1-0a1b2c3d-1",
		"/heddle/trace/input/heddle-day-0a1b2c3d4e5f6071",
		"/heddle/hibench/64MiB/Wordcount/Input",
		"/heddle/streaming/8388608-bytes-3-files-seed-1",
		"/heddle/shared",
	}
	hdfs := fstest.MapFS{"heddle/shared/0a1b2c3d-heddle": {}, "heddle/streaming/" + left: {}} // files, not folders
	for _, folder := range slices.Concat(want, stay) {
		hdfs[strings.TrimPrefix(folder, "/")+"/part-00000"] = &fstest.MapFile{}
	}
	readDir := func(folder string) (list []os.FileInfo, err error) {
		entries, err := hdfs.ReadDir(strings.TrimPrefix(folder, "/"))
		for _, e := range entries {
			info, ierr := e.Info()
			list, err = append(list, info), errors.Join(err, ierr)
		}
		return list, err
	}
	got, err := leftOutputs(readDir, dataRoot, outputDepth)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, err := leftOutputs(readDir, "/none", outputDepth); len(got) > 0 || err != nil {
		t.Errorf("in an HDFS without heddle's folder: %v, %v", got, err)
	}
	refused := func(string) ([]os.FileInfo, error) { return nil, fs.ErrPermission }
	if _, err := leftOutputs(refused, dataRoot, outputDepth); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want that of the listing", err)
	}
}
