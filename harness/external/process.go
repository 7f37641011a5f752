package external

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxLine  = 1 << 20          // bytes in one line of a program
	keptSaid = 2 << 10          // bytes of a program's standard error that a message shows
	endLimit = 30 * time.Second // how long a program may take to end; on a busy machine an interpreter takes seconds
)

// process is a running program.
type process struct {
	cmd     *exec.Cmd
	to      *os.File
	from    *os.File
	answers *bufio.Reader
	said    *tail
}

// inherited are the variables of the environment that a program gets, besides LC_*. It
// gets no other, since they may hold secrets.
var inherited = []string{
	"PATH", "HOME", "LANG", "TZ", "TMPDIR", "PYTHONPATH",
	"VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
}

// environment returns what a program gets of heddle's environment. The order of sets in
// Python is always the same.
func environment(all []string) []string {
	env := []string{"PYTHONHASHSEED=0"}
	for _, x := range all {
		name, _, _ := strings.Cut(x, "=")
		for _, wanted := range inherited {
			if name == wanted || strings.HasPrefix(name, "LC_") && wanted == "LANG" {
				env = append(env, x)
			}
		}
	}
	return env
}

// start starts a program in a process group of its own.
func start(command []string) (*process, error) {
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	from, stdout, err := os.Pipe()
	if err != nil {
		to.Close()
		return nil, err
	}
	defer stdout.Close()
	p := &process{to: to, from: from, answers: bufio.NewReaderSize(from, 1<<16), said: &tail{}}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, p.said
	p.cmd.Env = environment(os.Environ())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second // its standard error may be open in a process that left the group
	if err := p.cmd.Start(); err != nil {
		to.Close()
		from.Close()
		return nil, fmt.Errorf("start: %w; correct the command, or install the program", err)
	}
	return p, nil
}

// exchange writes a line to the program and reads the one that answers it, both within
// the limit. The answer is valid until the next exchange.
func (p *process) exchange(line []byte, limit time.Duration) ([]byte, error) {
	end := time.Now().Add(limit)
	if err := errors.Join(p.to.SetWriteDeadline(end), p.from.SetReadDeadline(end)); err != nil {
		return nil, err
	}
	if _, err := p.to.Write(append(line, '\n')); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("the program read nothing for %v", limit)
		}
		return nil, errEnded
	}
	answer, err := p.read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("no answer within %v; make the program faster, or give it more time with limit", limit)
	}
	return answer, err
}

var errEnded = errors.New("the program ended before it answered")

// read reads one line of the program, without its end.
func (p *process) read() ([]byte, error) {
	line, err := p.answers.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			line, err = p.answers.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
		if len(line) > maxLine {
			return nil, badLine(line, fmt.Errorf("it is longer than %d bytes", maxLine))
		}
	}
	switch {
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, badLine(line, errors.New("the program ended within it"))
	case errors.Is(err, io.EOF):
		return nil, errEnded
	case err != nil:
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// end asks the program to end, and ends it. It returns how long its rule took by its
// own count, in seconds.
func (p *process) end() (seconds float64, err error) {
	var last farewell
	line, err := p.exchange([]byte(`{"bye":true}`), endLimit)
	p.to.Close()
	switch {
	case errors.Is(err, errEnded): // it has nothing to say
		err = nil
	case err == nil:
		if err = parse(line, &last); err == nil {
			var more []byte
			if more, err = p.read(); err == nil {
				err = badLine(more, errors.New("it comes after the end"))
			} else if errors.Is(err, errEnded) {
				err = nil
			}
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it did not end within %v", endLimit)
	}
	status := p.stop(err != nil)
	if err == nil && status != nil {
		err = fmt.Errorf("%w%s", status, p.said)
	} else if err != nil {
		err = fmt.Errorf("%w%s", err, p.said)
	}
	return last.Seconds, err
}

// kill ends the program and all that it started, and returns why with what is known of
// its end.
func (p *process) kill(why error) error {
	ended := errors.Is(why, errEnded)
	status := p.stop(!ended)
	switch {
	case ended && status != nil:
		why = fmt.Errorf("%w: %w", why, status)
	case ended:
		why = fmt.Errorf("%w: exit status 0", why)
	}
	return fmt.Errorf("%w%s", why, p.said)
}

// stop waits for the end of the program, unless it is to be killed at once. Then it
// ends what is left of its process group.
func (p *process) stop(now bool) error {
	p.to.Close()
	group := -p.cmd.Process.Pid
	if now {
		syscall.Kill(group, syscall.SIGKILL)
	}
	late := time.AfterFunc(endLimit, func() { syscall.Kill(group, syscall.SIGKILL) })
	err := p.cmd.Wait()
	late.Stop()
	syscall.Kill(group, syscall.SIGKILL)
	p.from.Close()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// tail keeps the end of what a program writes to its standard error.
type tail struct {
	mutex sync.Mutex
	bytes []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.bytes = append(t.bytes, b[max(0, len(b)-keptSaid):]...)
	t.bytes = t.bytes[max(0, len(t.bytes)-keptSaid):]
	return len(b), nil
}

// String returns the end of a message: what the program wrote to its standard error.
func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	said := strings.TrimSpace(strings.ToValidUTF8(string(t.bytes), "?"))
	if said == "" {
		return "; it wrote nothing to its standard error"
	}
	return "; the end of its standard error:\n" + said
}
