package agent

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/collectors/node"
)

// Limits of what an agent's answer may hold. They are far above what a real node
// has, and so small that sums of figures fit into 64 bits and into a trace.
const (
	maxTextRunes  = 200       // of a text, such as the name of a disk
	maxErrorRunes = 400       // of an error of this machine that quotes the agent
	maxCursor     = 64        // bytes of a cursor
	maxParts      = 4096      // cores, disks or interfaces of a node
	maxCores      = 1 << 16   // cores, or cores' worth of CPU use
	maxFigure     = 1 << 52   // rates, bytes, numbers of requests, tasks and packets
	maxTime       = 1 << 58   // time in ns: 9 years
	maxClock      = 1<<62 - 1 // time in ns since 1970
	// minListItemBytes is the least length of an item of JSON that an agent writes,
	// on average. Answers of shorter items would take many times their length in
	// memory.
	minListItemBytes = 8
)

// maxOffset is the largest difference between the clocks of a node and of this
// machine that is reported.
const maxOffset = 365 * 24 * time.Hour

// reply is what came back from the agent's address.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) media() string {
	media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return printable(media, maxTextRunes)
}

// statusText is the reply's status in the words of this machine.
func (r reply) statusText() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)))
}

// refusal returns why the agent refused the request, if it says so.
func (r reply) refusal() string {
	var said refusal
	if decode(r.body, &said) != nil {
		return ""
	}
	return printable(said.Error, maxTextRunes)
}

// printable returns a text in which each character that is not printable, such
// as one that a terminal would obey, is replaced by "?". The text is cut to at
// most so many characters.
func printable(s string, most int) string {
	var b strings.Builder
	for _, c := range s {
		if most--; most < 0 {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			c = '?'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// decode decodes the JSON of an answer, unless it would take far more memory
// than the answer has bytes.
func decode(body []byte, into any) error {
	if items := bytes.Count(body, []byte{','}); items > 64+len(body)/minListItemBytes {
		return fmt.Errorf("%w: %d items in %d bytes", ErrBadAnswer, items, len(body))
	}
	if err := json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true)); err != nil {
		return fmt.Errorf("%w: %s", ErrBadAnswer, printable(err.Error(), maxTextRunes))
	}
	return nil
}

func decodeInfo(body []byte) (Info, error) {
	var info Info
	if err := decode(body, &info); err != nil {
		return Info{}, err
	}
	return info, makeSound(&info)
}

func decodeDropped(body []byte) (node.Dropped, error) {
	var d node.Dropped
	if err := decode(body, &d); err != nil {
		return node.Dropped{}, err
	}
	return d, makeSound(&d)
}

// decodePage decodes a page of samples. It leaves out samples that no agent
// could have taken, and counts them.
func decodePage(body []byte) (Page, error) {
	var raw encodedPage
	if err := decode(body, &raw); err != nil {
		return Page{}, err
	}
	if len(raw.Samples) > maxPage {
		return Page{}, fmt.Errorf("%w: %d samples, want at most %d", ErrBadAnswer, len(raw.Samples), maxPage)
	}
	if raw.Next == "" || len(raw.Next) > maxCursor || printable(string(raw.Next), maxCursor) != string(raw.Next) {
		return Page{}, fmt.Errorf("%w: no cursor for the next answer in it", ErrBadAnswer)
	}
	p := Page{Samples: []node.Sample{}, Next: raw.Next, More: raw.More, Lost: raw.Lost, Restarted: raw.Restarted}
	for i, encoded := range raw.Samples {
		var s node.Sample
		err := decode(encoded, &s)
		if err == nil {
			err = makeSound(&s)
		}
		if err == nil && s.Seq == 0 {
			err = fmt.Errorf("%w: seq is 0", ErrBadAnswer)
		}
		if err == nil && len(p.Samples) > 0 && s.Seq <= p.Samples[len(p.Samples)-1].Seq {
			err = fmt.Errorf("%w: seq %d after seq %d", ErrBadAnswer, s.Seq, p.Samples[len(p.Samples)-1].Seq)
		}
		if err != nil {
			p.Refused++
			if p.WhyRefused == nil {
				p.WhyRefused = fmt.Errorf("sample %d of a page: %w", i+1, err)
			}
			continue
		}
		p.Samples = append(p.Samples, s)
	}
	return p, nil
}

// makeSound returns an error if a part of an answer is out of the range that a real
// node can have. It makes the texts printable.
func makeSound(answer any) error { return soundValue(reflect.ValueOf(answer).Elem(), "") }

func soundValue(v reflect.Value, name string) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return soundValue(v.Elem(), name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := soundValue(v.Field(i), key); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.Len() > maxParts {
			return fmt.Errorf("%w: %d %s, want at most %d", ErrBadAnswer, v.Len(), name, maxParts)
		}
		for i := range v.Len() {
			if err := soundValue(v.Index(i), name); err != nil {
				return err
			}
		}
	case reflect.Map: // of texts by name
		if v.Len() > maxParts {
			return fmt.Errorf("%w: %d %s, want at most %d", ErrBadAnswer, v.Len(), name, maxParts)
		}
		for _, key := range v.MapKeys() {
			text := v.MapIndex(key).String()
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(printable(key.String(), maxTextRunes)), reflect.ValueOf(printable(text, maxTextRunes)))
		}
	case reflect.String:
		v.SetString(printable(v.String(), maxTextRunes))
		if v.Len() == 0 && (name == "device" || name == "interface") {
			return fmt.Errorf("%w: a %s without a name", ErrBadAnswer, name)
		}
	case reflect.Int, reflect.Int64:
		if n := v.Int(); n < 0 || n > most(name) {
			return outOfRange(name, n)
		}
	case reflect.Uint64:
		if n := v.Uint(); n > uint64(most(name)) && name != "seq" {
			return outOfRange(name, n)
		}
	case reflect.Float64:
		if x := v.Float(); !(x >= 0 && x <= float64(most(name))) { // NaN is in no range
			return outOfRange(name, x)
		}
	}
	return nil
}

// most returns the greatest value of a figure, by the unit at the end of its name.
func most(name string) int64 {
	switch {
	case strings.HasSuffix(name, "Cores") || name == "cpus":
		return maxCores
	case name == "wallNs" || strings.HasSuffix(name, "WallNs"):
		return maxClock
	case strings.HasSuffix(name, "Ns"):
		return maxTime
	}
	return maxFigure
}

func outOfRange(name string, is any) error {
	return fmt.Errorf("%w: %s is %v, want 0 to %d", ErrBadAnswer, name, is, most(name))
}
