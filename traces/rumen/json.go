package rumen

import (
	"strings"

	"heddle/traces/internal/members"
)

// layers is a host as Rumen's locations have it.
func layers(h Host) []byte {
	out := []byte(`{"layers":[`)
	for _, layer := range rackLayers(h.Rack) {
		out = append(members.AppendText(out, layer), ',')
	}
	return append(members.AppendText(out, h.Name), "]}"...)
}

// rackLayers is "/dc1/rack1" in its parts.
func rackLayers(rack string) []string {
	return strings.FieldsFunc(rack, func(c rune) bool { return c == '/' })
}
