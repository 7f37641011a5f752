// Package kerberos proves to Hadoop's daemons who a user is. An [Identity] has the
// user's key from a keytab, or the tickets that kinit has written. It gives requests to
// web addresses a ticket ([Identity.Transport]) and HDFS clients a Kerberos client
// ([Identity.Client]), for as long as a run takes. Before a ticket ends, a keytab logs in
// again, and the ticket of a ticket cache is renewed in memory, if it is renewable. A
// ticket cache is read again after each kinit.
//
// It makes no principal and no keytab, knows no cluster, and writes nothing: no key
// and no ticket gets into an error. It asks KDCs itself (kdc.go) and bounds what they
// answer.
package kerberos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
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

	life context.Context // ends with Close
	end  context.CancelFunc
	// asked is what was asked last: a KDC, or DNS for its address.
	asked atomic.Pointer[string]

	// lock is held while the fields below are used, also while a KDC is asked for the
	// first ticket. It is a channel with one value, so that a call can stop waiting.
	lock chan struct{}
	has  *holding  // nil before the first login
	read time.Time // modification time of the ticket cache that the tickets came from
	// renew is when the first ticket is renewed: when a sixth of its life is left.
	renew time.Time
	keeps bool // whether a goroutine renews the first ticket
}

// holding is what a user has: tickets, and a client of the library that uses them. The
// client is not changed; for another ticket a new one is made.
type holding struct {
	tickets *credentials.CCache
	first   *credentials.Credential // the ticket that gets all others
	client  *client.Client
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
	i := &Identity{o: o, lock: make(chan struct{}, 1)}
	i.life, i.end = context.WithCancel(context.Background())
	return i, nil
}

// Client returns a Kerberos client that has a valid ticket, and one for a service if that
// is not empty. The client itself asks no KDC. Client asks no longer than until the
// context ends.
func (i *Identity) Client(ctx context.Context, service string) (*client.Client, error) {
	has, c, err := i.valid(ctx)
	if err != nil || service == "" {
		return c, err
	}
	if _, _, ok := c.GetCachedTicket(service); ok {
		return c, nil
	}
	conf, err := i.conf()
	if err != nil {
		return nil, err
	}
	var got grant
	err = guard(func() error {
		first, err := grantOf(has.first)
		if err == nil {
			got, err = kdcs{conf, &i.asked}.ticketFor(ctx, service, c.Credentials, first)
		}
		return err
	})
	if err != nil {
		return nil, failf("get a ticket for %s: %w", service, i.explain(err, service+"@"+c.Credentials.Domain(), conf))
	}
	ticket, err := got.entry()
	if err != nil {
		return nil, err
	}
	if err := i.acquire(ctx); err != nil {
		return nil, err
	}
	defer i.release()
	others := slices.DeleteFunc(slices.Clone(has.tickets.Credentials), func(e *credentials.Credential) bool {
		return e.Server.PrincipalName.PrincipalNameString() == service
	})
	has.tickets.Credentials = append(others, ticket)
	has.client, err = clientOf(has.tickets, conf)
	return has.client, err
}

// clientOf returns a client that has tickets and knows no KDC.
func clientOf(tickets *credentials.CCache, conf *config.Config) (c *client.Client, err error) {
	alone := *conf
	alone.Realms, alone.LibDefaults.DNSLookupKDC = nil, false
	err = guard(func() (err error) {
		c, err = client.NewFromCCache(tickets, &alone, client.DisablePAFXFAST(true))
		return err
	})
	return c, err
}

// acquire waits for the lock. Another call may hold it while it waits for a KDC.
func (i *Identity) acquire(ctx context.Context) error {
	select {
	case i.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
	}
	what := "another call that reads " + i.o.TicketCache + i.o.Keytab
	if asked := i.asked.Load(); asked != nil {
		what = "another call that asks " + *asked
	}
	return failf("waited for %s: %w; is the KDC up, and is its address right in %s?", what, context.Cause(ctx), i.o.Conf)
}

func (i *Identity) release() { <-i.lock }

// valid returns what the user has, of which the first ticket is valid, and its client.
func (i *Identity) valid(ctx context.Context) (*holding, *client.Client, error) {
	if err := i.acquire(ctx); err != nil {
		return nil, nil, err
	}
	defer i.release()
	if err := i.validate(ctx); err != nil {
		return nil, nil, err
	}
	return i.has, i.has.client, nil
}

// validate gets or renews the first ticket if that is needed.
func (i *Identity) validate(ctx context.Context) error {
	if i.o.TicketCache != "" {
		if err := i.readCache(); err != nil {
			return err
		}
	}
	now := time.Now()
	if i.has != nil && now.Before(i.renew) {
		return nil
	}
	valid := i.has != nil && now.Before(i.has.first.EndTime)
	var tickets *credentials.CCache
	var err error
	switch {
	case i.o.Keytab != "":
		tickets, err = i.logIn(ctx)
	case !valid:
		return failf("ticket cache %s: its ticket has expired; renew it with '%s'", i.o.TicketCache, i.kinit())
	case now.Before(i.has.first.RenewTill):
		tickets, err = i.renewed(ctx)
	default:
		return nil
	}
	if err == nil {
		err = i.take(tickets)
	}
	if err != nil && valid { // the KDC may answer again before the ticket ends
		if ctx.Err() == nil { // the next call may have more time
			i.renew = now.Add(i.has.first.EndTime.Sub(now) / 2)
		}
		return nil
	}
	return err
}

