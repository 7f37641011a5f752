package doctor

import (
	"regexp"
	"strings"
	"unicode"
)

// oneLine puts a text on one line, as messages and settings of Hadoop may have
// several lines. It replaces characters that a terminal would obey.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// labelOneNode is the command that makes a node one for ApplicationMasters.
func labelOneNode(label string) string {
	return `yarn rmadmin -replaceLabelsOnNode "HOST:PORT=` + label + `"`
}

// aclNames matches a list of users, and one of groups, as yarn.admin.acl has them.
var aclNames = regexp.MustCompile(`^[\pL\pN_.@$+*-]*(,[\pL\pN_.@$+*-]*)*( [\pL\pN_.@$+*, -]*)?$`)
