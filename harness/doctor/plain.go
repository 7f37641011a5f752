package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
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

// check refuses a plan with a text that would do more than to be a setting's name
// or value, or a command. Parts of these are what the cluster's daemons answer, and
// the plan goes into files of Hadoop and Ansible, and into a shell.
func (p *FixPlan) check() error {
	for _, c := range p.Changes {
		for _, text := range []string{c.Property, c.Value, c.Command} {
			if why := unsafe(text); why != "" {
				return fmt.Errorf("property %.80q, wanted value %.80q: %s; make this change by hand, or correct what the daemons answer", c.Property, c.Value, why)
			}
		}
	}
	for _, text := range append([]string{p.Cluster}, p.Then...) {
		if why := unsafe(text); why != "" {
			return fmt.Errorf("%.80q: %s; change the cluster file's name or the names in it", text, why)
		}
	}
	return nil
}

// unsafe returns why a text must not be in a plan, or "".
func unsafe(text string) string {
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "it has a control character"
	}
	for _, mark := range []string{"{{", "{%", "{#"} {
		if strings.Contains(text, mark) {
			return "it has " + mark + ", with which a template of Ansible begins"
		}
	}
	return ""
}
