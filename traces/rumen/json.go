package rumen

import (
	"encoding/json"
	"strings"
)

// appendText appends a text in quotes.
func appendText[T string | []byte](to []byte, text T) []byte {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			quoted, err := json.Marshal(string(text))
			if err != nil {
				return append(to, `""`...)
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

// layers is a host as Rumen's locations have it.
func layers(h Host) []byte {
	out := []byte(`{"layers":[`)
	for _, layer := range rackLayers(h.Rack) {
		out = append(appendText(out, layer), ',')
	}
	return append(appendText(out, h.Name), "]}"...)
}

// rackLayers is "/dc1/rack1" in its parts.
func rackLayers(rack string) []string {
	return strings.FieldsFunc(rack, func(c rune) bool { return c == '/' })
}

// validMember is true for a text and any JSON value.
func validMember(m memberText) bool {
	return m.key[0] == '"' && json.Valid([]byte(m.key)) && json.Valid([]byte(m.value))
}
