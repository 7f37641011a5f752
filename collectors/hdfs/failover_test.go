package hdfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
	"heddle/traces/errtest"
)

const (
	standbyClass   = "org.apache.hadoop.ipc.StandbyException"
	retriableClass = "org.apache.hadoop.ipc.RetriableException"
	safeModeClass  = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
)

// file answers every call with a file of length bytes.
func file(length uint64) func(fakeCall) fakeReply {
	return func(fakeCall) fakeReply { return fileReply(length) }
}

func fileReply(length uint64) fakeReply {
	return fakeReply{message: &hdfspb.GetFileInfoResponse{Fs: &hdfspb.FileStatus{Length: length}}}
}

// failovers are what two NameNodes answer: each has a state, and a word for each call, of
// which the last stands for all that come after it. Then come the retry counts that each must
// have seen, the time that passed for the client in ms, virtual, and what is in the error;
// without that, the call succeeds. The first NameNode is asked first.
const failovers = `one, no HA|none file||0||0|
first is standby|STANDBY refuse|ACTIVE file||0|0|
observer is not asked|OBSERVER refuse|ACTIVE file||0|0|
first is down|down|ACTIVE file||0|0|
becomes standby|ACTIVE refuse|ACTIVE file|0|1|0|
cut during the call|ACTIVE cut file||0 1||0|
retry later|ACTIVE later safe file||0 1 2||100|
hangs|ACTIVE never file|ACTIVE file|0|1|10000|
safe mode for long|ACTIVE safe||0 1 2 3 4 5 6 7 8 9 10 11||19100|because (SafeModeException) (gave up after 12 tries)
all are standby|STANDBY refuse|STANDBY refuse|||19100|no NameNode reached: NameNode a:1: state is STANDBY
not retried|ACTIVE odd|ACTIVE file|0||0|stat hdfs /f: NameNode a:1: because (IOException)`

func TestFailover(t *testing.T) {
	replies := map[string]fakeReply{
		"file": fileReply(1), "cut": {cut: true}, "never": {never: true}, "refuse": exception(standbyClass),
		"later": exception(retriableClass), "safe": exception(safeModeClass), "odd": exception("java.io.IOException"),
	}
	addresses := []string{"a:1", "b:1"}
	for row := range strings.SplitSeq(failovers, "\n") {
		c := strings.Split(row, "|")
		nodes := fakeCluster{}
		for i, text := range c[1:3] {
			if words := strings.Fields(text); len(words) > 0 {
				state := hdfspb.GetHAServiceStateResponse_State_value[words[0]]
				nn := inState(hdfspb.GetHAServiceStateResponse_State(state), func(call fakeCall) fakeReply {
					return replies[words[min(call.nth+1, len(words)-1)]]
				})
				if nn.down = words[0] == "down"; words[0] == "none" {
					nn.ha = noHA
				}
				nodes[addresses[i]] = nn
			}
		}
		t.Run(c[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := nodes.client(t, addresses[:len(nodes)]...)
				start := time.Now()
				f, err := client.Stat(t.Context(), "/f")
				if wantError(t, err, c[6]); err == nil && f.Length != 1 {
					t.Errorf("got %v; want the file of 1 byte", f)
				}
				if got := fmt.Sprint(time.Since(start).Milliseconds()); got != c[5] {
					t.Errorf("took %s ms, want %s", got, c[5])
				}
				var all []fakeCall
				for i, want := range c[3:][:len(nodes)] {
					calls := nodes[addresses[i]].seen()
					if got := retries(calls); got != want {
						t.Errorf("%s was asked with retry counts %q, want %q", addresses[i], got, want)
					}
					all = append(all, calls...)
				}
				for _, call := range all {
					if call.id != all[0].id || call.clientID != all[0].clientID || call.user != "me" {
						t.Errorf("tries differ: %+v and %+v", all[0], call)
					}
				}
			})
		})
	}
}

func retries(calls []fakeCall) string {
	var s []string
	for _, c := range calls {
		s = append(s, fmt.Sprint(c.retry))
	}
	return strings.Join(s, " ")
}

