// Package kerberos proves to Hadoop's daemons who a user is. An [Identity] has the
// user's key from a keytab, or the tickets that kinit has written. It gives requests to
// web addresses a ticket ([Identity.Transport]) and HDFS clients a Kerberos client
// ([Identity.Client]), for as long as a run takes: from a keytab it logs in again
// before a ticket ends, and a ticket cache is read again after each kinit.
//
// It makes no principal and no keytab, knows no cluster, and writes nothing: no key
// and no ticket gets into an error.
package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// Options say who the user is and where the proof of it lies.
type Options struct {
	// Conf is the path of the Kerberos configuration, such as /etc/krb5.conf.
	Conf string
	// Principal is the user's name in Kerberos, with or without its realm.
	// Realm is the realm if the principal has none; empty means the default realm
	// of Conf.
	Principal, Realm string
	// Keytab is the path of a file with the principal's key. TicketCache is the path
	// of a file with tickets. One of them is given.
	Keytab, TicketCache string
}

// Error says why a user cannot prove who they are, and what to do next.
type Error struct{ err error }

func (e *Error) Error() string { return "kerberos: " + e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Unauthenticated marks the error for clients of daemons, whose daemon it does not come
// from.
func (e *Error) Unauthenticated() {}

func failf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Identity is a user who can prove who they are. Many goroutines may use it.
type Identity struct {
	o Options

	mu     sync.Mutex
	client *client.Client
	read   time.Time // modification time of the ticket cache that client was made of
}

// New returns an identity. Files are read and the realm is asked when the identity is
// needed first.
func New(o Options) (*Identity, error) {
	if (o.Keytab == "") == (o.TicketCache == "") {
		return nil, failf("want a keytab or a ticketCache, and not both")
	}
	if o.Keytab != "" && o.Principal == "" {
		return nil, failf("keytab %s: want a principal too; 'klist -k %[1]s' lists those that it has keys of", o.Keytab)
	}
	return &Identity{o: o}, nil
}

// Client returns a Kerberos client that has a valid ticket.
func (i *Identity) Client() (*client.Client, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.o.TicketCache != "" {
		return i.ofCache()
	}
	if i.client != nil {
		return i.client, nil
	}
	conf, err := i.conf()
	if err != nil {
		return nil, err
	}
	keys, err := keytab.Load(i.o.Keytab)
	if err != nil {
		return nil, failf("read keytab: %w", unread(i.o.Keytab, err))
	}
	name, realm := i.principal(conf)
	c := client.NewWithKeytab(name, realm, keys, conf, client.DisablePAFXFAST(true))
	if err := c.Login(); err != nil {
		c.Destroy()
		return nil, i.explain(err)
	}
	i.client = c
	return c, nil
}

// ofCache returns a client with the tickets of the ticket cache, which is read again
// whenever it has changed.
func (i *Identity) ofCache() (*client.Client, error) {
	info, err := os.Stat(i.o.TicketCache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failf("ticket cache %s: there is none; get a ticket with '%s'", i.o.TicketCache, i.kinit())
	}
	if err != nil {
		return nil, failf("ticket cache: %w", err)
	}
	if i.client != nil && info.ModTime().Equal(i.read) {
		if err := i.client.Login(); err != nil { // asks nobody, but looks at the end of the ticket
			return nil, failf("ticket cache %s: its ticket has expired; renew it with '%s'", i.o.TicketCache, i.kinit())
		}
		return i.client, nil
	}
	conf, err := i.conf()
	if err != nil {
		return nil, err
	}
	cache, err := loadTickets(i.o.TicketCache)
	if err != nil {
		return nil, failf("read ticket cache: %w", unread(i.o.TicketCache, err))
	}
	if name, realm := i.principal(conf); name != "" {
		if has, of := cache.GetClientPrincipalName().PrincipalNameString(), cache.GetClientRealm(); has != name || of != realm {
			return nil, failf("ticket cache %s has tickets of %s@%s, not of %s@%s; get one with '%s'", i.o.TicketCache, has, of, name, realm, i.kinit())
		}
	}
	c, err := client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true))
	if err == nil {
		err = c.Login()
	}
	if err != nil {
		return nil, failf("ticket cache %s has no valid ticket: %w; get one with '%s'", i.o.TicketCache, err, i.kinit())
	}
	i.client, i.read = c, info.ModTime()
	return c, nil
}

// loadTickets reads a ticket cache. The library panics at one that ends too early, as
// one that kinit has not finished writing does.
func loadTickets(path string) (cache *credentials.CCache, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is cut off")
		}
	}()
	return credentials.LoadCCache(path)
}

// Close ends what renews tickets.
func (i *Identity) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.client != nil {
		i.client.Destroy()
		i.client = nil
	}
}

func (i *Identity) conf() (*config.Config, error) {
	conf, err := config.Load(i.o.Conf)
	if err != nil {
		return nil, failf("read the configuration: %w", unread(i.o.Conf, err))
	}
	return conf, nil
}

// principal returns the name and the realm of the user.
func (i *Identity) principal(conf *config.Config) (name, realm string) {
	name, realm, _ = strings.Cut(i.o.Principal, "@")
	switch {
	case realm != "":
	case i.o.Realm != "":
		realm = i.o.Realm
	default:
		realm = conf.LibDefaults.DefaultRealm
	}
	return name, realm
}

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

// explain returns an error of a login with what to do next.
func (i *Identity) explain(err error) error {
	return failf("log in %s with keytab %s: %w", i.o.Principal, i.o.Keytab, err)
}
