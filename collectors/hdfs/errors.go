package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"heddle/collectors/hdfs/internal/hdfspb"
)

var (
	// ErrUnreachable says that no NameNode could be asked.
	ErrUnreachable = errors.New("no NameNode reached")
	// ErrUnavailable says that the NameNode takes no requests now: it is a
	// standby, starting or in safe mode.
	ErrUnavailable = errors.New("the NameNode takes no requests now")
	// ErrSecure says that the NameNode demands Kerberos, which this client does
	// not speak.
	ErrSecure = errors.New("the NameNode demands Kerberos (SASL), which heddle does not speak; it needs hadoop.security.authentication=simple")
)

// RemoteError is an exception that the NameNode answered with. errors.Is finds
// fs.ErrNotExist, fs.ErrPermission, fs.ErrExist and fs.ErrInvalid in it, and
// ErrUnavailable and ErrSecure.
type RemoteError struct {
	// Method is the call, NameNode the address that answered.
	Method, NameNode string
	// Class is the exception's Java class; Message is Hadoop's text with the
	// stack trace cut off.
	Class, Message string

	fatal  bool // the NameNode closes the connection
	detail hdfspb.ResponseHeader_Detail
}

func (e *RemoteError) Error() string {
	switch {
	case errors.Is(e, ErrSecure):
		return fmt.Sprintf("%s: %v (it says: %s)", e.NameNode, ErrSecure, e.Message)
	case e.detail == hdfspb.ResponseHeader_ERROR_NO_SUCH_PROTOCOL:
		return fmt.Sprintf("%s speaks Hadoop IPC but is no NameNode (%s); is this dfs.namenode.rpc-address?", e.NameNode, e.Message)
	}
	return fmt.Sprintf("NameNode %s: %s (%s)", e.NameNode, e.Message, e.Class[strings.LastIndexByte(e.Class, '.')+1:])
}

// Is makes errors.Is work with the errors named above.
func (e *RemoteError) Is(target error) bool {
	switch {
	case e.detail == hdfspb.ResponseHeader_FATAL_UNAUTHORIZED: // its class is that of a missing right
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

// standby says that another NameNode is to be asked.
func (e *RemoteError) standby() bool {
	return e.Class == "org.apache.hadoop.ipc.StandbyException" ||
		e.Class == "org.apache.hadoop.ipc.ObserverRetryOnActiveException"
}

// later says that the same NameNode is to be asked again.
func (e *RemoteError) later() bool {
	return e.Class == "org.apache.hadoop.ipc.RetriableException" ||
		e.Class == "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
}

// noHA says that a NameNode does not know about being active: there is only one
// ("HA for namenode is not enabled"), or it is older than the question, and
// then refuses the first call if it is a standby.
func (e *RemoteError) noHA() bool {
	return e.Class == "org.apache.hadoop.ha.ServiceFailedException" ||
		e.detail == hdfspb.ResponseHeader_ERROR_NO_SUCH_METHOD
}

// shortened is a text that an error can hold.
func shortened(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func remoteError(method, nameNode string, h *hdfspb.ResponseHeader) *RemoteError {
	message := h.GetErrorMessage()
	if i := strings.Index(message, "\n\tat "); i >= 0 {
		message = message[:i]
	}
	return &RemoteError{
		Method:   method,
		NameNode: nameNode,
		Class:    h.GetExceptionClass(),
		Message:  shortened(strings.TrimSpace(message)),
		fatal:    h.GetStatus() == hdfspb.ResponseHeader_FATAL,
		detail:   h.GetErrorDetail(),
	}
}
