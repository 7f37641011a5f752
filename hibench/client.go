package hibench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// client is a process that submits MapReduce jobs: the hadoop command or a
// script of HiBench. The process has its own process group, so that its child
// processes can be stopped with it. Its environment is only what vars contains.
type client struct {
	argv []string
	vars []string // the whole environment of the client process, each variable as KEY=VALUE
	dir  string   // working folder of the client process
	log  string   // name of the file with the client's output, in the client's working folder
	tag  string   // YARN tag of the jobs that the client process submits

	folder *os.Root // the client's working folder, opened so that files can be written into it

	grace time.Duration // how long to wait between SIGTERM and SIGKILL when the client is stopped

	code int // exit status of the client; -1 if a signal ended it or it did not start
}

// ClientError means that a client, a process that submits Hadoop jobs, failed
// or was stopped.
type ClientError struct {
	Command string   // the program and the jar's workload or the script that it was to run, without further arguments
	Code    int      // exit status of the client; -1 if a signal ended it
	Tag     string   // the YARN tag of jobs that the client may have submitted
	Log     string   // the path of the file with the client's output
	Tail    []string // the last lines of the client's output, without stack frames
	Cause   error    // why the client was stopped, such as context.Canceled; nil if it ended by itself
}

func (e *ClientError) Error() string {
	var b strings.Builder
	if e.Cause != nil {
		fmt.Fprintf(&b, "%s was stopped: %v; its application may still run: kill applications with tag %s", e.Command, e.Cause, e.Tag)
	} else if e.Code < 0 {
		fmt.Fprintf(&b, "%s was killed; its application may still run: kill applications with tag %s", e.Command, e.Tag)
	} else {
		fmt.Fprintf(&b, "%s ended with status %d", e.Command, e.Code)
	}
	fmt.Fprintf(&b, "; output in %s", e.Log)
	for _, line := range e.Tail {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

func (e *ClientError) Unwrap() error { return e.Cause }

// ClientVars returns those variables of an environment that a Hadoop client
// process needs. It leaves out all others, since they may contain secrets. Each
// variable has the form KEY=VALUE.
func ClientVars(environ []string) []string {
	var vars []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME",
			"HADOOP_OPTS", "HADOOP_CLIENT_OPTS", "HADOOP_CLASSPATH", "KRB5CCNAME", "KRB5_CONFIG":
			vars = append(vars, v)
		}
	}
	return vars
}

// logName is the name of the file with the output of a Hadoop client process.
const logName = "client.log"

// stopGrace is the time that a Hadoop client process gets between SIGTERM and
// SIGKILL. It suffices for its JVM to remove its temporary files.
const stopGrace = 5 * time.Second

// run starts the Hadoop client process and waits until it ends. If ctx ends
// first, run stops the process. In both cases run leaves no process of the
// client's process group behind.
func (c *client) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: not started: %w", c.name(), context.Cause(ctx))
	}
	log, err := c.folder.OpenFile(logName, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", c.name(), err)
	}
	defer log.Close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.vars, c.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name(), err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var cause error
	select {
	case err = <-done:
	case <-ctx.Done():
		cause = context.Cause(ctx)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		err = awaitStop(done, cmd.Process.Pid, c.grace)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the process has ended, so kill processes that a script left running
	if cmd.ProcessState != nil {
		c.code = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	switch {
	case cause == nil && err == nil:
		return nil
	case cause == nil && !errors.As(err, &exit):
		return fmt.Errorf("wait for %s: %w", c.name(), err)
	}
	return &ClientError{Command: c.name(), Code: c.code, Tag: c.tag, Log: c.log, Tail: lastLines(c.log, 12), Cause: cause}
}

// awaitStop waits until all processes of the process group pgid have ended.
// Those that still run after the time grace are killed.
func awaitStop(done <-chan error, pgid int, grace time.Duration) (err error) {
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	ended := false
	for {
		select {
		case err = <-done:
			ended, done = true, nil
		case <-poll.C:
			if ended && syscall.Kill(-pgid, 0) != nil {
				return err
			}
		case <-timeout.C:
			syscall.Kill(-pgid, syscall.SIGKILL)
			if !ended {
				err = <-done
			}
			return err
		}
	}
}

// name returns a short name of the client's command, such as "hadoop jar
// wordcount" or "run.sh".
func (c *client) name() string {
	words := []string{filepath.Base(c.argv[0])}
	if i := slices.Index(c.argv, "jar"); i > 0 && i+2 < len(c.argv) {
		words = append(words, "jar", c.argv[i+2])
	}
	return strings.Join(words, " ")
}

// lastLines returns the last n lines of a client's log, for an error message.
// It skips empty lines and the frames of Java stack traces.
func lastLines(name string, n int) []string {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	const window = 16 << 10
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		if _, err := f.Seek(max(0, size-window), io.SeekStart); err != nil {
			return nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, window))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \r\n")
		if line != "" && !strings.HasPrefix(line, "\tat ") && !strings.HasPrefix(line, "\t...") {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}