// A call whose answer is lost is carried out once.
func TestRetryCacheAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := map[string]int64{}
		var mu sync.Mutex
		nn := active(func(c fakeCall) fakeReply {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(c.clientID, c.id)
			if done[key] == 0 {
				done[key] = int64(len(done) + 1)
				return fakeReply{cut: true}
			}
			return fakeReply{message: &hdfspb.AddCacheDirectiveResponse{Id: done[key]}}
		})
		c := fakeCluster{"a:1": nn}.client(t, "a:1")
		for want := int64(1); want <= 2; want++ {
			id, err := c.AddCacheDirective(t.Context(), CacheDirective{Path: "/f", Pool: "p"})
			if err != nil || id != want {
				t.Errorf("got id %d, %v; want %d", id, err, want)
			}
		}
		if len(done) != 2 {
			t.Errorf("the NameNode carried out %d calls, want 2", len(done))
		}
	})
}

// Replies come in any order, and calls do not wait for each other.
func TestCallsShareOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nn := active(func(c fakeCall) fakeReply {
			req := &hdfspb.GetFileInfoRequest{}
			c.decode(req)
			var n int
			fmt.Sscanf(req.GetSrc(), "/f%d", &n)
			r := fileReply(uint64(n))
			r.after = time.Duration(10-n) * 100 * time.Millisecond
			return r
		})
		c := fakeCluster{"a:1": nn}.client(t, "a:1")
		start := time.Now()
		var group sync.WaitGroup
		for n := range 10 {
			group.Go(func() {
				f, err := c.Stat(t.Context(), fmt.Sprintf("/f%d", n))
				if err != nil || f.Length != int64(n) {
					t.Errorf("/f%d: got %d bytes, %v", n, f.Length, err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("ten calls of at most 1 s took %v", took)
		}
	})
}

// A caller that gives up leaves the connection to the others.
func TestCancelOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nn := active(func(fakeCall) fakeReply { r := fileReply(1); r.after = time.Second; return r })
		c := fakeCluster{"a:1": nn}.client(t, "a:1")
		impatient, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			errtest.Is(t, errOf(c.Stat(impatient, "/f")), context.DeadlineExceeded)
		})
		group.Go(func() {
			if _, err := c.Stat(t.Context(), "/f"); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		for _, call := range nn.seen() {
			if call.retry != 0 {
				t.Errorf("sent again: %+v", call)
			}
		}
	})
}

// What once was a NameNode's address is worth waiting for; what never was is not.
func TestWaitsOnlyForKnownNameNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nn := active(file(1))
		nn.down = true
		c := fakeCluster{"a:1": nn}.client(t, "a:1")
		start := time.Now()
		_, err := c.Stat(t.Context(), "/f")
		if !errors.Is(err, ErrUnreachable) || time.Since(start) != 0 {
			t.Errorf("after %v: %v; want ErrUnreachable at once", time.Since(start), err)
		}
		nn.setDown(false)
		must(c.Stat(t.Context(), "/f"))
		c.nameNode.Close(errors.New("restarted"))
		nn.setDown(true)
		time.AfterFunc(5*time.Second, func() { nn.setDown(false) })
		if _, err := c.Stat(t.Context(), "/f"); err != nil {
			t.Errorf("NameNode was away for 5 s: %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nn := active(func(fakeCall) fakeReply { return fakeReply{never: true} })
		c := fakeCluster{"a:1": nn}.client(t, "a:1")
		var group sync.WaitGroup
		group.Go(func() {
			errtest.Is(t, errOf(c.Stat(t.Context(), "/f")), net.ErrClosed)
		})
		synctest.Wait()
		c.Close()
		group.Wait()
		errtest.Is(t, errOf(c.Stat(t.Context(), "/f")), net.ErrClosed)
	})
}

