package yarntest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strconv"
)

// dialect is one of the ways in which Hadoop writes the same answer.
type dialect int

const (
	natural     dialect = iota // answers in JSON with the root name; numbers without quotes, lists as arrays
	mapped                     // answers in JSON without the root name; all values in quotes, a list of one element without brackets
	typed                      // answers of Hadoop 3.5 in JSON without the root name; numbers without quotes, lists as arrays
	markup                     // answers in XML with the root name; a list as repeated elements
	naturalBare                // answers in JSON without the root name, numbers without quotes, lists as arrays, in all versions of Hadoop
)

// writer writes an answer in one of Hadoop's JSON or XML dialects. Its methods
// append to the answer, so they are called in the order of the answer's text.
type writer struct {
	bytes.Buffer
	d     dialect
	comma bool
}

func (w *writer) name(name string) {
	if w.comma {
		w.WriteByte(',')
	}
	w.comma = true
	if name != "" {
		w.WriteByte('"')
		w.WriteString(name)
		w.WriteString(`":`)
	}
}

// object writes a JSON object or XML element with a name. Its last parameter
// is the function that writes the content.
func (w *writer) object(name string, members func()) {
	if w.d == markup {
		w.WriteString("<" + name + ">")
		members()
		w.WriteString("</" + name + ">")
		return
	}
	w.name(name)
	w.WriteByte('{')
	w.comma = false
	members()
	w.WriteByte('}')
	w.comma = true
}

// list writes a list of n objects into the answer, under one name. Its last
// parameter is the function that writes the content of object i.
func (w *writer) list(name string, n int, member func(i int)) {
	w.elements(name, n, func(name string, i int) { w.object(name, func() { member(i) }) })
}

// texts writes a list of strings into the answer, under one name.
func (w *writer) texts(name string, list []string) {
	w.elements(name, len(list), func(name string, i int) { w.text(name, list[i]) })
}

func (w *writer) elements(name string, n int, element func(name string, i int)) {
	array := w.d != markup && (w.d != mapped || n > 1)
	if n == 0 {
		return
	}
	if array {
		w.name(name)
		w.WriteByte('[')
		w.comma = false
		name = ""
	}
	for i := range n {
		element(name, i)
	}
	if array {
		w.WriteByte(']')
		w.comma = true
	}
}

func (w *writer) text(name, value string) {
	if w.d == markup {
		w.WriteString("<" + name + ">")
		_ = xml.EscapeText(w, []byte(value)) // the error is ignored, since writing to a bytes.Buffer cannot fail
		w.WriteString("</" + name + ">")
		return
	}
	w.name(name)
	quoted, _ := json.Marshal(value) // the error is ignored, since encoding a string as JSON cannot fail
	w.Write(quoted)
}

// set writes a string into the answer under a name. It writes nothing if the
// string is empty.
func (w *writer) set(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) num(name string, n int64) {
	w.open(name)
	w.Write(strconv.AppendInt(w.AvailableBuffer(), n, 10))
	w.close(name)
}

func (w *writer) flag(name string, b bool) {
	w.open(name)
	w.Write(strconv.AppendBool(w.AvailableBuffer(), b))
	w.close(name)
}

func (w *writer) open(name string) {
	if w.d == markup {
		w.WriteString("<" + name + ">")
		return
	}
	w.name(name)
	if w.d == mapped {
		w.WriteByte('"')
	}
}

func (w *writer) close(name string) {
	switch w.d {
	case markup:
		w.WriteString("</" + name + ">")
	case mapped:
		w.WriteByte('"')
	}
}

func (w *writer) resource(name string, memoryMB int64, vcores int) {
	w.object(name, func() {
		w.num("memory", memoryMB)
		w.num("vCores", int64(vcores))
	})
}

// entries writes a map of n entries. Its last parameter is the function that
// writes the content of entry i. In the dialect called mapped, an empty map is
// written as null.
func (w *writer) entries(name string, n int, entry func(i int)) {
	if n == 0 && w.d == mapped {
		w.name(name)
		w.WriteString("null")
		return
	}
	w.object(name, func() { w.list("entry", n, entry) })
}