// take uses tickets from now on.
func (i *Identity) take(tickets *credentials.CCache) error {
	conf, err := i.conf()
	if err != nil {
		return err
	}
	first, ok := tickets.GetEntry(grantor(tickets.GetClientRealm()))
	if !ok {
		return fmt.Errorf("it has no ticket-granting ticket of %s", tickets.GetClientRealm())
	}
	c, err := clientOf(tickets, conf)
	if err != nil {
		return err
	}
	now := time.Now()
	i.has, i.renew = &holding{tickets, first, c}, now.Add(first.EndTime.Sub(now)*5/6)
	if !i.keeps {
		i.keeps = true
		go i.keep()
	}
	return nil
}

// keep renews the ticket while nobody asks for it: one of a ticket cache cannot be
// renewed after its end.
func (i *Identity) keep() {
	for {
		if i.acquire(i.life) != nil {
			return
		}
		wait := time.Until(i.renew)
		i.release()
		timer := time.NewTimer(max(wait, time.Second))
		select {
		case <-timer.C:
		case <-i.life.Done():
			timer.Stop()
			return
		}
		if _, _, err := i.valid(i.life); err != nil {
			if i.acquire(i.life) == nil {
				i.keeps = false
				i.release()
			}
			return
		}
	}
}

// logIn returns the ticket that the realm gives for the key in the keytab.
func (i *Identity) logIn(ctx context.Context) (*credentials.CCache, error) {
	conf, err := i.conf()
	if err != nil {
		return nil, err
	}
	if err := secret(i.o.Keytab); err != nil {
		return nil, failf("keytab %w", err)
	}
	name, realm := i.principal(conf)
	var keys *keytab.Keytab
	if err := guard(func() (err error) { keys, err = keytab.Load(i.o.Keytab); return err }); err != nil {
		return nil, failf("read keytab: %w; get one of %s@%s from the administrator of the realm, or name tickets of kinit as ticketCache",
			unread(i.o.Keytab, err), name, realm)
	}
	user := credentials.New(name, realm).WithKeytab(keys)
	var got messages.ASRep
	err = guard(func() error { got, err = kdcs{conf, &i.asked}.firstTicket(ctx, user); return err })
	if err != nil {
		return nil, failf("log in %s@%s with keytab %s: %w", name, realm, i.o.Keytab, i.explain(err, name+"@"+realm, conf))
	}
	return grant{got.Ticket, got.DecryptedEncPart.Key, got.DecryptedEncPart}.alone(user)
}

// renewed returns the ticket that the realm gives for one that is to end soon.
func (i *Identity) renewed(ctx context.Context) (*credentials.CCache, error) {
	conf, err := i.conf()
	if err != nil {
		return nil, err
	}
	user := i.has.client.Credentials
	var got grant
	err = guard(func() error {
		old, err := grantOf(i.has.first)
		if err == nil {
			got, err = kdcs{conf, &i.asked}.exchange(ctx, grantor(user.Domain()), user.Domain(), user, old, true)
		}
		return err
	})
	if err != nil {
		return nil, failf("renew the ticket of %s: %w", i.o.TicketCache, i.explain(err, user.UserName()+"@"+user.Domain(), conf))
	}
	return got.alone(user)
}

// readCache takes the tickets of the ticket cache, if it has changed.
func (i *Identity) readCache() error {
	info, err := os.Stat(i.o.TicketCache)
	if errors.Is(err, fs.ErrNotExist) {
		return failf("ticket cache %s: there is none; get a ticket with '%s'", i.o.TicketCache, i.kinit())
	}
	if err != nil {
		return failf("ticket cache: %w", err)
	}
	if i.has != nil && info.ModTime().Equal(i.read) {
		return nil
	}
	if err := secret(i.o.TicketCache); err != nil {
		return failf("ticket cache %w", err)
	}
	conf, err := i.conf()
	if err != nil {
		return err
	}
	cache, err := loadTickets(i.o.TicketCache)
	if err != nil {
		return failf("read ticket cache: %w; get a new one with '%s'", unread(i.o.TicketCache, err), i.kinit())
	}
	if name, realm := i.principal(conf); name != "" {
		if has, of := cache.GetClientPrincipalName().PrincipalNameString(), cache.GetClientRealm(); has != name || of != realm {
			return failf("ticket cache %s has tickets of %s@%s, not of %s@%s; get one with '%s'", i.o.TicketCache, has, of, name, realm, i.kinit())
		}
	}
	if err := i.take(cache); err != nil {
		return failf("ticket cache %s has no valid ticket: %w; get one with '%s'", i.o.TicketCache, err, i.kinit())
	}
	i.read = info.ModTime()
	return nil
}

// secret refuses a file of keys or tickets that all users of this machine can read.
func secret(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s is open to all users of this machine (%v), who can act in its name; close it with 'chmod 600 %[1]s'",
			path, info.Mode())
	}
	return nil
}

// guard turns a panic of the library into an error: it trusts what a KDC answers and what
// files hold.
func guard(do func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("it is not as it should be (%v)", what)
		}
	}()
	return do()
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
func (i *Identity) Close() { i.end() }

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
