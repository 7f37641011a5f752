package tables

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
)

// A Sum is what is compared between a query's result and its input: the number
// of rows, and sums over the rows. In the weighted sums each row counts as much
// as a number made from its key says. So two rows that swapped their values are
// found, although the plain sums stay the same, and no row has to be kept.
type Sum struct {
	Rows            int64
	Revenue         float64 // sum of adRevenue or of the sums of it
	WeightedRevenue float64
	WeightedRank    float64 // join only: sum of the average page ranks
	RowHash         uint64  // scan only: sum of the rows' hashes
}

// Near returns an error that says what differs between two sums, nil if nothing
// does. Numbers of rows and hashes must be equal. Sums of floating-point numbers
// may differ by a billionth, since Hive adds them in another order.
func (s Sum) Near(want Sum) error {
	if s.Rows != want.Rows {
		return fmt.Errorf("%d rows, want %d", s.Rows, want.Rows)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"sum of revenues", s.Revenue, want.Revenue},
		{"sum of revenues weighted by address", s.WeightedRevenue, want.WeightedRevenue},
		{"sum of page ranks weighted by address", s.WeightedRank, want.WeightedRank},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-9*max(1, math.Abs(c.want))) {
			return fmt.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if s.RowHash != want.RowHash {
		return errors.New("the rows differ")
	}
	return nil
}

// Result computes from the rows of both tables what a query must give. For a
// join, all rankings must come before the first visit. Its memory is 8 bytes a
// visit for an aggregation, and about 40 bytes a page for a join.
type Result struct {
	query Query
	sum   Sum
	ips   []uint64           // aggregation: hash of each visit's address
	ranks map[uint64]rank    // join: for the hash of a page's address, its rank
	byIP  map[uint64]*joined // join: for the hash of an address, what was joined
	year  [2]string          // join: first and last day of visits
}

// rank is the sum of the ranks of all pages with one address. HiBench may give
// an address to two pages.
type rank struct{ pages, sum int64 }

type joined struct {
	rows, rankSum int64
	revenue       float64
}

// Query names one of the three queries.
type Query string

// The queries, by HiBench's names.
const (
	Join        Query = "join"        // pages visited in 1999, by the visitor's address
	Aggregation Query = "aggregation" // revenue by the visitor's address
	Scan        Query = "scan"        // a copy of uservisits
)

// NewResult returns the result of a query over tables without rows.
func NewResult(q Query) *Result {
	return &Result{query: q, ranks: map[uint64]rank{}, byIP: map[uint64]*joined{}, year: [2]string{"1999-01-01", "2000-01-01"}}
}

// Ranking takes a row of the table rankings.
func (r *Result) Ranking(row []byte) error {
	f := bytes.Split(row, comma)
	if len(f) != 3 {
		return fmt.Errorf("rankings: row %.80q: %d columns, want 3", row, len(f))
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 32)
	if err != nil {
		return fmt.Errorf("rankings: row %.80q: page rank: %w", row, err)
	}
	if r.query == Join {
		k := hash(f[0])
		old := r.ranks[k]
		r.ranks[k] = rank{old.pages + 1, old.sum + n}
	}
	return nil
}

// Visit takes a row of the table uservisits.
func (r *Result) Visit(row []byte) error {
	f := bytes.Split(row, comma)
	if len(f) != 9 {
		return fmt.Errorf("uservisits: row %.80q: %d columns, want 9", row, len(f))
	}
	revenue, err := strconv.ParseFloat(string(f[3]), 64)
	if err != nil {
		return fmt.Errorf("uservisits: row %.80q: revenue: %w", row, err)
	}
	ip := hash(f[0])
	switch r.query {
	case Aggregation:
		r.ips = append(r.ips, ip)
		r.sum.add(ip, revenue)
	case Scan:
		r.sum.Rows++
		r.sum.RowHash += visitHash(f, revenue)
	case Join:
		if day := string(f[2]); day < r.year[0] || day > r.year[1] {
			return nil
		}
		page, ok := r.ranks[hash(f[1])]
		if !ok {
			return nil
		}
		j := r.byIP[ip]
		if j == nil {
			j = &joined{}
			r.byIP[ip] = j
		}
		j.rows += page.pages
		j.rankSum += page.sum
		j.revenue += revenue * float64(page.pages)
	}
	return nil
}

