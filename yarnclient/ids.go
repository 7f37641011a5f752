package yarnclient

import "regexp"

// forms are the patterns of Hadoop's ids and names. Callers put ids and names
// into URL paths, requests, settings and commands. So decoding fails if the text of a field with a
// form tag does not match its pattern. Empty text is allowed, since Hadoop
// leaves out what it does not know yet.
var forms = map[string]*regexp.Regexp{
	"application": regexp.MustCompile(`^application_[0-9]{1,19}_[0-9]{4,10}$`),
	"appAttempt":  regexp.MustCompile(`^appattempt_[0-9]{1,19}_[0-9]{4,10}_[0-9]{1,10}$`),
	"container":   regexp.MustCompile(`^container_(e[0-9]{1,10}_)?[0-9]{1,19}_[0-9]{4,10}_[0-9]{1,10}_[0-9]{1,19}$`),
	"job":         regexp.MustCompile(`^job_[0-9]{1,19}_[0-9]{4,10}$`),
	"task":        regexp.MustCompile(`^task_[0-9]{1,19}_[0-9]{4,10}_[mr]_[0-9]{1,10}$`),
	"attempt":     regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{4,10}_[mr]_[0-9]{1,10}_[0-9]{1,10}$`),
	"host":        regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`),
	// a node id is host:port; a node that has not registered since the
	// ResourceManager's start has no port, or port -1
	"node": regexp.MustCompile(`^[A-Za-z0-9_:\[][A-Za-z0-9._:\[\]-]{0,259}$`),
	// the name of a user, which is also the name of the user's folder in HDFS
	"user": regexp.MustCompile(`^[^./\x00-\x20\x7f-][^/\x00-\x1f\x7f]{0,254}$`),
	// the path of a queue, and its last part. Hadoop itself forbids little; more
	// than letters, digits, spaces and _.@+- is not needed.
	"queue": regexp.MustCompile(`^[\pL\pN_][\pL\pN_.@+ -]{0,999}$`),
	// Hadoop's own rule for node labels, with * for all of them, as queues have it
	"label": regexp.MustCompile(`^(\*|<DEFAULT_PARTITION>|[0-9A-Za-z][0-9A-Za-z_-]{0,254})$`),
}

// IsLabel reports whether Hadoop takes a text as the name of a node label.
func IsLabel(name string) bool {
	return name != "*" && name != "<DEFAULT_PARTITION>" && forms["label"].MatchString(name)
}
