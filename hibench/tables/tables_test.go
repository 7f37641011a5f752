package tables

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/traces/errtest"
)

// TestRows: the rows have the columns of the tables, rank follows Zipf's law, and
// about one visit of 45 is in the year of the join.
func TestRows(t *testing.T) {
	s := Source{Visits: 20_000, Pages: 2_400, Seed: 1}
	urls := map[string]bool{}
	before := int64(1 << 40)
	for i := range s.Pages {
		f := strings.Split(string(s.AppendRanking(nil, i)), ",")
		var rank, stay int64
		if n, err := fmt.Sscan(strings.Join(f[1:], " "), &rank, &stay); n != 2 || err != nil || stay < 1 || stay > 99 {
			t.Fatalf("row %d of rankings: %q", i, f)
		}
		if urls[f[0]] || len(f[0]) < 20 || len(f[0]) > 99 {
			t.Fatalf("page %d: address %q has %d characters or is another page's", i, f[0], len(f[0]))
		}
		if rank > before {
			t.Fatalf("page %d has rank %d, the page before %d", i, rank, before)
		}
		urls[f[0]], before = true, rank
	}
	r, bytesTotal := NewResult(Join), 0
	for i := range s.Pages {
		errtest.None(t, r.Ranking(s.AppendRanking(nil, i)))
	}
	for i := range s.Visits {
		row := s.AppendVisit(nil, i)
		bytesTotal += len(row)
		if f := strings.Split(string(row), ","); len(f) != 9 || !urls[f[1]] {
			t.Fatalf("row %d of uservisits: %q", i, row)
		}
		errtest.None(t, r.Visit(row))
	}
	if n := r.Sum().Rows; n < s.Visits/55 || n > s.Visits/37 {
		t.Errorf("%d of %d visits are joined, want about one of 45", n, s.Visits)
	}
	if mean := bytesTotal / int(s.Visits); mean < 120 || mean > 220 {
		t.Errorf("a visit has %d bytes, want about 170", mean)
	}
}

func TestSeedDecidesRows(t *testing.T) {
	a, b := Source{10, 10, 1}, Source{10, 10, 2}
	if !bytes.Equal(a.AppendVisit(nil, 3), a.AppendVisit(nil, 3)) || bytes.Equal(a.AppendVisit(nil, 3), b.AppendVisit(nil, 3)) {
		t.Error("the same seed gives other rows, or another seed the same")
	}
}

// plain computes the rows of the query's result in the simplest way.
func plain(q Query, pages, visits []string) []string {
	type group struct {
		n, ranks int64
		revenue  float64
	}
	groups, order := map[string]*group{}, []string{}
	for _, v := range visits {
		f := strings.Split(v, ",")
		n, ranks := int64(1), int64(0)
		if q == Scan {
			order = append(order, v)
			continue
		}
		if q == Join {
			n = 0
			for _, p := range pages {
				g := strings.Split(p, ",")
				if g[0] == f[1] && f[2] >= "1999-01-01" && f[2] <= "2000-01-01" {
					var rank int64
					fmt.Sscan(g[1], &rank)
					n, ranks = n+1, ranks+rank
				}
			}
			if n == 0 {
				continue
			}
		}
		if groups[f[0]] == nil {
			groups[f[0]] = &group{}
			order = append(order, f[0])
		}
		var revenue float64
		fmt.Sscan(f[3], &revenue)
		g := groups[f[0]]
		g.n, g.ranks, g.revenue = g.n+n, g.ranks+ranks, g.revenue+revenue*float64(n)
	}
	if q == Scan {
		return order
	}
	var rows []string
	for len(order) > 0 { // the largest revenue first, as the join orders
		most := 0
		for i := range order {
			if groups[order[i]].revenue > groups[order[most]].revenue {
				most = i
			}
		}
		g := groups[order[most]]
		if q == Join {
			rows = append(rows, fmt.Sprintf("%s\x01%v\x01%v", order[most], float64(g.ranks)/float64(g.n), g.revenue))
		} else {
			rows = append(rows, fmt.Sprintf("%s\x01%v", order[most], g.revenue))
		}
		order = append(order[:most], order[most+1:]...)
	}
	return rows
}

