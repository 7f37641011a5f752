package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// said is an error as the library colinmarc/hdfs returns it.
type said string

func (e said) Error() string     { return "mkdirs call failed (SafeModeException)" }
func (e said) Method() string    { return "mkdirs" }
func (e said) Desc() string      { return "ERROR_APPLICATION" }
func (e said) Exception() string { return "SafeModeException" }
func (e said) Message() string   { return string(e) }

func TestExplained(t *testing.T) {
	err := &fs.PathError{Op: "mkdir", Path: "/x", Err: said("Cannot create /x.\n Name node is in safe mode.\n\tat A.b(A.java:1)\n\tat C.d")}
	got := Explained(err)
	if want := err.Error() + ": Cannot create /x. Name node is in safe mode."; got.Error() != want || !errors.Is(got, err) {
		t.Errorf("%q, want %q that wraps the error", got, want)
	}
	for _, same := range []error{nil, fs.ErrNotExist, said("")} {
		if Explained(same) != same {
			t.Errorf("%v became %v", same, Explained(same))
		}
	}
}

// replicating is what the NameNode says while a block's DataNodes have not
// reported it.
type replicating struct{ said }

func (replicating) Exception() string {
	return "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
}

// starting is what a NameNode says that has become active just now.
type starting struct{ said }

func (starting) Exception() string { return "org.apache.hadoop.ipc.RetriableException" }

// TestAgainInFailover: while no NameNode is active, a file is written again for 40 s,
// which is longer than Hadoop needs to make another one active, and not for ever.
func TestAgainInFailover(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("write hdfs /in/a: %w: NameNode a:1: connection refused", ErrUnreachable),
		fmt.Errorf("write hdfs /in/a: %w", &RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}),
		starting{},
	} {
		for _, after := range []time.Duration{3 * time.Second, 30 * time.Second, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := Again(t.Context(), func() error {
					if time.Since(began) < after {
						return err
					}
					return nil
				})
				if took := time.Since(began); after < time.Minute && (got != nil || took > after+4*time.Second) || after > time.Minute &&
					(!errors.Is(got, err) || took > time.Minute) {
					t.Errorf("a NameNode after %v, until then %v: %v after %v", after, err, got, took)
				}
			})
		}
	}
}

// TestAgain: what passes by itself is tried again, and not for ever.
func TestAgain(t *testing.T) {
	stopped := errors.New("stopped by a signal")
	for _, tt := range []struct {
		err    error
		passes bool
	}{
		{replicating{}, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{os.ErrDeadlineExceeded, true},
		{errors.New("write failed: ERROR ()"), true}, // of a DataNode
		{errors.New("write failed: ERROR_ACCESS_TOKEN ()"), true},
		{said("the quota is full"), false},
		{fs.ErrPermission, false},
		{nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			wrapped := tt.err
			if wrapped != nil {
				wrapped = fmt.Errorf("write hdfs /in/a: %w", tt.err)
			}
			for _, failing := range []int{0, 1, WriteTries - 1, WriteTries} {
				tried := 0
				err := Again(t.Context(), func() error {
					if tried++; tried <= failing {
						return wrapped
					}
					return nil
				})
				want := min(failing+1, WriteTries)
				if !tt.passes {
					want = 1
				}
				fails := tt.err != nil && failing >= want
				if tried != want || fails != (err != nil) || fails && !errors.Is(err, tt.err) {
					t.Errorf("%d writes fail with %v: error %v after %d; want failure %v after %d", failing, tt.err, err, tried, fails, want)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { synctest.Wait(); cancel(stopped) }()
			err := Again(ctx, func() error { return wrapped })
			if want := map[bool]error{true: stopped, false: tt.err}[tt.passes]; !errors.Is(err, want) {
				t.Errorf("stopped while it waits after %v: %v, want %v", tt.err, err, want)
			}
		})
	}
}