// Whatever else may listen at the address, the error says so and what to do.
func TestNotANameNode(t *testing.T) {
	const nextStep = "is this an RPC address (for a NameNode dfs.namenode.rpc-address, usually port 8020)?"
	say := func(s string) *fakeNameNode {
		return &fakeNameNode{raw: func(c net.Conn) {
			go io.Copy(io.Discard, c)
			io.WriteString(c, s)
		}}
	}
	refuse := func(r fakeReply) *fakeNameNode {
		return &fakeNameNode{raw: func(c net.Conn) {
			go io.Copy(io.Discard, c)
			c.Write(r.frame())
		}}
	}
	for name, c := range map[string]struct {
		nn   *fakeNameNode
		is   error
		want []string
	}{
		"web server": {say("HTTP/1.1 400 Bad Request\r\n\r\n"), ErrUnreachable, []string{"a:1: answered in HTTP; " + nextStep}},
		"ssh": {say("SSH-2.0-OpenSSH_9.2\r\n"), ErrUnreachable, []string{
			`answered "SSH-2.0-OpenSSH_9.2\r\n", which is not Hadoop IPC`,
			nextStep,
		}},
		"closes":      {say(""), ErrUnreachable, []string{"closed before any answer", nextStep}},
		"zero length": {say("\x00\x00\x00\x00"), ErrUnreachable, []string{`answered "\x00\x00\x00\x00", which is not Hadoop IPC`, nextStep}},
		"too large": {
			say("\x08\x00\x00\x01"), ErrUnreachable,
			[]string{"NameNode a:1: announced an answer of 134217729 bytes, above the 134217728", "ipc.maximum.response.length"},
		},
		"negative":  {say("\xff\xff\xff\xfb"), ErrUnreachable, []string{"NameNode a:1: announced an answer of -5 bytes, a negative length"}},
		"cut frame": {say("\x00\x00\x00\x10ab"), ErrUnreachable, []string{"unexpected EOF"}},
		"no header": {say("\x00\x00\x00\x02\x7fa"), ErrUnreachable, []string{"answer not understood: response header", nextStep}},
		"secure": {refuse(fakeReply{
			id: -1, fatal: true, class: "org.apache.hadoop.security.AccessControlException",
			text: "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]", detail: hdfspb.ResponseHeader_FATAL_UNAUTHORIZED,
		}), ErrSecure, []string{"requires Kerberos", "write security: kerberos in the cluster file"}},
		"ResourceManager": {&fakeNameNode{ha: fakeReply{
			class: "org.apache.hadoop.ipc.RpcNoSuchProtocolException", fatal: true,
			text: "Unknown protocol: " + clientProtocol, detail: hdfspb.ResponseHeader_ERROR_NO_SUCH_PROTOCOL,
		}}, ErrUnreachable, []string{"a:1 speaks Hadoop IPC but is no NameNode", "Unknown protocol", "is this dfs.namenode.rpc-address?"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fakeCluster{"a:1": c.nn}.client(t, "a:1")
				start := time.Now()
				_, err := client.Stat(t.Context(), "/f")
				if !errors.Is(err, c.is) {
					t.Fatalf("error %v, want %v in it", err, c.is)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q lacks %q", err, want)
					}
				}
				if time.Since(start) != 0 {
					t.Errorf("took %v, want an error at once", time.Since(start))
				}
			})
		})
	}
}