// TestResult compares the streaming computation with the simplest one, for
// tables with few addresses, so that groups have several rows. Then it changes
// the result a little, which must be found.
func TestResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.SampledFrom([]Query{Join, Aggregation, Scan}).Draw(t, "query")
		var pages, visits []string
		for i := range rapid.IntRange(1, 6).Draw(t, "pages") {
			pages = append(pages, fmt.Sprintf("http://p%d,%d,5", i%4, rapid.IntRange(1, 1000).Draw(t, "rank")))
		}
		for range rapid.IntRange(2, 40).Draw(t, "visits") {
			visits = append(visits, fmt.Sprintf("1.1.1.%d,http://p%d,%s,%v,a,DEU,DEU-std,w,3",
				rapid.IntRange(1, 5).Draw(t, "ip"), rapid.IntRange(0, 5).Draw(t, "page"),
				rapid.SampledFrom([]string{"1998-12-31", "1999-01-01", "1999-07-01", "2000-01-01", "2000-01-02"}).Draw(t, "day"),
				rapid.Float64Range(0.001, 1).Draw(t, "revenue")))
		}
		r := NewResult(q)
		for _, p := range pages {
			if err := r.Ranking([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range visits {
			if err := r.Visit([]byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		rows := plain(q, pages, visits)
		if err := summed(t, q, rows).Near(r.Sum()); err != nil {
			t.Fatalf("%v\n%q\n%q", err, visits, rows)
		}
		if len(rows) == 0 {
			return
		}
		if err := summed(t, q, rows[1:]).Near(r.Sum()); err == nil {
			t.Fatal("a row is missing, and nothing is said")
		}
		if q == Aggregation && len(rows) > 1 { // swap the sums of two addresses
			a, b := strings.Split(rows[0], "\x01"), strings.Split(rows[1], "\x01")
			if a[1] != b[1] {
				rows[0], rows[1] = a[0]+"\x01"+b[1], b[0]+"\x01"+a[1]
				if err := summed(t, q, rows).Near(r.Sum()); err == nil && a[1] != b[1] {
					t.Fatalf("two sums are swapped, and nothing is said: %q", rows[:2])
				}
			}
		}
	})
}

func summed(t interface{ Fatal(...any) }, q Query, rows []string) Sum {
	o := NewOutput(q)
	for _, row := range rows {
		if err := o.Row([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	return o.Sum()
}

// TestRowsThatAreWrong: rows that no query writes are errors that name the row.
func TestRowsThatAreWrong(t *testing.T) {
	for row, q := range map[string]Query{
		"1.1.1.1":                              Aggregation,
		"1.1.1.1\x01much":                      Aggregation,
		"1.1.1.1\x01many\x010.5":               Join,
		"a,b":                                  Scan,
		"1.1.1.1,u,1999-01-01,x,a,DEU,DEU,w,3": Scan,
	} {
		if err := NewOutput(q).Row([]byte(row)); err == nil || !strings.Contains(err.Error(), "row ") {
			t.Errorf("%s: row %q: error %v, want one that names the row", q, row, err)
		}
	}
	o := NewOutput(Join)
	errtest.None(t, o.Row([]byte("a\x011\x010.5")))
	errtest.Has(t, o.Row([]byte("b\x011\x010.6")), "falling")
	r := NewResult(Scan)
	for _, err := range []error{
		r.Ranking([]byte("a,b,c")), r.Ranking([]byte("a")), r.Visit([]byte("a")),
		r.Visit([]byte("1,2,3,x,5,6,7,8,9")),
	} {
		if err == nil {
			t.Error("a wrong row is taken")
		}
	}
}

// A quoted row, as HiBench's tables are written, is the same row.
func TestQuotes(t *testing.T) {
	const row = "1.1.1.1,http://p,1999-01-01,0.50,a,DEU,DEU-std,w,3"
	r := NewResult(Scan)
	errtest.None(t, r.Visit([]byte(row)))
	quoted := `"` + strings.ReplaceAll(strings.Replace(row, "0.50", "0.5", 1), ",", `","`) + `"`
	if err := summed(t, Scan, []string{quoted}).Near(r.Sum()); err != nil {
		t.Error(err)
	}
}
