package hdfs

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heddle/traces/errtest"
)

// TestFilesEndWithTheirContext: whatever the library waits for, it gives up at once
// when the context of its caller ends, and leaves nothing running. In real time, since
// the library waits for a mutex meanwhile.
func TestFilesEndWithTheirContext(t *testing.T) {
	defaults := message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096))
	file := message(1, message(1, 2, 2, "f", 3, 1500, 4, message(1, 0o644), 5, "o", 6, "g", 7, 0, 8, 0, 10, 1, 11, 1<<27, 13, 7))
	block := func(bytes int) []byte {
		return message(
			1, message(1, "pool", 2, 7, 3, 1, 4, bytes), 2, 0,
			3, message(1, message(1, "10.0.0.9", 2, "worker", 3, "uuid", 4, 9866, 5, 0, 6, 0)),
			4, 0, 5, message(1, "", 2, "", 3, "", 4, ""),
		)
	}
	answers := map[string]fakeReply{
		"getServerDefaults": {message: unknown(defaults)},
		"getFileInfo":       {message: unknown(file)},
		"getBlockLocations": {message: unknown(message(1, message(1, 1500, 2, block(1500), 3, 0, 5, 1)))},
		"mkdirs":            {message: unknown(message(1, 1))},
		"create":            {message: unknown(file)},
		"addBlock":          {message: unknown(message(1, block(0)))},
		"delete":            {message: unknown(message(1, 1))},
		"renewLease":        {},
	}
	read := func(ctx context.Context, c *Client) error {
		r, err := c.Open(ctx, "/f")
		if err != nil {
			return err
		}
		_, err = io.ReadAll(r)
		return errors.Join(err, r.Close())
	}
	write := func(ctx context.Context, c *Client) error {
		return c.WriteFile(ctx, "/f", strings.NewReader(strings.Repeat("x", 1<<20)), WriteOptions{})
	}
	for name, x := range map[string]struct {
		waits string    // the call that does not end as it should
		how   fakeReply // how it does instead; without a call, the DataNode says nothing
		do    func(context.Context, *Client) error
	}{
		"the NameNode says nothing":            {"getFileInfo", fakeReply{never: true}, read},
		"the NameNode is a standby":            {"getFileInfo", exception(standbyClass), read},
		"the NameNode is in safe mode":         {"create", exception(safeModeClass), write},
		"the NameNode says nothing at first":   {"getServerDefaults", fakeReply{never: true}, read},
		"a DataNode says nothing to a reader":  {"", fakeReply{}, read},
		"a DataNode says nothing to a writer":  {"", fakeReply{}, write},
		"the NameNode says nothing of a block": {"addBlock", fakeReply{never: true}, write},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			reached := make(chan struct{}, 1) // has a value when what does not end has begun
			begun := func() {
				select {
				case reached <- struct{}{}:
				default:
				}
			}
			nn := active(func(c fakeCall) fakeReply {
				if c.method == x.waits {
					begun()
					return x.how
				}
				answer, ok := answers[c.method]
				if !ok {
					panic("asked for " + c.method)
				}
				return answer
			})
			dn := &fakeNameNode{raw: func(c net.Conn) { // takes all and says nothing
				for buf := make([]byte, 64<<10); ; begun() {
					if _, err := c.Read(buf); err != nil {
						return
					}
				}
			}}
			client := must(New(Options{
				NameNodes: []string{"a:1"}, User: "me", DialContext: fakeCluster{"a:1": nn, "10.0.0.9:9866": dn}.dial,
				CallTimeout: time.Hour, RetryFor: time.Hour,
			}))
			defer client.Close()
			stopped := errors.New("stopped")
			ctx, stop := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- x.do(ctx, client) }()
			<-reached
			stop(stopped)
			select {
			case err := <-ended:
				if !errors.Is(err, stopped) {
					t.Errorf("%v; want %q in it", err, stopped)
				}
			case <-time.After(time.Minute):
				t.Fatal("it goes on for a minute after the end of its context")
			}
		})
	}
}

// TestFilesOfOneContext: callers with one context share a client, those of another
// have another, and closing ends all.
func TestFilesOfOneContext(t *testing.T) {
	nn := active(func(fakeCall) fakeReply {
		return fakeReply{message: unknown(message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096)))}
	})
	client := fakeCluster{"a:1": nn}.client(t, "a:1")
	ctx, stop := context.WithCancel(t.Context())
	type key struct{}
	first, same := must(client.Files(ctx)), must(client.Files(context.WithValue(ctx, key{}, 1)))
	other, endless, endlessToo := must(client.Files(t.Context())), must(client.Files(context.Background())),
		must(client.Files(context.WithoutCancel(ctx)))
	if first != same || endless != endlessToo || first == other || first == endless || other == endless {
		t.Errorf("clients %p %p of one context, %p of another, %p %p of none", first, same, other, endless, endlessToo)
	}
	stop()
	errtest.Is(t, errOf(client.Files(ctx)), context.Canceled)
	if err := client.Close(); err != nil || len(client.files) > 0 { // waits for all of them
		t.Errorf("error %v, %d clients left", err, len(client.files))
	}
	errtest.Is(t, errOf(client.Files(t.Context())), net.ErrClosed)
}