func TestRemoteErrors(t *testing.T) {
	for class, want := range map[string]error{
		"java.io.FileNotFoundException":                     fs.ErrNotExist,
		"org.apache.hadoop.security.AccessControlException": fs.ErrPermission,
		"org.apache.hadoop.fs.FileAlreadyExistsException":   fs.ErrExist,
		"org.apache.hadoop.fs.InvalidRequestException":      fs.ErrInvalid,
	} {
		synctest.Test(t, func(t *testing.T) {
			nn := active(func(fakeCall) fakeReply { return exception(class) })
			_, err := fakeCluster{"a:1": nn}.client(t, "a:1").Stat(t.Context(), "/f")
			var remote *RemoteError
			if !errors.Is(err, want) || !errors.As(err, &remote) || remote.Class != class || remote.Message != "because" {
				t.Errorf("%s: got %v (%+v), want %v", class, err, remote, want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for nodes, want := range map[string]string{
		"": "no NameNode given", "nn": `NameNode "nn" is not "host:port"`,
		"nn:8020 http://nn:9870": `NameNode "http://nn:9870" is not "host:port"`,
		":8020":                  `is not "host:port"`,
	} {
		wantError(t, errOf(New(Options{NameNodes: strings.Fields(nodes)})), want)
	}
}

// Whatever ends a call, the error names the NameNode.
func TestFailuresNameTheNameNode(t *testing.T) {
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, c := range map[string]struct {
		nn    *fakeNameNode
		limit time.Duration
	}{
		"silent, and the caller's limit":    {&fakeNameNode{raw: silent}, time.Second},
		"starting, and the caller's limit":  {active(func(fakeCall) fakeReply { return exception(retriableClass) }), time.Second},
		"closes, and the caller's limit":    {active(func(fakeCall) fakeReply { return fakeReply{cut: true} }), time.Second},
		"closes again and again":            {active(func(fakeCall) fakeReply { return fakeReply{cut: true} }), time.Hour},
		"answers what cannot be understood": {active(func(fakeCall) fakeReply { return fakeReply{garbage: true} }), time.Hour},
		"knows no root folder":              {active(func(fakeCall) fakeReply { return fakeReply{} }), time.Hour},
		"demands Kerberos of one that called": {active(func(fakeCall) fakeReply {
			return fakeReply{
				class: "org.apache.hadoop.security.AccessControlException", fatal: true,
				detail: hdfspb.ResponseHeader_FATAL_UNAUTHORIZED,
			}
		}), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := errors.New("time is up")
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.limit, limit)
				defer cancel()
				_, err := fakeCluster{"a:1": c.nn}.client(t, "a:1").Stat(ctx, "/")
				switch {
				case err == nil || !strings.Contains(err.Error(), "a:1"):
					t.Errorf("%v, want an error that names a:1", err)
				case c.limit == time.Second && !errors.Is(err, limit):
					t.Errorf("%v, want the caller's reason in it", err)
				case c.limit > time.Second && !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrSecure):
					t.Errorf("%v, want ErrUnreachable or ErrSecure", err)
				case errors.Is(err, fs.ErrPermission):
					t.Errorf("%v is taken for a missing right", err)
				}
			})
		})
	}
}

