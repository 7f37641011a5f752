package yarn

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Conf is the Hadoop configuration of a job: the final value of every property.
type Conf map[string]string

// ParseConf parses a configuration file (job.xml, *_conf.xml, core-site.xml).
// If a property occurs twice, the last value counts, as in Hadoop.
func ParseConf(r io.Reader) (Conf, error) {
	conf := Conf{}
	var property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	d := xml.NewDecoder(r)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(conf) == 0 {
				return nil, fmt.Errorf("read Hadoop configuration: no property found; is it the XML file of a job or site?")
			}
			return conf, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read Hadoop configuration: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "property" {
			continue
		}
		property.Name, property.Value = "", ""
		if err := d.DecodeElement(&property, &start); err != nil {
			return nil, fmt.Errorf("read Hadoop configuration: %w", err)
		}
		if name := strings.TrimSpace(property.Name); name != "" {
			conf[name] = property.Value
		}
	}
}

// Int returns a whole number, or otherwise if the property is missing or no
// number.
func (c Conf) Int(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(c[name]), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// Float returns a number, or otherwise if the property is missing or no number.
func (c Conf) Float(name string, otherwise float64) float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(c[name]), 64); err == nil && !math.IsNaN(x) {
		return x
	}
	return otherwise
}

// SlowStart returns the share of a job's maps that must be done before its
// reduces are requested, 0 to 1.
func (c Conf) SlowStart() float64 {
	return min(max(c.Float("mapreduce.job.reduce.slowstart.completedmaps", 0.05), 0), 1)
}

// Bool returns true or false, or otherwise if the property is missing or
// neither.
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c[name])) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}
