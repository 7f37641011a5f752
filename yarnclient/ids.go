package yarnclient

import "regexp"

// forms are what Hadoop's ids and names look like. Callers make paths and
// requests of them, so an answer with any other text in a field that has a form
// tag is a bad answer. An empty text is none: Hadoop leaves out what it does not
// know yet.
var forms = map[string]*regexp.Regexp{
	"application": regexp.MustCompile(`^application_[0-9]{1,19}_[0-9]{4,10}$`),
	"appAttempt":  regexp.MustCompile(`^appattempt_[0-9]{1,19}_[0-9]{4,10}_[0-9]{1,10}$`),
	"container":   regexp.MustCompile(`^container_(e[0-9]{1,10}_)?[0-9]{1,19}_[0-9]{4,10}_[0-9]{1,10}_[0-9]{1,19}$`),
	"job":         regexp.MustCompile(`^job_[0-9]{1,19}_[0-9]{4,10}$`),
	"task":        regexp.MustCompile(`^task_[0-9]{1,19}_[0-9]{4,10}_[mr]_[0-9]{1,10}$`),
	"attempt":     regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{4,10}_[mr]_[0-9]{1,10}_[0-9]{1,10}$`),
	"host":        regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`),
	// host:port; a node that has not come since the ResourceManager started has
	// no port, or -1.
	"node": regexp.MustCompile(`^[A-Za-z0-9_:\[][A-Za-z0-9._:\[\]-]{0,259}$`),
	// A user's name is a folder's name in HDFS.
	"user": regexp.MustCompile(`^[^./\x00-\x20\x7f-][^/\x00-\x1f\x7f]{0,254}$`),
}