// Sum returns what the query must give over all rows taken so far.
func (r *Result) Sum() Sum {
	s := r.sum
	switch r.query {
	case Aggregation:
		slices.Sort(r.ips)
		r.ips = slices.Compact(r.ips)
		s.Rows = int64(len(r.ips))
	case Join:
		keys := make([]uint64, 0, len(r.byIP))
		for ip := range r.byIP {
			keys = append(keys, ip)
		}
		slices.Sort(keys) // floating-point sums depend on the order
		for _, ip := range keys {
			j := r.byIP[ip]
			s.Rows++
			s.add(ip, j.revenue)
			s.WeightedRank += weight(ip) * (float64(j.rankSum) / float64(j.rows))
		}
	}
	return s
}

// Output sums up the rows of a query's result as Hive wrote them.
type Output struct {
	query Query
	sum   Sum
	last  float64 // join: revenue of the row before
}

// NewOutput returns the sum of a query's result without rows.
func NewOutput(q Query) *Output { return &Output{query: q, last: math.Inf(1)} }

// Row takes a row of the query's result. Columns are separated by the byte 1,
// Hive's own separator, or by a comma, and may be in double quotes. The rows of a
// join must come in falling order of revenue.
func (o *Output) Row(row []byte) error {
	separator := comma
	if bytes.IndexByte(row, 1) >= 0 {
		separator = []byte{1}
	}
	f := bytes.Split(row, separator)
	for i := range f {
		if n := len(f[i]); n > 1 && f[i][0] == '"' && f[i][n-1] == '"' {
			f[i] = f[i][1 : n-1]
		}
	}
	want := map[Query]int{Aggregation: 2, Join: 3, Scan: 9}[o.query]
	if len(f) != want {
		return fmt.Errorf("row %.80q: %d columns, want %d", row, len(f), want)
	}
	column := map[Query]int{Aggregation: 1, Join: 2, Scan: 3}[o.query]
	revenue, err := strconv.ParseFloat(string(f[column]), 64)
	if err != nil {
		return fmt.Errorf("row %.80q: revenue: %w", row, err)
	}
	o.sum.Rows++
	switch o.query {
	case Scan:
		o.sum.RowHash += visitHash(f, revenue)
		return nil
	case Join:
		average, err := strconv.ParseFloat(string(f[1]), 64)
		if err != nil {
			return fmt.Errorf("row %.80q: average page rank: %w", row, err)
		}
		if revenue > o.last {
			return fmt.Errorf("row %.80q: revenue %v after %v, want falling revenues", row, revenue, o.last)
		}
		o.last = revenue
		o.sum.WeightedRank += weight(hash(f[0])) * average
	}
	o.sum.add(hash(f[0]), revenue)
	return nil
}

// Sum returns the sum of all rows taken so far.
func (o *Output) Sum() Sum { return o.sum }

func (s *Sum) add(key uint64, revenue float64) {
	s.Revenue += revenue
	s.WeightedRevenue += weight(key) * revenue
}

var comma = []byte{','}

// visitHash returns a hash of a visit's columns. The revenue counts as a number,
// since Hive may write 0.10 as 0.1.
func visitHash(columns [][]byte, revenue float64) uint64 {
	h := fnv.New64a()
	for i, c := range columns {
		if i == 3 {
			c = strconv.AppendFloat(nil, revenue, 'g', -1, 64)
		}
		h.Write(c)
		h.Write(comma)
	}
	return h.Sum64()
}

func hash(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// weight returns a number from 0 to 1 that depends on a row's key.
func weight(key uint64) float64 { return float64(mix(key, 7)>>11) / (1 << 53) }
