package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "heddle/collectors/hdfs"
	"heddle/harness/lab"
)

// outsiders connects to the lab's daemons as a user of this machine that is not
// root. The same as root shows that they listen.
func outsiders(ctx context.Context, t *testing.T, l *lab.Lab) {
	const nobody = 65534
	hosts := l.Cluster().Hosts
	var all sync.WaitGroup
	for what, address := range map[string]string{
		"ResourceManager": hosts["master"] + "/8088", "ResourceManager's clients' port": hosts["master"] + "/8032",
		"NameNode": hosts["master"] + "/8020", "NameNode's pages": hosts["master"] + "/9870", "history server": hosts["master"] + "/19888",
		"DataNode": hosts["r1n1"] + "/9866", "NodeManager": hosts["r2n1"] + "/8042", "agent": hosts["r1n2"] + "/9177",
	} {
		all.Go(func() {
			for user, reaches := range map[uint32]bool{0: true, nobody: false} {
				cmd := exec.CommandContext(ctx, "timeout", "2", "bash", "-c", "</dev/tcp/"+address)
				cmd.Dir = "/"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
				out, err := cmd.CombinedOutput()
				var ended *exec.ExitError
				if err != nil && !errors.As(err, &ended) || (err == nil) != reaches {
					t.Errorf("user %d reaches the %s at %s: %v (%v, %s), want %v", user, what, address, err == nil, err, out, reaches)
				}
			}
		})
	}
	all.Wait()
}

// leak leaves a file open as a shell may, for what this process starts.
func leak(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leak-of-root")
	mustDo(t, os.WriteFile(path, nil, 0o600))
	fd := must(syscall.Open(path, syscall.O_RDWR, 0))
	t.Cleanup(func() { syscall.Close(fd) })
}

// unprivileged looks at the users of the daemons, and at what a task can do.
func unprivileged(ctx context.Context, t *testing.T, l *lab.Lab) {
	status := l.Status(ctx)
	if status.User == 0 || !strings.Contains(fmt.Sprint(status.Doc()), fmt.Sprintf("run as user %d", status.User)) {
		t.Errorf("the status does not say as which user Hadoop runs:\n%+v", status)
	}
	for _, d := range status.Daemons {
		text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", d.PID)))
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", d.PID))
		for _, file := range files {
			if to, _ := os.Readlink(file); strings.HasSuffix(to, "/leak-of-root") {
				t.Errorf("%s on %s has a file of root's open: %s", d.Daemon, d.Node, to)
			}
		}
		want := []string{
			fmt.Sprintf("\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", status.User), fmt.Sprintf("\nGid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", status.User),
			"\nGroups:\t \n", "\nCapBnd:\t0000000000000000\n", "\nNoNewPrivs:\t1\n",
		}
		if d.Daemon == "agent" {
			want = []string{"\nUid:\t0\t"}
		}
		for _, line := range want {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s on %s: no %q in\n%s", d.Daemon, d.Node, line, text)
			}
		}
	}

	token := l.Cluster().Agents[0].TokenFile
	secret := must(os.ReadFile(token))
	c := client(t, l, "master")
	w := must(c.Create("/whoami"))
	fmt.Fprintln(w, "one line")
	mustDo(t, collector.CloseWriter(ctx, w))
	state := filepath.Dir(token)
	task := fmt.Sprintf(`sh -c "cat >/dev/null; id -u; cat %s; touch %s/conf/x %[2]s/nodes/master/run/x /etc/x /x && echo written; true"`,
		token, state)
	streaming, _ := filepath.Glob(filepath.Join(l.Cluster().Hadoop.Home, "share/hadoop/tools/lib/hadoop-streaming-*.jar"))
	out, err := l.Command(ctx, "master", "hadoop", "jar", streaming[0], "-Dmapreduce.job.maps=1", "-Dmapreduce.job.reduces=0",
		"-input", "/whoami", "-output", "/whoami-out", "-mapper", task).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := must(c.ReadFile("/whoami-out/part-00000"))
	if got := strings.Fields(string(said)); len(got) != 1 || got[0] != strconv.Itoa(status.User) ||
		strings.Contains(string(said), strings.TrimSpace(string(secret))) {
		t.Errorf("a task said %q; want the user id %d, no token and nothing written", said, status.User)
	}
}
