package hdfs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// TestEndedProof: where a NameNode that wants Kerberos, or the KDC, does not answer, a
// call returns when its context ends, and says what it waited for.
func TestEndedProof(t *testing.T) {
	login, keys := aliceAnd(t)
	enough := errors.New("the user has waited enough")
	for name, x := range map[string]struct {
		at    hdfspb.Sasl_State // the NameNode does not send this step
		login bool              // the KDC does not answer
		limit time.Duration     // the client's own limit for a call, if that ends it
		files bool              // the library colinmarc/hdfs is asked for a client
		says  string
	}{
		"the offer":      {at: hdfspb.Sasl_NEGOTIATE, says: "NameNode a:1: "},
		"its proof":      {at: hdfspb.Sasl_CHALLENGE, says: "NameNode a:1: "},
		"the agreement":  {at: hdfspb.Sasl_SUCCESS, says: "NameNode a:1: "},
		"the KDC":        {login: true, says: "a KDC that hangs"},
		"the KDC, files": {login: true, files: true, says: "a KDC that hangs"},
		"the client's limit": {
			at: hdfspb.Sasl_NEGOTIATE, limit: 50 * time.Millisecond,
			says: "NameNode a:1: it has not answered where it has to prove who it is: no answer within 50ms",
		},
		"the offer, files": {at: hdfspb.Sasl_NEGOTIATE, files: true, says: "a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			hung, done := make(chan struct{}, 10), make(chan struct{})
			defer close(done)
			nn := &kerberosNameNode{keys: keys, offer: encrypted, serve: answersStat(), step: func(is hdfspb.Sasl_State, frame []byte) []byte {
				if !x.login && is == x.at {
					hung <- struct{}{}
					<-done
				}
				return frame
			}}
			cluster := fakeCluster{"a:1": {raw: nn.raw}}
			c, err := New(Options{
				NameNodes: []string{"a:1"}, User: "me", DialContext: cluster.dial, CallTimeout: cmp.Or(x.limit, time.Hour),
				RetryFor: time.Nanosecond, Kerberos: &Kerberos{
					NameNode: "nn/_HOST",
					Login: func(ctx context.Context, _ string) (*client.Client, error) {
						if x.login {
							hung <- struct{}{}
							<-ctx.Done()
							return nil, unproven{context.Cause(ctx)}
						}
						return login, nil
					},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, end := context.WithCancelCause(t.Context())
			if x.limit == 0 {
				go func() { <-hung; end(enough) }()
			} else {
				defer end(nil)
			}
			if x.files {
				_, err = c.Files(ctx)
			} else {
				_, err = c.Stat(ctx, "/f")
			}
			if x.limit == 0 && !x.files && !errors.Is(err, enough) { // the library's errors wrap nothing
				t.Errorf("error %v; want one that wraps %q", err, enough)
			}
			wantError(t, err, x.says)
		})
	}
}

// unproven is an error of an identity, which says what it waited for.
type unproven struct{ err error }

func (u unproven) Error() string  { return "a KDC that hangs: " + u.err.Error() }
func (u unproven) Unwrap() error  { return u.err }
func (unproven) Unauthenticated() {}

// TestEndedWait: a call whose connection breaks while another one waits for the NameNode
// returns when its context ends.
func TestEndedWait(t *testing.T) {
	c := must(New(Options{NameNodes: []string{"a:1"}, User: "me"}))
	c.link <- struct{}{} // the other call connects
	defer func() { <-c.link }()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	cn := must(ipc.Open(t.Context(), ours, "a:1", ipc.Greeting(0), nil))
	ctx, end := context.WithCancel(t.Context())
	end()
	c.leave(ctx, cn, errors.New("it broke"))
	select {
	case <-cn.Done():
	default:
		t.Error("the connection is not closed")
	}
}
