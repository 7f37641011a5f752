package jobsplit

import "fmt"

// Token returns the identifier and the password of the first token of a kind in a file of
// tokens (HDTS, version 0), such as the one that an ApplicationMaster is started with.
func Token(file []byte, kind string) (id, password []byte, err error) {
	d := &decoder{data: file}
	d.magic("HDTS\x00")
	field := func() []byte { return d.bytes(int(d.count("bytes of a token", maxText))) }
	for range d.count("tokens", maxHosts) {
		field() // an alias
		id, password = field(), field()
		is := string(field())
		field() // the service
		if d.err == nil && is == kind {
			return id, password, nil
		}
	}
	d.fail("none of kind %s", kind)
	return nil, nil, fmt.Errorf("read tokens: %w", d.err)
}
