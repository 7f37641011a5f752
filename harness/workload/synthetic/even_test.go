package synthetic

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// chiSquare is how far counts are from equal ones, as many deviations of the chi-square
// distribution as so many counts have.
func chiSquare(counts []int) float64 {
	all, x := 0, 0.0
	for _, n := range counts {
		all += n
	}
	want := float64(all) / float64(len(counts))
	for _, n := range counts {
		x += (float64(n) - want) * (float64(n) - want) / want
	}
	freedom := float64(len(counts) - 1)
	return (x - freedom) / math.Sqrt(2*freedom)
}

// TestTextIsEven has each of the 64 letters occur as often as any other, and each pair of
// neighbours too, so that text neither compresses nor repeats.
func TestTextIsEven(t *testing.T) {
	for seed := range uint64(3) {
		words := newText(seed, "even")
		letters, pairs, number := make([]int, 64), make([]int, 64*64), map[byte]int{}
		for i, b := range words.pool {
			if _, ok := number[b]; !ok {
				number[b] = len(number)
			}
			letters[number[b]]++
			if i%2 == 1 {
				pairs[number[words.pool[i-1]]*64+number[b]]++
			}
		}
		if len(number) != 64 || math.Abs(chiSquare(letters)) > 6 || math.Abs(chiSquare(pairs)) > 6 {
			t.Errorf("seed %d: %d letters, %.1f and %.1f deviations from even letters and pairs", seed, len(number), chiSquare(letters),
				chiSquare(pairs))
		}
	}
	a, b, c := make([]byte, 64), make([]byte, 64), make([]byte, 64)
	newText(1, "a").fill(a)
	newText(2, "a").fill(b)
	newText(1, "b").fill(c)
	if string(a) == string(b) || string(a) == string(c) {
		t.Errorf("texts of other seeds or names are equal: %q, %q, %q", a, b, c)
	}
}

// TestKeysDiffer has keys of one reduce be all different, as far as chance goes.
func TestKeysDiffer(t *testing.T) {
	words, seen := newText(1, "keys"), map[string]bool{}
	key := make([]byte, keyBytes)
	for range 20_000 {
		words.fillKey(key, 3, 7)
		seen[string(key)] = true
	}
	if len(seen) < 19_990 {
		t.Errorf("%d different keys of 20000", len(seen))
	}
}

// TestDivisionIsFair has each reduce get its share of what a map emits, to less than
// two bytes, and all of them together get all of it.
func TestDivisionIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Int64Range(0, 1<<20), 1, 20).Draw(t, "shares")
		shares[0]++ // not all may be 0
		s := &Spec{Maps: MapTasks{Count: 1}, Reduces: ReduceTasks{Count: len(shares), Shares: Each(shares)}}
		bytes, all := rapid.Int64Range(0, maxValue).Draw(t, "bytes"), 0.0
		for _, x := range shares {
			all += float64(x)
		}
		d, sum := s.division(), int64(0)
		for r, x := range shares {
			part := d.part(bytes, r)
			if want := float64(bytes) * float64(x) / all; math.Abs(float64(part)-want) > 1+want*1e-12 {
				t.Fatalf("reduce %d of shares %v gets %d of %d bytes, want %v", r, shares, part, bytes, want)
			}
			sum += part
		}
		if sum != bytes {
			t.Fatalf("reduces get %d of %d bytes", sum, bytes)
		}
	})
}

// TestColumns has a Column be the list that it was made of, by index and in sum.
func TestColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 30).Draw(t, "values")
		c, sum := Each(values), int64(0)
		for i, v := range values {
			if c.at(i) != v || c.sum(i) != sum {
				t.Fatalf("%v: value %d is %d, and %d before it; want %d and %d", values, i, c.at(i), c.sum(i), v, sum)
			}
			sum += v
		}
		if c.sum(len(values)) != sum || c.check(len(values)) != nil || c.check(len(values)+1) == nil || len(values) > 1 &&
			c.check(len(values)-1) == nil {
			t.Fatalf("%v: sum %d, want %d, for so many tasks and no others", values, c.sum(len(values)), sum)
		}
		if one := Same(7); one.at(len(values)) != 7 || one.sum(len(values)) != int64(7*len(values)) {
			t.Fatalf("the same for %d tasks: %d, in sum %d", len(values), one.at(len(values)), one.sum(len(values)))
		}
	})
}
