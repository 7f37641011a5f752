package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"heddle/collectors/hdfs/internal/hdfspb"
)

var (
	// ErrUnreachable means that no NameNode answered.
	ErrUnreachable = errors.New("no NameNode reached")
	// ErrUnavailable means that the NameNode accepts no requests now: it is
	// standby, starting or in safe mode.
	ErrUnavailable = errors.New("the NameNode accepts no requests now")
	// ErrSecure means that the NameNode requires Kerberos, or does not believe the
	// proof that it got.
	ErrSecure = errors.New("the NameNode requires Kerberos; write security: kerberos in the cluster file")
	// ErrKerberos means that the two sides could not prove to each other who they
	// are.
	ErrKerberos = errors.New("kerberos")
)

// RemoteError is an exception that the NameNode sent in its answer. errors.Is
// matches it with fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, fs.ErrInvalid,
// ErrUnavailable or ErrSecure.
type RemoteError struct {
	NameNode string // address of the NameNode that answered
	// Class is the Java class of the exception. Message is the exception's text
	// without the stack trace.
	Class, Message string

	fatal  bool // whether the NameNode closes the connection after sending this exception
	detail hdfspb.ResponseHeader_Detail
}

func (e *RemoteError) Error() string {
	switch {
	case errors.Is(e, ErrSecure):
		return fmt.Sprintf("%s: %v (it says: %s)", e.NameNode, ErrSecure, e.Message)
	case e.detail == hdfspb.ResponseHeader_ERROR_NO_SUCH_PROTOCOL:
		return fmt.Sprintf("%s speaks Hadoop IPC but is no NameNode (%s); is this dfs.namenode.rpc-address?", e.NameNode, e.Message)
	}
	return fmt.Sprintf("NameNode %s: %s (%s)", e.NameNode, e.Message, e.Class[strings.LastIndexByte(e.Class, '.')+1:]) + e.advice()
}

// denied and proxied are how a NameNode says that a right is missing. Only plain names
// get into a command.
var (
	denied  = regexp.MustCompile(`^Permission denied: user=([\w.-]+), access=\w+, inode="(/[\w./-]*)"`)
	proxied = regexp.MustCompile(`^User: ([\w.-]+)\S* is not allowed to impersonate`)
)

// advice says what to do about a missing right. It is empty for other exceptions.
func (e *RemoteError) advice() string {
	if m := denied.FindStringSubmatch(e.Message); m != nil {
		return fmt.Sprintf("; its owner gives rights with 'hdfs dfs -setfacl -m user:%s:rwx %s'", m[1], m[2])
	}
	if m := proxied.FindStringSubmatch(e.Message); m != nil {
		return fmt.Sprintf("; hadoop.proxyuser.%[1]s.hosts and hadoop.proxyuser.%[1]s.groups in the NameNode's core-site.xml "+
			"allow it, after 'hdfs dfsadmin -refreshSuperUserGroupsConfiguration'", m[1])
	}
	return ""
}

// Is makes errors.Is match a RemoteError with ErrUnavailable, ErrSecure or an
// error of package fs, by the exception that the NameNode sent.
func (e *RemoteError) Is(target error) bool {
	switch {
	case e.detail == hdfspb.ResponseHeader_FATAL_UNAUTHORIZED: // it wants Kerberos; the class is that for a missing permission too
		return target == ErrSecure
	case target == ErrUnavailable:
		return e.standby() || e.later()
	}
	same := asFS[e.Class]
	return same != nil && same == target
}

var asFS = map[string]error{
	"java.io.FileNotFoundException":                           fs.ErrNotExist,
	"org.apache.hadoop.fs.PathNotFoundException":              fs.ErrNotExist,
	"org.apache.hadoop.hdfs.protocol.UnresolvedPathException": fs.ErrInvalid,
	"org.apache.hadoop.security.AccessControlException":       fs.ErrPermission,
	"org.apache.hadoop.fs.FileAlreadyExistsException":         fs.ErrExist,
	"org.apache.hadoop.fs.InvalidRequestException":            fs.ErrInvalid,
	"org.apache.hadoop.fs.InvalidPathException":               fs.ErrInvalid,
	"org.apache.hadoop.HadoopIllegalArgumentException":        fs.ErrInvalid,
	"java.lang.IllegalArgumentException":                      fs.ErrInvalid,
}

// standby reports whether the exception means that the NameNode is not the
// active one, so that another must be asked.
func (e *RemoteError) standby() bool {
	return e.Class == "org.apache.hadoop.ipc.StandbyException" ||
		e.Class == "org.apache.hadoop.ipc.ObserverRetryOnActiveException"
}

// later reports whether the exception is temporary, so that the call can be
// repeated on the same NameNode after a short wait.
func (e *RemoteError) later() bool {
	return e.Class == "org.apache.hadoop.ipc.RetriableException" ||
		e.Class == "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
}

// noHA reports whether the exception means that the NameNode has no
// high-availability state. Either high availability is not enabled, or the
// Hadoop version is too old to tell; a standby of such a version refuses the
// first call anyway.
func (e *RemoteError) noHA() bool {
	return e.Class == "org.apache.hadoop.ha.ServiceFailedException" ||
		e.detail == hdfspb.ResponseHeader_ERROR_NO_SUCH_METHOD
}

// shortened returns a server's text, cut off after at most 2000 bytes, for an
// error message.
func shortened(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func remoteError(nameNode string, h *hdfspb.ResponseHeader) *RemoteError {
	message := h.GetErrorMessage()
	if i := strings.Index(message, "\n\tat "); i >= 0 {
		message = message[:i]
	}
	return &RemoteError{
		NameNode: nameNode,
		Class:    h.GetExceptionClass(),
		Message:  shortened(strings.TrimSpace(message)),
		fatal:    h.GetStatus() == hdfspb.ResponseHeader_FATAL,
		detail:   h.GetErrorDetail(),
	}
}
