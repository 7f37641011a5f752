package agent

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
)

// maxErrorRunes is the greatest length of a text that quotes what came back.
const maxErrorRunes = 400

// reply is what came back from the agent's address.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) media() string {
	media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return printable(media)
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
	return printable(said.Error)
}

// decode decodes the JSON of an answer.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s", ErrBadAnswer, printable(err.Error()))
	}
	return nil
}

// printable returns a text, cut to maxErrorRunes, in which "?" stands for each
// character that is not printable, such as one that a terminal would obey.
func printable(s string) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			return '?'
		}
		return c
	}, s)
	if runes := []rune(s); len(runes) > maxErrorRunes {
		s = string(runes[:maxErrorRunes]) + "…"
	}
	return s
}
