package kerberos_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/harness/kerberos"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
)

// TestOutlivesTheTicket: a user stays known for much longer than a ticket lives, with a
// keytab and with a ticket cache whose ticket is renewable, also while nobody asks for a
// ticket for hours.
func TestOutlivesTheTicket(t *testing.T) {
	for name, x := range map[string]struct {
		keytab           bool
		renewable        time.Duration
		every, last      time.Duration // how often a ticket is asked for, and for how long
		logins, renewals int32         // at least
		want             string        // what is said at the end; empty if the user is known then
	}{
		"keytab":                     {keytab: true, every: 7 * time.Minute, last: 10 * time.Hour, logins: 10},
		"keytab, asked seldom":       {keytab: true, every: 5 * time.Hour, last: 20 * time.Hour, logins: 20},
		"ticket cache":               {renewable: 7 * 24 * time.Hour, every: 7 * time.Minute, last: 10 * time.Hour, renewals: 10},
		"ticket cache, asked seldom": {renewable: 7 * 24 * time.Hour, every: 5 * time.Hour, last: 20 * time.Hour, renewals: 20},
		"until it cannot be renewed": {
			renewable: 3 * time.Hour, every: 7 * time.Minute, last: 4 * time.Hour, renewals: 3,
			want: "its ticket has expired; renew it with",
		},
		"ticket that is not renewable": {every: 7 * time.Minute, last: 90 * time.Minute, want: "its ticket has expired; renew it with"},
	} {
		t.Run(name, func(t *testing.T) {
			kdc := kdctest.Start(t, "alice", "nn/a")
			kdc.Renewable = x.renewable
			keytab, cache := kdc.Keytab(t, "alice", ""), filepath.Join(t.TempDir(), "tickets")
			synctest.Test(t, func(t *testing.T) {
				o := kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: keytab}
				if !x.keytab {
					kdc.Tickets(t, cache, "alice", time.Now().Add(time.Hour), time.Now().Add(x.renewable))
					o.Keytab, o.TicketCache = "", cache
				}
				who := errtest.Must(kerberos.New(o))
				defer who.Close()
				for start := time.Now(); time.Since(start) < x.last; <-time.After(x.every) {
					c, err := who.Client(t.Context(), "nn/a")
					switch {
					case err != nil && x.want != "" && strings.Contains(err.Error(), x.want):
						if time.Since(start) < max(time.Hour, x.renewable) {
							t.Errorf("after %v: %v", time.Since(start), err)
						}
						return
					case err != nil:
						t.Fatalf("after %v: %v", time.Since(start), err)
					}
					if _, _, ok := c.GetCachedTicket("nn/a"); !ok {
						t.Fatalf("after %v: the ticket for nn/a is not valid", time.Since(start))
					}
				}
				if x.want != "" {
					t.Errorf("the user is known after %v", x.last)
				}
			})
			if logins, renewals := kdc.Logins.Load(), kdc.Renewals.Load(); logins < x.logins || renewals < x.renewals || logins > 30 ||
				renewals > 30 {
				t.Errorf("%d logins, %d renewals; want at least %d and %d, and at most 30", logins, renewals, x.logins, x.renewals)
			}
		})
	}
}

// TestKDCAway: while the KDC is away the ticket that is there serves until its end, and
// after that the KDC is asked again as soon as a ticket is needed.
func TestKDCAway(t *testing.T) {
	kdc := kdctest.Start(t, "alice", "nn/a")
	keytab := kdc.Keytab(t, "alice", "")
	synctest.Test(t, func(t *testing.T) {
		who := errtest.Must(kerberos.New(kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: keytab}))
		defer who.Close()
		errtest.Must(who.Client(t.Context(), ""))
		kdc.Refuse.Store(29) // a service is not available
		<-time.After(58 * time.Minute)
		if _, err := who.Client(t.Context(), ""); err != nil {
			t.Errorf("with 2 min of the ticket left: %v", err)
		}
		<-time.After(5 * time.Minute)
		errtest.Has(t, errtest.Of(who.Client(t.Context(), "")), "log in alice@"+kdctest.Realm)
		kdc.Refuse.Store(0)
		if _, err := who.Client(t.Context(), ""); err != nil {
			t.Errorf("when the KDC is back: %v", err)
		}
	})
}

