package compare

import (
	"fmt"
	"strings"
)

// warnings collects warnings. A warning that several models or pairs have is
// given once.
type warnings struct {
	texts []string
	about map[string][]string
}

func (w *warnings) add(format string, args ...any) {
	w.from("", []string{fmt.Sprintf(format, args...)})
}

func (w *warnings) from(about string, texts []string) {
	for _, text := range texts {
		if w.about == nil {
			w.about = map[string][]string{}
		}
		if _, ok := w.about[text]; !ok {
			w.texts = append(w.texts, text)
		}
		w.about[text] = append(w.about[text], about)
	}
}

func (w *warnings) list() []string {
	list := []string{}
	for _, text := range w.texts {
		if about := strings.Join(w.about[text], ", "); strings.Trim(about, ", ") != "" {
			text = about + ": " + text
		}
		list = append(list, text)
	}
	return list
}
