package yarnclient

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Errors that callers distinguish with errors.Is. Every failed call returns a
// *RequestError that wraps one or two of these errors. If Hadoop explained a
// refusal, the *RequestError also wraps a *RemoteError, for errors.As.
var (
	// ErrUnreachable means that a call got no answer from the daemon. If
	// RequestError.Unsent is true, the daemon has not carried out the call;
	// otherwise it may have done so.
	ErrUnreachable = errors.New("not reachable")
	// ErrUnauthorized means that the daemon answered with status 401 or 403.
	ErrUnauthorized = errors.New("not allowed")
	// ErrNotFound means that the daemon answered with status 404: the
	// application, job, node or path does not exist.
	ErrNotFound = errors.New("not found")
	// ErrStandby means that none of the given addresses has the active
	// ResourceManager.
	ErrStandby = errors.New("no active ResourceManager")
	// ErrUnavailable means that the daemon answered with status 502, 503 or 504
	// without an explanation. The call may succeed later.
	ErrUnavailable = errors.New("not available now")
	// ErrNotRest means that a service other than the expected Hadoop daemon
	// answered.
	ErrNotRest = errors.New("not Hadoop's REST interface")
	// ErrBadAnswer means that the daemon's answer is invalid, cut off or too
	// long.
	ErrBadAnswer = errors.New("invalid answer")
	// ErrJobEnded means that the job's ApplicationMaster has ended. The history
	// server has the job's data now.
	ErrJobEnded = errors.New("job has ended")
	// ErrNoMaster means that the application has no running ApplicationMaster
	// now.
	ErrNoMaster = errors.New("no ApplicationMaster running")
)

// RequestError says which HTTP call failed, why, and what to do next.
type RequestError struct {
	Method string
	URL    string // URL of the call without user, password and token
	Status int    // HTTP status of the answer; 0 if there was no answer
	Err    error  // cause of the failure; it wraps an error such as ErrUnreachable
	Next   string // advice to the user on what to do after the failure; may be empty
	Unsent bool   // whether no connection to the daemon was made, so that it certainly has not carried out the call
}

func (e *RequestError) Error() string {
	s := "yarn: " + e.Method + " " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("status %d: ", e.Status)
	}
	s += e.Err.Error()
	if e.Next != "" {
		s += "; " + e.Next
	}
	return s
}

func (e *RequestError) Unwrap() error { return e.Err }

// RemoteError is Hadoop's own explanation of why it refused a call.
type RemoteError struct {
	Status    int
	Exception string `wire:"exception"` // simple class name of the Java exception; empty if Hadoop sent plain text
	Message   string `wire:"message"`
}

func (e *RemoteError) Error() string {
	const most = 2000
	message := strings.Join(strings.Fields(e.Message), " ")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	if e.Exception == "" {
		return message
	}
	if message == "" {
		message = "(no message)"
	}
	return e.Exception + ": " + message
}

// kindError adds errors such as ErrNotFound to a cause without changing the
// cause's text.
type kindError struct {
	cause error
	kinds []error
}

func (e *kindError) Error() string   { return e.cause.Error() }
func (e *kindError) Unwrap() []error { return append([]error{e.cause}, e.kinds...) }

func withKind(cause error, kinds ...error) error { return &kindError{cause, kinds} }