// TestWaysToTheKDC: the user gets a ticket from a KDC that wants a proof of the user's
// key, by UDP, by TCP where the answer is too long for UDP, and for a service of another
// realm.
func TestWaysToTheKDC(t *testing.T) {
	kdc := kdctest.Start(t, "alice", "nn/a")
	kdc.Move(t, "nn/far")
	keytab := kdc.Keytab(t, "alice", "")
	conf := func(address string) string {
		path := filepath.Join(t.TempDir(), "krb5.conf")
		text := fmt.Sprintf("[libdefaults]\n default_realm = %[1]s\n dns_lookup_kdc = false\n[realms]\n %[1]s = {\n  kdc = %[2]s\n }\n",
			kdctest.Realm, address)
		mustDo(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	// A KDC by UDP that answers, and one whose every answer is too long.
	whole, short := listenUDP(t, "127.0.0.1:0"), listenUDP(t, kdc.Address)
	go eachDatagram(whole, func(ask []byte) []byte { return overTCP(kdc.Address, ask) })
	go eachDatagram(short, func([]byte) []byte {
		tooBig := messages.NewKRBError(types.NewPrincipalName(1, "krbtgt"), kdctest.Realm, errorcode.KRB_ERR_RESPONSE_TOO_BIG, "")
		data, err := tooBig.Marshal()
		if err != nil {
			t.Error(err)
		}
		return data
	})
	for _, x := range []struct {
		name, conf, service string
		proof               bool
	}{
		{"with a proof", kdc.Conf, "nn/a", true},
		{"by UDP", conf(whole.LocalAddr().String()), "nn/a", false},
		{"too long for UDP", conf(kdc.Address), "nn/a", true},
		{"another realm", kdc.Conf, "nn/far", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			kdc.WantsProof.Store(x.proof)
			who := errtest.Must(kerberos.New(kerberos.Options{Conf: x.conf, Principal: "alice", Keytab: keytab}))
			defer who.Close()
			c := errtest.Must(who.Client(t.Context(), x.service))
			ticket, _, ok := c.GetCachedTicket(x.service)
			if !ok || ticket.DecryptEncPart(kdc.Keys, nil) != nil || ticket.DecryptedEncPart.CName.PrincipalNameString() != "alice" {
				t.Errorf("ticket %v: %+v", ok, ticket)
			}
			if again, err := who.Client(t.Context(), x.service); err != nil || again != c {
				t.Errorf("the ticket is asked for again (%v)", err)
			}
		})
	}
	t.Run("with a wrong proof", func(t *testing.T) {
		kdc.WantsProof.Store(true)
		who := errtest.Must(kerberos.New(kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: kdc.Keytab(t, "alice", "an old password")}))
		defer who.Close()
		errtest.Has(t, errtest.Of(who.Client(t.Context(), "")), "get a new keytab from the administrator")
	})
}

func listenUDP(t *testing.T, address string) net.PacketConn {
	t.Helper()
	c := errtest.Must(net.ListenPacket("udp", address))
	t.Cleanup(func() { c.Close() })
	return c
}

// eachDatagram answers each datagram of a socket until it is closed.
func eachDatagram(c net.PacketConn, answer func(ask []byte) []byte) {
	ask := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFrom(ask)
		if err != nil {
			return
		}
		c.WriteTo(answer(ask[:n]), from) //nolint:errcheck // who asks may have left
	}
}

// overTCP returns what a KDC answers over TCP, and nothing if it does not.
func overTCP(address string, ask []byte) []byte {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil
	}
	defer c.Close()
	if _, err := c.Write(kdctest.Frame(ask)); err != nil {
		return nil
	}
	answer, _ := io.ReadAll(c)
	return answer[min(4, len(answer)):]
}

// TestHostileKDC: whatever answers in the place of a KDC, no ticket of it is taken, and
// nothing breaks.
func TestHostileKDC(t *testing.T) {
	kdc := kdctest.Start(t, "alice")
	keytab := kdc.Keytab(t, "alice", "")
	der := func(tag byte, parts ...[]byte) []byte {
		var b []byte
		for _, p := range parts {
			b = append(b, p...)
		}
		return append(append([]byte{tag, 0x82}, binary.BigEndian.AppendUint16(nil, uint16(len(b)))...), b...)
	}
	long3 := func(tag byte, b []byte) []byte {
		return append([]byte{tag, 0x83, byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
	}
	number := func(n byte) []byte { return []byte{2, 1, n} }
	text := func(s string) []byte { return der(0x1b, []byte(s)) }
	// An error that wants a proof by one of no kinds of keys, at which the library panics.
	noKinds := der(0x30, der(0x30, der(0xa1, number(19)), der(0xa2, der(4, der(0x30)))))
	wantsProof := der(0x7e, der(0x30, der(0xa0, number(5)), der(0xa1, number(30)), der(0xa4, der(0x18, []byte("20260101000000Z"))),
		der(0xa5, number(0)), der(0xa6, number(25)),
		der(0xa9, text(kdctest.Realm)), der(0xaa, der(0x30, der(0xa0, number(2)), der(0xa1, der(0x30, text("krbtgt"))))),
		der(0xac, der(4, noKinds))))
	long := der(0x7e, der(0x30, der(0xa0, number(5)), der(0xa1, number(30)), der(0xa4, der(0x18, []byte("20260101000000Z"))),
		der(0xa5, number(0)), der(0xa6, number(6)),
		der(0xa9, text(kdctest.Realm)), der(0xaa, der(0x30, der(0xa0, number(2)), der(0xa1, der(0x30, text("krbtgt"))))),
		der(0xab, text("\x1b[2J\n"+strings.Repeat("no ", 9000)))))
	many := long3(0x6b, long3(0x30, long3(0xa2, long3(0x30, bytes.Repeat([]byte{0x30, 0}, 500_000)))))
	for name, lie := range map[string][]byte{
		"says nothing":              {},
		"announces more than comes": {0, 0, 1, 0, 1, 2, 3},
		"announces 4 GiB":           {255, 255, 255, 255},
		"announces 1 MiB and 1":     {0, 16, 0, 1},
		"a million small things":    kdctest.Frame(many),
		"an empty answer":           {0, 0, 0, 0},
		"garbage":                   kdctest.Frame([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")),
		"no kind of key":            kdctest.Frame(wantsProof),
		"a long error":              kdctest.Frame(long),
		"an answer of nothing":      kdctest.Frame(der(0x6b, der(0x30))),
	} {
		t.Run(name, func(t *testing.T) {
			kdc.Lie.Store(&lie)
			who, err := kerberos.New(kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: keytab})
			mustDo(t, err)
			defer who.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = who.Client(t.Context(), "")
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
				t.Errorf("it took %d bytes of memory", took)
			}
			if err == nil || !strings.Contains(err.Error(), "log in alice@"+kdctest.Realm) || len(err.Error()) > 2000 ||
				strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%.3000q", err)
			}
		})
	}
}

var mustDo = errtest.None
