package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// kinit is the command that gets the user a ticket.
func (i *Identity) kinit() string {
	return strings.TrimSpace("KRB5_CONFIG=" + i.o.Conf + " kinit -c " + i.o.TicketCache + " " + i.o.Principal)
}

// unread returns an error about a file that names the file once.
func unread(path string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at
	}
	return fmt.Errorf("%s: %w", path, err)
}

// explain says why the realm gives no ticket, and what to do next.
func (i *Identity) explain(err error, who string, conf *config.Config) error {
	text := err.Error()
	_, realm, _ := strings.Cut(who, "@")
	next := ""
	refusal := messages.KRBError{}
	errors.As(err, &refusal)
	code := refusal.ErrorCode
	switch {
	case code == errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		next = "the realm has no such user; 'klist -k " + i.o.Keytab + "' lists the principals of the keytab"
	case code == errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		next = "the realm has no such service; the cluster file has to name the host as the service's principal does"
	case code == errorcode.KDC_ERR_CLIENT_REVOKED, code == errorcode.KDC_ERR_KEY_EXPIRED:
		next = "the user may not log in any more; ask the administrator of " + realm
	case strings.Contains(text, "not found in keytab"):
		next = "the keytab has no key of the user; 'klist -ke " + i.o.Keytab + "' lists its keys"
	case code == errorcode.KDC_ERR_PREAUTH_FAILED, strings.Contains(text, "integrity verification failed"):
		next = "the key of the keytab is not that of the user, or not any more; get a new keytab from the administrator of " + realm
	case code == errorcode.KDC_ERR_PREAUTH_REQUIRED:
		next = "the KDC wants another proof than a key; ask the administrator of " + realm
	case code == errorcode.KRB_AP_ERR_SKEW, strings.Contains(text, "clock skew"):
		next = "the clocks of this machine and of the KDC differ too much; set them right ('timedatectl set-ntp true')"
	case code == errorcode.KDC_ERR_WRONG_REALM:
		next = "the user is of another realm; give the principal as NAME@REALM"
	case strings.Contains(text, "no KDCs defined"), strings.Contains(text, "no KDC SRV records"),
		strings.Contains(text, "no such host"), !named(conf, realm):
		next = "no KDC of " + realm + " is known; name one in the section [realms] of " + i.o.Conf
	case errors.Is(err, errNoKDC):
		next = "no KDC of " + realm + " answers; is it up, and is its address right in " + i.o.Conf + "?"
	default:
		return &explained{shortened(text), err}
	}
	return &explained{fmt.Sprintf("%s (%s)", next, shortened(cause(text))), err}
}

// explained is an error with another text.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }

// cause returns the last part of the library's text, which is nearest to what happened.
func cause(text string) string {
	for _, from := range []string{"KRB Error: ", errNoKDC.Error() + ": ", "_Error: "} {
		if at := strings.LastIndex(text, from); at >= 0 {
			return text[at+len(from):]
		}
	}
	return text
}

// shortened returns what a KDC says in one line of bounded length.
func shortened(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// named reports whether the configuration names a realm, or lets it be found by DNS.
func named(conf *config.Config, realm string) bool {
	return conf.LibDefaults.DNSLookupKDC || slices.ContainsFunc(conf.Realms, func(r config.Realm) bool { return r.Realm == realm })
}
