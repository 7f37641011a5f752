package synthetic

import (
	"encoding/base64"
	"hash/fnv"
	"math/rand/v2"
)

// poolBytes is how much random text is made once. All text is cut out of it at
// random places, which costs little more than copying. Compressors for single
// blocks find hardly any repetition.
const poolBytes = 1 << 20

// text makes random letters, digits, '-' and '_'. Text from the same seed and
// name is the same everywhere.
type text struct {
	random *rand.PCG
	pool   []byte
}

func newText(seed uint64, name string) *text {
	h := fnv.New64a()
	h.Write([]byte(name)) //nolint:errcheck // a hash takes any text
	t := &text{random: rand.NewPCG(seed, h.Sum64())}
	raw := make([]byte, poolBytes*3/4)
	for i := 0; i+8 <= len(raw); i += 8 {
		for b, x := 0, t.random.Uint64(); b < 8; b++ {
			raw[i+b] = byte(x >> (8 * b))
		}
	}
	t.pool = base64.RawURLEncoding.AppendEncode(nil, raw)
	return t
}

// fill writes random text. It can fill at most half a pool at once.
func (t *text) fill(to []byte) {
	start := t.random.Uint64() % uint64(len(t.pool)-len(to))
	copy(to, t.pool[start:])
}

// fillKey writes a random key that Hadoop gives to one of so many reduces.
func (t *text) fillKey(key []byte, reduce, reduces int) {
	for {
		x := t.random.Uint64()
		for i := range key[:len(key)-suffixBytes] {
			key[i] = 'A' + byte(x%digits)
			x /= digits
		}
		if aim(key, reduce, reduces) {
			return
		}
	}
}
