package hibench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mahout is a library of machine learning whose programs of release 0.11 are MapReduce
// jobs. Its vectors are read and written here as it serializes them.

const vectorClass = "org.apache.mahout.math.VectorWritable"

// Bits of the first byte of a serialized vector.
const (
	vectorDense   = 1 << iota // all elements follow; otherwise those that are not 0, with their indexes
	vectorInOrder             // indexes ascend, and each is given by its distance from the one before
	vectorNamed               // a name follows the elements
	vectorSingle              // elements have single precision
)

// appendVector appends a serialized vector, with an index for each of its elements.
func appendVector(b []byte, v []float64) []byte {
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(len(v)))
	b = binary.AppendUvarint(b, uint64(len(v)))
	for i, x := range v {
		b = binary.AppendUvarint(b, uint64(i))
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// readVector reads a serialized vector of the given number of elements into v, which is
// long enough.
func readVector(r *bytes.Reader, v []float64) error {
	flags, err := r.ReadByte()
	if err != nil {
		return fmt.Errorf("vector: %w", whole(err))
	}
	size, err := binary.ReadUvarint(r)
	if err == nil && size != uint64(len(v)) {
		return fmt.Errorf("vector: %d elements, want %d", size, len(v))
	}
	given := size
	if err == nil && flags&vectorDense == 0 {
		given, err = binary.ReadUvarint(r)
		clear(v)
	}
	index := uint64(0)
	for i := uint64(0); i < given && err == nil; i++ {
		at := i
		if flags&vectorDense == 0 {
			if at, err = binary.ReadUvarint(r); err != nil {
				break
			}
			if flags&vectorInOrder != 0 {
				at += index
			}
			index = at
		}
		if at >= size {
			return fmt.Errorf("vector: index %d of %d elements", at, size)
		}
		v[at], err = readElement(r, flags)
	}
	if err == nil && flags&vectorNamed != 0 {
		_, err = readUTF(r)
	}
	if err != nil {
		return fmt.Errorf("vector: %w", whole(err))
	}
	return nil
}

func readElement(r *bytes.Reader, flags byte) (float64, error) {
	var b [8]byte
	if flags&vectorSingle != 0 {
		_, err := io.ReadFull(r, b[:4])
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b[:]))), err
	}
	_, err := io.ReadFull(r, b[:])
	return math.Float64frombits(binary.BigEndian.Uint64(b[:])), err
}

// appendUTF appends a string as Java's DataOutput writes it. It has only ASCII.
func appendUTF(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func readUTF(r io.Reader) (string, error) {
	var n uint16
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return string(b), err
}

// mahoutJars returns the jars in the folder with Mahout's.
func (env *Env) mahoutJars() ([]string, error) {
	jars, err := filepath.Glob(filepath.Join(env.Mahout, "*.jar"))
	if err != nil {
		return nil, fmt.Errorf("hibench: Mahout's jars: %w", err)
	}
	if env.Mahout == "" || !slices.ContainsFunc(jars, func(j string) bool { return strings.HasPrefix(filepath.Base(j), "mahout-mr-") }) {
		return nil, fmt.Errorf("hibench: Mahout's jars: no mahout-mr-*.jar in %q", env.Mahout)
	}
	return jars, nil
}

// finalFolder returns the name of the one folder below dir whose name has the given
// start and end, and what is between them.
func (r *Runner) finalFolder(dir, start, end string) (name, between string, err error) {
	list, err := r.env.FS.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("%w: there is no result: %w", ErrInvalidOutput, err)
	}
	if err != nil {
		return "", "", err
	}
	for _, info := range list {
		rest, ok := strings.CutPrefix(info.Name(), start)
		if rest, isEnd := strings.CutSuffix(rest, end); ok && isEnd {
			return info.Name(), rest, nil
		}
	}
	return "", "", fmt.Errorf("%w: there is no folder %s*%s", ErrInvalidOutput, start, end)
}

// mahoutClass returns the main class of a workload whose program is Mahout's.
func (r *Runner) mahoutClass() string {
	if r.spec.Workload == Bayes {
		return vectorizeClass
	}
	return kmeansClass
}

// inTurn returns a command that runs some commands one after the other, until one fails.
func inTurn(commands ...[]string) []string {
	var lines []string
	for _, argv := range commands {
		var words []string
		for _, word := range argv {
			words = append(words, quote(word))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return []string{"sh", "-c", strings.Join(lines, " && ")}
}
