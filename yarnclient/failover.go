package yarnclient

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// send makes a call at the active ResourceManager. If the daemon is a standby
// (status 307) or accepts no connection, it has certainly not carried out the
// call. Then the call, even one that changes something, is sent to another
// address: the one that the standby names, or else the one that reports to be
// active.
func (c *client) send(ctx context.Context, r request) (answer, error) {
	base, err := c.base(ctx)
	if err != nil {
		return answer{}, err
	}
	a, err := c.exchange(ctx, base, r)
	if len(c.addresses) > 1 && elsewhere(a, err) || a.status == http.StatusTemporaryRedirect {
		a, err = c.failover(ctx, base, r, a, err)
	}
	if err != nil || a.status < 300 || r.proxied {
		return a, err
	}
	next, cause := refusal(a.status, a.body, a.location, c.service)
	return a, c.errorOf(a.base, r, a.status, cause, next)
}

func (c *client) base(ctx context.Context) (string, error) {
	if p := c.current.Load(); p != nil {
		return *p, nil
	}
	return c.findActive(ctx)
}

// elsewhere reports whether a call must be sent to another address: this daemon
// is a standby or cannot be reached.
func elsewhere(a answer, err error) bool {
	var e *RequestError
	return a.status == http.StatusTemporaryRedirect || errors.As(err, &e) && e.Unsent
}

func (c *client) failover(ctx context.Context, tried string, r request, a answer, err error) (answer, error) {
	named, refused := c.redirected(tried, r, a.location)
	if named != "" && refused == "" {
		b, berr := c.exchange(ctx, named, r)
		if !elsewhere(b, berr) {
			c.current.Store(&named)
			return b, berr
		}
	}
	if err == nil {
		text, next := "this ResourceManager is in standby", "give the addresses of all ResourceManagers, or try again later"
		switch {
		case refused != "":
			text, next = "it redirects to "+named+", "+refused, "if that is the other ResourceManager, give that address too"
		case a.location != "":
			text += " and redirects to " + target(a.location)
		}
		err = c.errorOf(tried, r, a.status, withKind(errors.New(text), ErrStandby), next)
	}
	if len(c.addresses) == 1 {
		return a, err
	}
	active, ferr := c.findActive(ctx)
	if ferr != nil {
		return a, ferr
	}
	if active == tried && errors.Is(err, ErrUnreachable) {
		return a, err
	}
	b, berr := c.exchange(ctx, active, r)
	if berr == nil && b.status == http.StatusTemporaryRedirect {
		return b, err // the ResourceManager that was found active has become a standby meanwhile, so the earlier error is returned
	}
	return b, berr
}

// redirected returns the address that a redirect of the daemon at from names, if that is
// another one, and why the call does not follow there; "" if it does. It follows to each
// address that was given. Who proves who they are, or sends a call through the proxy, goes
// nowhere else: any ApplicationMaster can send a redirect, and a ticket or a token is for
// known hosts only. No call goes from https to http.
func (c *client) redirected(from string, r request, location string) (to, refused string) {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return "", ""
	}
	to = u.Scheme + "://" + u.Host
	at := func(address string) bool {
		return strings.EqualFold(address, to) || len(address) > len(to) && strings.EqualFold(address[:len(to)+1], to+"/")
	}
	if at(from) {
		return "", ""
	}
	if strings.HasPrefix(from, "https:") && u.Scheme != "https" {
		return to, "which is not https"
	}
	for _, given := range c.addresses {
		if at(given) {
			return given, ""
		}
	}
	if c.proves || r.proxied {
		return to, "which is none of the addresses that were given"
	}
	return to, ""
}

// findActive asks all addresses at once for the state of their ResourceManager.
// It returns the first address that answers as active.
func (c *client) findActive(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		base, state string
		err         error
	}
	results := make(chan result, len(c.addresses))
	probe := request{path: "/ws/v1/cluster/info"}
	for _, base := range c.addresses {
		go func() {
			info, err := c.infoOf(ctx, func(ctx context.Context, r request) (answer, error) { return c.exchange(ctx, base, r) })
			results <- result{base, info.HAState, err}
		}()
	}
	var said []string
	var kinds []error
	for range c.addresses {
		r := <-results
		switch {
		case r.err != nil:
			said = append(said, r.err.Error())
			kinds = append(kinds, r.err)
		case r.state == HAActive:
			c.current.Store(&r.base)
			return r.base, nil
		default:
			said = append(said, r.base+" is "+r.state)
			kinds = append(kinds, ErrStandby)
		}
	}
	cause := withKind(errors.New("no active ResourceManager: "+strings.Join(said, "; ")), kinds...)
	return "", c.errorOf(c.addresses[0], probe, 0, cause, "'yarn rmadmin -getAllServiceState' shows their states")
}

// mayPass reports whether the error err of a call is temporary, so that a call
// that only reads can be repeated.
func mayPass(err error) bool {
	var e *RequestError
	cutOff := errors.As(err, &e) && e.Status == http.StatusOK && errors.Is(err, io.ErrUnexpectedEOF)
	return cutOff || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrStandby)
}

// backoff returns a random time to wait before a call is repeated: between 50 %
// and 100 % of a limit that doubles from 100 ms up to 2 s.
func backoff(attempt int) time.Duration {
	d := min(100*time.Millisecond<<min(attempt, 10), 2*time.Second)
	return d - rand.N(d/2)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
