package kerberos_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/harness/kerberos"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
)

// FuzzLyingKDC: whatever a KDC answers, nobody is logged in without a ticket, and the
// error is short.
func FuzzLyingKDC(f *testing.F) {
	kdc := kdctest.Start(f, "alice", "nn/a")
	o := kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: kdc.Keytab(f, "alice", "")}
	f.Add([]byte{})
	for _, code := range []int32{errorcode.KDC_ERR_PREAUTH_REQUIRED, errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, errorcode.KRB_AP_ERR_SKEW} {
		refusal := messages.NewKRBError(types.NewPrincipalName(nametype.KRB_NT_SRV_INST, "krbtgt/"+kdctest.Realm), kdctest.Realm, code, "no")
		refusal.EData = []byte{0x30, 0x09, 0x30, 0x07, 0xa1, 0x03, 0x02, 0x01, 0x13, 0xa2, 0x00}
		answer := errtest.Must(refusal.Marshal())
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		kdc.Lie.Store(&answer)
		tried(t, o)
	})
}

// FuzzTicketCache: no file of tickets breaks what reads it.
func FuzzTicketCache(f *testing.F) {
	kdc := kdctest.Start(f, "alice", "nn/a")
	cache := filepath.Join(f.TempDir(), "cache")
	o := kerberos.Options{Conf: kdc.Conf, Principal: "alice", TicketCache: cache}
	f.Add([]byte{5, 4})
	f.Add([]byte{5, 4, 0, 12, 0, 1, 0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		mustDo(t, os.WriteFile(cache, data, 0o600))
		tried(t, o)
	})
}

func tried(t *testing.T, o kerberos.Options) {
	who, err := kerberos.New(o)
	if err == nil {
		defer who.Close()
		_, err = who.Client(t.Context(), "")
	}
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("error %.3000v; want a short one", err)
	}
}