// refusal explains an answer with an error status. It returns advice to the
// user, and the cause for which the daemon refused the call.
func refusal(status int, body []byte, location, service string) (next string, cause error) {
	var kinds []error
	denied := status == http.StatusUnauthorized || status == http.StatusForbidden
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kinds = append(kinds, ErrUnauthorized)
		next = "check the user; label and queue changes need an administrator (yarn.admin.acl)"
		if status == http.StatusUnauthorized {
			next = "check the user and whether the cluster needs Kerberos; changes need an administrator (yarn.admin.acl)"
		}
	case http.StatusNotFound:
		kinds = append(kinds, ErrNotFound)
	}
	if remote := parseRemote(status, body); remote != nil {
		if status == http.StatusServiceUnavailable && remote.Message == "" {
			next = "the request was refused without a reason; see the ResourceManager's log"
		}
		switch {
		case remote.Exception == "AuthorizationException", strings.Contains(remote.Message, "Only admins"):
			next = "only administrators may do this: name the user in yarn.admin.acl of the ResourceManager's yarn-site.xml, and run 'yarn " +
				"rmadmin -refreshAdminAcls'"
		case strings.Contains(remote.Message, "does not have permission to submit"):
			kinds = append(kinds, ErrUnauthorized)
			next = "name the user in acl_submit_applications of the queue, in capacity-scheduler.xml, and run 'yarn rmadmin -refreshQueues'; " +
				"'mapred queue -showacls' lists the rights of who runs it"
		}
		return next, withKind(remote, kinds...)
	}
	text := firstWords(body)
	switch {
	case denied:
		return next, withKind(errors.New(cmp.Or(text, "not allowed")), kinds...)
	case isHTML(body), strings.Contains(text, "IPC port"), strings.Contains(text, "HTTPS server"):
		kinds = append([]error{ErrNotRest}, kinds...)
		return notRestAdvice(service), withKind(fmt.Errorf("not a REST answer but %q", text), kinds...)
	case status == http.StatusServiceUnavailable, status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return "try again later", withKind(errors.New(cmp.Or(text, "not available now")), ErrUnavailable)
	case status >= 300 && status < 400:
		cause = fmt.Errorf("redirected to %s", target(location))
		return notRestAdvice(service) + " A gateway that asks for a login is not", withKind(cause, ErrNotRest)
	}
	return next, withKind(&RemoteError{Status: status, Message: cmp.Or(text, http.StatusText(status))}, kinds...)
}

// proof is what proves who the user is, in the headers of a request.
var proof = regexp.MustCompile(`(?i)(negotiate\s+|hadoop\.auth=[\\"]*)[a-z0-9+/=&%@._-]+`)

// blotted returns what a daemon has answered without proofs of who the user is, and
// without other secrets: a broken daemon may send back what it was sent, and the text gets
// into errors.
func blotted(body []byte, secrets []string) []byte {
	body = proof.ReplaceAll(body, []byte("$1…"))
	for _, s := range secrets {
		if s != "" {
			body = bytes.ReplaceAll(body, []byte(s), []byte("…"))
		}
	}
	return body
}

// target returns where a redirect leads, without the query, which may hold secrets.
func target(location string) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return "no address"
	}
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return firstWords([]byte(u.String()))
}

func notRestAdvice(service string) string {
	return "is this the " + service + "'s web address?"
}

// parseRemote decodes Hadoop's RemoteException from the body of an answer. It
// returns nil if the body has none.
func parseRemote(status int, body []byte) *RemoteError {
	if isHTML(body) {
		return nil
	}
	e := &RemoteError{Status: status}
	if decode(body, e, "RemoteException") != nil || e.Exception == "" {
		return nil
	}
	return e
}

// isHTML reports whether the body of an answer is a web page and not other XML.
func isHTML(body []byte) bool {
	if !isXML(body) {
		return false
	}
	head := strings.ToLower(string(body[:min(len(body), 200)]))
	return strings.Contains(head, "<html") || strings.Contains(head, "<!doctype html") || strings.Contains(head, "<head")
}

// firstWords returns the start of a web page or text without its tags, for an
// error message.
func firstWords(body []byte) string {
	s := string(blotted(body[:min(len(body), 4096)], nil))
	var b strings.Builder
	for s != "" && b.Len() < 400 {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i] + " ")
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			break
		}
		s = s[i+end+1:]
	}
	words := strings.ToValidUTF8(strings.Join(strings.Fields(b.String()), " "), "?")
	if r := []rune(words); len(r) > 160 {
		words = string(r[:160]) + "…"
	}
	return words
}

// certificateAdvice says what to do about a certificate, of the daemon at an address, that
// is not believed.
func certificateAdvice(err error, base string) string {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the daemon needs a new certificate, if the clock of this machine is right ('date')"
	case errors.As(err, &host):
		return "the cluster file has to name the daemon's host as its certificate does"
	}
	at := base
	if u, err := url.Parse(base); err == nil {
		at = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
	}
	return "'openssl s_client -connect " + at + " </dev/null' shows who signed it; name the file with the certificate of that " +
		"authority as ca in the cluster file"
}