// TestLibraryCalls: the library's calls outlast what calls of Client outlast, and
// each is carried out once. They are made as the library makes them, without it,
// since it waits for a mutex meanwhile.
func TestLibraryCalls(t *testing.T) {
	refusing, cut := exception(standbyClass), fakeReply{cut: true}
	safe, denied := exception(safeModeClass), exception("org.apache.hadoop.security.AccessControlException")
	for name, c := range map[string]struct {
		a, b   []fakeReply   // what a:1 and b:1 answer at first; then they carry calls out; nil: they are down
		back   time.Duration // b:1 is up again after so long
		tookMs int64
		said   string // the class of the NameNode's exception
		err    string
	}{
		"as it should be":       {a: []fakeReply{}},
		"first is standby":      {a: []fakeReply{refusing}, b: []fakeReply{}},
		"cut during the call":   {a: []fakeReply{{}, cut}, b: []fakeReply{refusing}, tookMs: 100},
		"becomes standby":       {a: []fakeReply{{}, refusing, refusing}, b: []fakeReply{}},
		"both are standby":      {a: []fakeReply{{}, refusing, refusing}, b: []fakeReply{refusing, refusing}, tookMs: 700},
		"the other one is up":   {a: []fakeReply{{}, cut, cut, cut, cut, cut, cut}, back: 250 * time.Millisecond, tookMs: 300, b: nil},
		"in safe mode at first": {a: []fakeReply{{}, safe, safe}, tookMs: 100},
		"hangs":                 {a: []fakeReply{{}, {never: true}}, b: []fakeReply{}, tookMs: 10_000},
		// the addresses may be wrong
		"never was there": {back: 5 * time.Second, err: "no NameNode reached: NameNode a:1: dial tcp: connection refused"},
		"both standby for ever": {
			a: slices.Repeat([]fakeReply{refusing}, 99), b: slices.Repeat([]fakeReply{refusing}, 99), tookMs: 19_100,
			err: "NameNode b:1: because (StandbyException)",
		},
		"in safe mode for ever":   {a: append([]fakeReply{{}}, slices.Repeat([]fakeReply{safe}, 99)...), tookMs: 19_100, said: safeModeClass},
		"refused, for its rights": {a: []fakeReply{{}, denied}, b: []fakeReply{}, said: denied.class},
		"answers another thing":   {a: []fakeReply{{}, {garbage: true}}, b: []fakeReply{}}, // of an answer only the header is looked at
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				carriedOut := map[string]int{}
				node := func(answers []fakeReply) *fakeNameNode {
					nn := active(func(call fakeCall) (reply fakeReply) {
						mu.Lock()
						defer mu.Unlock()
						if len(answers) > 0 {
							reply, answers = answers[0], answers[1:]
						}
						if reply.class == "" && !reply.cut && !reply.never {
							carriedOut[fmt.Sprint(call.user, call.clientID, call.id, call.method)]++
						}
						return reply
					})
					nn.down = answers == nil
					return nn
				}
				a, b := node(c.a), node(c.b)
				client := fakeCluster{"a:1": a, "b:1": b}.client(t, "a:1", "b:1")
				time.AfterFunc(c.back, func() { b.setDown(c.b == nil && c.back == 0) })
				start := time.Now()
				calls := &libraryCalls{c: client, ctx: t.Context()}
				defer calls.Close()
				calls.Write(ipc.Greeting(0))
				calls.Write(must(ipc.AppendFrame(nil, ipc.RequestHeader(ipc.ContextCall, ipc.NoRetry, client.clientID[:]),
					&hdfspb.ConnectionContext{UserInfo: &hdfspb.UserInformation{EffectiveUser: new("me")}})))
				ask := func(id int32) (class string, err error) {
					calls.Write(must(ipc.AppendFrame(nil, ipc.RequestHeader(id, ipc.NoRetry, client.clientID[:]),
						&hdfspb.MethodHeader{MethodName: new("mkdirs")}, &hdfspb.Empty{})))
					frame, err := ipc.ReadFrame(bufio.NewReader(calls), ipc.MaxFrameBytes)
					if err != nil {
						return "", err
					}
					header, _, err := ipc.ParseReply(frame)
					if err == nil && header.GetCallId() != uint32(id) {
						t.Errorf("an answer to call %d, want to %d", header.GetCallId(), id)
					}
					return header.GetExceptionClass(), err
				}
				said, err := ask(1)
				if err == nil {
					said, err = ask(2)
				}
				if said != c.said || c.err == "" && err != nil || c.err != "" && (!noNameNode(err) || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("exception %q, error %v; want %q, %q", said, err, c.said, c.err)
				}
				if took := time.Since(start).Milliseconds(); took != c.tookMs {
					t.Errorf("took %d ms, want %d", took, c.tookMs)
				}
				mu.Lock()
				defer mu.Unlock()
				for call, times := range carriedOut {
					if times != 1 {
						t.Errorf("call %q was carried out %d times", call, times)
					}
				}
				if c.err == "" && c.said == "" && len(carriedOut) != 2 {
					t.Errorf("calls %v, want two", carriedOut)
				}
			})
		})
	}
}

// A NameNode that sends a byte now and then does not keep a call of Files alive.
// In real time, since colinmarc/hdfs waits for a mutex meanwhile.
func TestFilesAgainstDrip(t *testing.T) {
	nn := &fakeNameNode{raw: func(c net.Conn) {
		go io.Copy(io.Discard, c)
		_, err := c.Write([]byte{0, 16, 0, 0}) // of a frame of 1 MiB
		for err == nil {
			<-time.After(time.Millisecond)
			_, err = c.Write([]byte{0})
		}
	}}
	c := must(New(Options{
		NameNodes: []string{"a:1"}, User: "me", DialContext: fakeCluster{"a:1": nn}.dial,
		CallTimeout: 100 * time.Millisecond,
	}))
	defer c.Close()
	if _, err := c.Files(t.Context()); !errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "NameNode a:1: no answer within 100ms") {
		t.Errorf("error %v", err)
	}
}
