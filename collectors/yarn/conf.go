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

// Conf is a Hadoop configuration as a job ran with it: every property with its
// final value.
type Conf map[string]string

// ParseConf reads a configuration file (job.xml, *_conf.xml, core-site.xml).
// Of a property that stands there twice the last one counts, as for Hadoop.
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
				return nil, fmt.Errorf("read Hadoop configuration: no property in it; is it the XML file of a job or site?")
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

// Int is a whole number, or otherwise where it is absent or not a number.
func (c Conf) Int(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(c[name]), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// Float is a number, or otherwise where it is absent or not a number.
func (c Conf) Float(name string, otherwise float64) float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(c[name]), 64); err == nil && !math.IsNaN(x) {
		return x
	}
	return otherwise
}

// SlowStart is the share of a job's maps that are done before reduces are asked for.
func (c Conf) SlowStart() float64 {
	return min(max(c.Float("mapreduce.job.reduce.slowstart.completedmaps", 0.05), 0), 1)
}

// Bool is true or false, or otherwise where it is absent or neither.
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c[name])) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}
