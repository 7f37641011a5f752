// Package members keeps members of JSON objects as text, "key":value one after
// the other with commas between, for what an import passes through to an export.
package members

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// AppendKey begins a member.
func AppendKey(to []byte, key string) []byte {
	if len(to) > 0 {
		to = append(to, ',')
	}
	return append(AppendText(to, key), ':')
}

// AppendInt appends a member that is a number.
func AppendInt(to []byte, key string, n int64) []byte {
	return strconv.AppendInt(AppendKey(to, key), n, 10)
}

// AppendString appends a member that is a text.
func AppendString(to []byte, key, text string) []byte {
	return AppendText(AppendKey(to, key), text)
}

// AppendRaw appends a member as it is in a file, unless it says nothing: null,
// -1, [] and {} stand for what is absent.
func AppendRaw(to []byte, key string, raw []byte) []byte {
	if saysNothing(raw) {
		return to
	}
	return appendCompact(AppendKey(to, key), raw)
}

// Join appends members to others.
func Join(to, more []byte) []byte {
	if len(to) > 0 && len(more) > 0 {
		to = append(to, ',')
	}
	return append(to, more...)
}

func saysNothing(raw []byte) bool {
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == "-1" || string(raw) == "-1.0":
		return true
	case raw[0] == '[' || raw[0] == '{':
		return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
	}
	return false
}

// AppendText appends a text in quotes.
func AppendText(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(to, `""`...) // a text cannot fail
			}
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

// appendCompact appends JSON without the white space between its parts.
func appendCompact(to, raw []byte) []byte {
	inText := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inText && c == '\\' && i+1 < len(raw):
			to = append(to, c)
			i++
			c = raw[i]
		case c == '"':
			inText = !inText
		case !inText && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		to = append(to, c)
	}
	return to
}

// Member is one of them; Key has its quotes.
type Member struct{ Key, Value string }

// Split takes compact members apart. What is not well-formed is left out: a
// trace may have been written by another program.
func Split(text string) []Member {
	var found []Member
	depth, begin, colon, inText := 0, 0, -1, false
	for i := 0; i <= len(text); i++ {
		switch {
		case i >= len(text) || text[i] == ',' && depth == 0 && !inText:
			end := min(i, len(text))
			if colon > begin {
				if m := (Member{text[begin:colon], text[colon+1 : end]}); m.valid() {
					found = append(found, m)
				}
			}
			begin, colon = end+1, -1
		case inText && text[i] == '\\':
			i++
		case text[i] == '"':
			inText = !inText
		case inText:
		case text[i] == '{' || text[i] == '[':
			depth++
		case text[i] == '}' || text[i] == ']':
			depth--
		case text[i] == ':' && depth == 0 && colon < 0:
			colon = i
		}
	}
	return found
}

func (m Member) valid() bool {
	return m.Key[0] == '"' && json.Valid([]byte(m.Key)) && json.Valid([]byte(m.Value))
}

// Object writes an object's members. Those of a Source event come first, and
// win over later ones of the same key; with the value null they stand for
// members that are not to be written.
type Object struct {
	To    []byte
	given map[string]bool
	first bool
}

// Begin appends the opening brace and the given members.
func Begin(to []byte, given string) Object {
	o := Object{To: append(to, '{'), first: true}
	if given == "" {
		return o
	}
	o.given = map[string]bool{}
	for _, m := range Split(given) {
		o.given[m.Key] = true
		if m.Value != "null" {
			o.comma()
			o.To = append(append(append(o.To, m.Key...), ':'), m.Value...)
		}
	}
	return o
}

func (o *Object) comma() {
	if !o.first {
		o.To = append(o.To, ',')
	}
	o.first = false
}

// Given is true for a member that Begin was given.
func (o *Object) Given(name string) bool { return o.given != nil && o.given[`"`+name+`"`] }

// Key begins a member; false where it is given.
func (o *Object) Key(name string) bool {
	if o.Given(name) {
		return false
	}
	o.comma()
	o.To = append(AppendText(o.To, name), ':')
	return true
}

// Text appends a text, null for an empty one.
func (o *Object) Text(name, value string) {
	switch {
	case !o.Key(name):
	case value == "":
		o.To = append(o.To, "null"...)
	default:
		o.To = AppendText(o.To, value)
	}
}

// Int appends a number.
func (o *Object) Int(name string, n int64) {
	if o.Key(name) {
		o.To = strconv.AppendInt(o.To, n, 10)
	}
}

// End appends the closing brace and gives back everything.
func (o *Object) End() []byte { return append(o.To, '}') }
