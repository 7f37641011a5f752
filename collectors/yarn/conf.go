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

// Conf is the Hadoop configuration of a job: the value of each property by its
// name.
type Conf map[string]string

// ParseConf parses a Hadoop configuration file (job.xml, *_conf.xml,
// core-site.xml). If a property occurs twice, the last value counts, as in
// Hadoop.
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

// Int returns the value of a property as a whole number. If the property is
// missing or no whole number, the result is the parameter otherwise.
func (c Conf) Int(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(c[name]), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// Float returns the value of a property as a number. If the property is
// missing or no number, the result is the parameter otherwise.
func (c Conf) Float(name string, otherwise float64) float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(c[name]), 64); err == nil && !math.IsNaN(x) {
		return x
	}
	return otherwise
}

// SlowStart returns the fraction of a job's maps that must be done before the
// ApplicationMaster requests containers for reduces, from 0 to 1.
func (c Conf) SlowStart() float64 {
	return min(max(c.Float("mapreduce.job.reduce.slowstart.completedmaps", 0.05), 0), 1)
}

// Bool returns the value of a property as true or false. If the property is
// missing or has any other value, the result is the parameter otherwise.
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c[name])) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}
