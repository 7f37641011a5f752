package hibench

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/traces/errtest"
)

// shell is a client that runs a piece of shell.
func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root := must(os.OpenRoot(dir))
	t.Cleanup(func() { root.Close() })
	return root
}

func shell(t *testing.T, script string) *client {
	dir := t.TempDir()
	folder := openRoot(t, dir)
	return &client{
		argv: []string{"/bin/sh", "-c", script}, vars: []string{"PATH=" + os.Getenv("PATH"), "DIR=" + dir},
		folder: folder, dir: dir, log: filepath.Join(dir, logName), tag: "t1", grace: 100 * time.Millisecond, code: -1,
	}
}

// A stopped client takes all its processes with it, also those that will not
// go. The pipe's end is seen when the last of them is gone.
func TestClientStops(t *testing.T) {
	for name, script := range map[string]string{
		"willing":   "sleep 600 & echo up; wait",
		"unwilling": "trap '' TERM; (trap '' TERM; sleep 600) & echo up; sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			c := shell(t, "exec > $DIR/pipe; echo last words >&2; "+script)
			pipe := filepath.Join(c.dir, "pipe")
			mustDo(t, syscall.Mkfifo(pipe, 0o600))
			reason := errors.New("out of patience")
			ctx, cancel := context.WithCancelCause(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- c.run(ctx) }()
			f, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			must(io.ReadFull(f, make([]byte, len("up\n"))))
			cancel(reason)
			if rest, err := io.ReadAll(f); err != nil || len(rest) > 0 {
				t.Errorf("pipe: %q, %v", rest, err)
			}
			err = <-ended
			var ce *ClientError
			if !errors.As(err, &ce) || !errors.Is(err, reason) || ce.Code != -1 || len(ce.Tail) != 1 || ce.Tail[0] != "last words" {
				t.Errorf("error %#v; want a ClientError because of %q", err, reason)
			}
			if !strings.Contains(err.Error(), "kill applications with tag t1") {
				t.Errorf("error %q does not name the tag", err)
			}
		})
	}
}

func TestClientLeavesNothingBehind(t *testing.T) {
	c := shell(t, "sleep 600 > $DIR/pipe & exit 0")
	pipe := filepath.Join(c.dir, "pipe")
	mustDo(t, syscall.Mkfifo(pipe, 0o600))
	f := must(os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	defer f.Close()
	if err := c.run(context.Background()); err != nil || c.code != 0 {
		t.Errorf("client %+v: %v", c, err)
	}
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
}

func TestClientDoesNotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := shell(t, "echo started")
	if err := c.run(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not started") {
		t.Errorf("error %v; want context.Canceled", err)
	}
	errtest.Is(t, errOf(os.Stat(c.log)), os.ErrNotExist)
	c = shell(t, "")
	c.argv = []string{"/does/not/exist"}
	if err := c.run(context.Background()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "start exist") {
		t.Errorf("error %v; want fs.ErrNotExist", err)
	}
}

func TestClientError(t *testing.T) {
	c := shell(t, `seq 1 50; printf 'Caused by: full\n\tat org.Frame\n\t... 3 more\n\n' >&2; kill -9 $$`)
	err := c.run(context.Background())
	var ce *ClientError
	if !errors.As(err, &ce) || ce.Code != -1 || !strings.Contains(err.Error(), "sh was killed; its application may still run") {
		t.Fatalf("error %v; want one that it was killed", err)
	}
	if n := len(ce.Tail); n != 12 || ce.Tail[n-1] != "Caused by: full" || ce.Tail[n-2] != "50" {
		t.Errorf("tail %q; want the last 12 lines without stack frames", ce.Tail)
	}
}

func TestClientVars(t *testing.T) {
	got := ClientVars([]string{"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "JAVA_HOME=/j", "HEDDLE_TOKEN=y", "EMPTY", "PATHS=z"})
	if strings.Join(got, " ") != "PATH=/bin JAVA_HOME=/j" {
		t.Errorf("got %q", got)
	}
}
