package yarnclient

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

func isXML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

// xmlToJSON rewrites an XML answer as JSON. The root element's name becomes
// the root name, and its child elements become members. Child elements with
// the same name become members with the same name. Text becomes a string.
// Attributes are dropped.
func xmlToJSON(body []byte) ([]byte, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "us-ascii") {
			return r, nil
		}
		return nil, fmt.Errorf("character set %q in XML", charset)
	}
	var out bytes.Buffer
	for {
		t, err := d.Token()
		if err != nil {
			return nil, xmlError(err)
		}
		if start, ok := t.(xml.StartElement); ok {
			out.WriteString("{" + quote(start.Name.Local) + ":")
			if err := xmlElement(d, &out, 0); err != nil {
				return nil, err
			}
			out.WriteByte('}')
			return out.Bytes(), nil
		}
	}
}

func xmlElement(d *xml.Decoder, out *bytes.Buffer, depth int) error {
	if depth > maxDepth {
		return errors.New("XML nested too deeply")
	}
	var text strings.Builder
	children := 0
	for {
		t, err := d.Token()
		if err != nil {
			return xmlError(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if children++; children == 1 {
				out.WriteByte('{')
			} else {
				out.WriteByte(',')
			}
			out.WriteString(quote(t.Name.Local) + ":")
			if err := xmlElement(d, out, depth+1); err != nil {
				return err
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if children > 0 {
				out.WriteByte('}')
			} else {
				out.WriteString(quote(text.String()))
			}
			return nil
		}
	}
}

func xmlError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("XML cut off")
	}
	return fmt.Errorf("XML: %w", err)
}

// quote returns the text s as a JSON string. XML has no control characters
// except tab and line ends, and encoding/xml has checked that s is UTF-8.
func quote(s string) string {
	if strings.ContainsAny(s, "\"\\\t\n\r") {
		s = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(s)
	}
	return `"` + s + `"`
}
