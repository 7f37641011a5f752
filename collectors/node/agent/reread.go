package agent

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// rereadInterval is how often a changed file is looked for, at most.
const rereadInterval = time.Second

// reread is a value from files, such as tokens, that is read again when one of
// the files has changed. If what is in the files then cannot be used, the value
// stays as it was.
type reread[T any] struct {
	paths []string
	read  func() (T, error)
	tell  func(error) // is told of each attempt to read the files again; the error is nil if it worked

	mu      sync.Mutex
	value   T
	seen    string // what the files were when they were last read, see look
	checked time.Time
}

// newReread reads the files for the first time.
func newReread[T any](read func() (T, error), tell func(error), paths ...string) (*reread[T], error) {
	r := &reread[T]{paths: paths, read: read, tell: tell, checked: time.Now()}
	r.look() // before the files are read: a change in between is seen by the next call
	var err error
	r.value, err = read()
	return r, err
}

// get returns the value, from files that were looked at no longer than
// rereadInterval ago.
func (r *reread[T]) get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.checked) >= rereadInterval {
		r.checked = now
		if r.look() {
			r.again()
		}
	}
	return r.value
}

// now reads the files even if they seem not to have changed.
func (r *reread[T]) now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look()
	r.again()
}

func (r *reread[T]) again() {
	value, err := r.read()
	if err == nil {
		r.value = value
	}
	r.tell(err)
}

// look reports whether any of the files is another one, or was written to, since
// the last call.
func (r *reread[T]) look() (changed bool) {
	was := r.seen
	r.seen = ""
	for _, path := range r.paths {
		if is, err := os.Stat(path); err == nil {
			r.seen += fmt.Sprintln(is.ModTime().UnixNano(), is.Size(), is.Mode())
		} else {
			r.seen += "none\n"
		}
	}
	return r.seen != was
}
