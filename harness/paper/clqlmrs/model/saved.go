package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"heddle/harness/sched"
)

const sealed = "heddle training 2\n"

// seal puts a header and a checksum around the bytes that a scheduler model has
// learnt, so that unseal can notice damage. The argument params is the text of
// the parameters that the learnt data depend on.
func seal(model, params string, learnt []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, len(learnt)+len(params)+64), "%s%s\n%s\n", sealed, model, params)
	out = append(out, learnt...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// unseal returns the bytes that were given to seal. It fails if the data are
// damaged, or if the model's name or its parameters differ.
func unseal(model, params string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(sealed)) {
		return nil, fmt.Errorf("not a saved training of this version: its %d bytes do not begin with %q", len(data), sealed[:len(sealed)-1])
	}
	end := len(data) - crc32.Size
	if end < len(sealed) || binary.LittleEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[:end]) {
		return nil, fmt.Errorf("the saved training is damaged or cut off: its checksum is wrong")
	}
	by, rest, _ := bytes.Cut(data[len(sealed):end], []byte("\n"))
	with, learnt, _ := bytes.Cut(rest, []byte("\n"))
	switch {
	case string(by) != model:
		return nil, fmt.Errorf("the saved training is of model %q, not %q", by, model)
	case string(with) != params:
		return nil, fmt.Errorf("the saved training has parameters %s, but the model has %s", with, params)
	}
	return learnt, nil
}

// appendTraining appends training record t to the bytes b. cutTraining is its
// reverse: it reads the record from the front of b.
func appendTraining(b []byte, t *sched.Training) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, t.Epsilon)
	b, _ = binary.Append(b, binary.LittleEndian, t.Assignments)
	b, _ = binary.Append(b, binary.LittleEndian, uint64(len(t.Episodes)))
	b, _ = binary.Append(b, binary.LittleEndian, t.Episodes)
	return b
}

func cutTraining(b []byte) (*sched.Training, []byte, error) {
	var head struct {
		Epsilon     float64
		Assignments int64
		Count       uint64
	}
	n, err := binary.Decode(b, binary.LittleEndian, &head)
	if err != nil || head.Count > uint64(len(b)-n)/uint64(binary.Size(sched.Episode{})) {
		return nil, nil, fmt.Errorf("the record of episodes is cut off: %d bytes", len(b))
	}
	t := &sched.Training{Epsilon: head.Epsilon, Assignments: head.Assignments, Episodes: make([]sched.Episode, head.Count)}
	m, err := binary.Decode(b[n:], binary.LittleEndian, t.Episodes)
	return t, b[n+m:], err
}
