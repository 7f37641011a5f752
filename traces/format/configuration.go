package format

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// Configuration reads the properties in a Hadoop configuration file. If one occurs twice, the
// last value counts, as in Hadoop. Of a damaged file it returns those before the damage, too.
func Configuration(in io.Reader) (map[string]string, error) {
	conf := map[string]string{}
	for d := xml.NewDecoder(in); ; {
		token, err := d.Token()
		var property struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "property" {
			err = d.DecodeElement(&property, &start)
		}
		if errors.Is(err, io.EOF) {
			return conf, nil
		}
		if err != nil {
			return conf, err
		}
		if name := strings.TrimSpace(property.Name); name != "" {
			conf[name] = property.Value
		}
	}
}
