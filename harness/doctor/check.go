package doctor

import (
	"errors"
	"fmt"
	"strings"

	"heddle/harness/require"
	"heddle/yarnclient"
)

func (c Check) ok(format string, args ...any) Check { return c.found(OK, format, args...) }

func (c Check) warn(format string, args ...any) Check { return c.found(Warn, format, args...) }

func (c Check) unknown(format string, args ...any) Check { return c.found(Unknown, format, args...) }

// bad sets the check's status to Missing, or to Warn if the feature of heddle
// works without the thing checked.
func (c Check) bad(format string, args ...any) Check {
	if c.Required {
		return c.found(Missing, format, args...)
	}
	return c.found(Warn, format, args...)
}

func (c Check) found(s Status, format string, args ...any) Check {
	const most = 2000
	c.Status, c.Found = s, oneLine(fmt.Sprintf(format, args...))
	if len(c.Found) > most {
		c.Found = strings.ToValidUTF8(c.Found[:most], "") + "…"
	}
	return c
}

// The method failed sets the check's status to Missing or Warn, and takes the
// check's text from an error. If the error says what to do next, that becomes
// the field Next.
func (c Check) failed(err error) Check {
	if r, ok := errors.AsType[*yarnclient.RequestError](err); ok {
		c.Next = r.Next
		if r.Status >= 400 {
			return c.bad("%s: status %d: %v", r.URL, r.Status, r.Err)
		}
		return c.bad("%s: %v", r.URL, r.Err)
	}
	return c.bad("%v", err)
}

func (c Check) set(s require.Setting, value string) Check {
	c.Set = append(c.Set, Property{s.File, s.Property, value, s.Restart})
	return c
}

// setIn adds a scheduler setting of a queue to the properties that the check
// tells the user to set.
func (c Check) setIn(s require.Setting, queue, label string) Check {
	s.Property = s.In(queue, label)
	return c.set(s, s.Value)
}

func (c Check) next(text string) Check {
	c.Next = text
	return c
}
