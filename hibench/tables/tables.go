// Package tables makes the rows of the two tables that HiBench's SQL workloads
// read, and computes what their queries must give. It is pure: the same numbers
// give the same rows, and nothing is read or written.
//
// The table rankings has one row for each page of a made-up web: its address,
// how many links lead to it, and how long visitors stay on average. Few pages
// get most of the links, by Zipf's law. The table uservisits has one row for
// each visit of a page. The columns are those of HiBench's generator, and the
// rows have about the same length. They are not the same rows: see Source.
//
// The package knows neither Hive nor files. Package hibench writes the rows to
// HDFS and reads them from there.
package tables

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"
)

// Rankings and Visits are the columns of the two tables, in the order of a row.
// In a row, columns are separated by a comma, and none contains one.
const (
	RankingsColumns = "pageURL STRING, pageRank INT, avgDuration INT"
	VisitsColumns   = "sourceIP STRING, destURL STRING, visitDate STRING, adRevenue DOUBLE, userAgent STRING, countryCode STRING, " +
		"languageCode STRING, searchWord STRING, duration INT"
)

// Source makes the rows of both tables.
//
// HiBench counts the links between pages that it draws. Source computes how many
// links a page gets on average, so that it needs no memory. Dates of visits are
// spread over the 45 years from 1970 to 2014, and pages are visited equally
// often, both as in HiBench.
type Source struct {
	Visits, Pages int64  // number of rows of uservisits and of rankings; 1 or more
	Seed          uint64 // the same seed gives the same rows
}

// linksPerPage is how many links a page has on average, as in HiBench.
const linksPerPage = 40

// Days between which visits happen, counted from 1970-01-01.
const visitDays = 45 * 365.25

// AppendRanking appends row number i of the table rankings to b. Pages have the
// numbers 0 to Pages-1, and the first gets the most links.
func (s Source) AppendRanking(b []byte, i int64) []byte {
	b = append(s.appendURL(b, i), ',')
	// By Zipf's law with the exponent 1/2, the pages up to k get the share
	// sqrt(k/Pages) of all links.
	n := float64(s.Pages)
	share := math.Sqrt(float64(i+1)/n) - math.Sqrt(float64(i)/n)
	links := max(1, int64(share*n*linksPerPage))
	b = append(strconv.AppendInt(b, links, 10), ',')
	return strconv.AppendInt(b, 1+int64(mix(s.Seed^0xa5, uint64(i))%99), 10)
}

// AppendVisit appends row number i of the table uservisits to b. Visits have the
// numbers 0 to Visits-1. Each row is drawn from the seed and its number alone, so
// that files can be written in any order.
func (s Source) AppendVisit(b []byte, i int64) []byte {
	r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	for k, least := range [4]int{1, 0, 0, 1} {
		if k > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendInt(b, int64(least+r.IntN(255-least)), 10)
	}
	b = append(b, ',')
	b = append(s.appendURL(b, r.Int64N(s.Pages)), ',')
	day := time.Unix(0, 0).UTC().AddDate(0, 0, int(r.Float64()*visitDays))
	b = append(day.AppendFormat(b, time.DateOnly), ',')
	b = append(strconv.AppendFloat(b, float64(r.Float32()), 'f', 7, 64), ',')
	b = append(append(b, agents[r.IntN(len(agents))]...), ',')
	country := countries[r.IntN(len(countries))]
	b = append(append(b, country...), ',')
	b = append(append(append(b, country...), "-std"...), ',')
	b = append(append(b, words[r.IntN(len(words))]...), ',')
	return strconv.AppendInt(b, 1+int64(r.IntN(10)), 10)
}

// appendURL appends the address of page i, which no other page has. It has 20
// to 99 characters.
func (s Source) appendURL(b []byte, i int64) []byte {
	start := len(b)
	x := mix(s.Seed, uint64(i))
	length := 20 + int(x%80)
	b = append(b, "http://"...)
	b = strconv.AppendInt(b, i, 36)
	b = append(b, '.')
	for len(b)-start < length {
		x = mix(x, 1)
		b = append(b, 'a'+byte(x%26))
	}
	return b
}

// mix returns a number that looks random and depends on both arguments.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b*0xbf58476d1ce4e5b9+0x94d049bb133111eb)
	x := hi ^ lo
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// Words of the columns userAgent, countryCode and searchWord. An agent's text is
// about as long as that of a browser.
var (
	agents = []string{
		"Loom/1.0 (compatible; shuttle 4; desktop; row 12; wide cloth; long text so that the row is as long as others)",
		"Warp/2.3 (tablet; thread 80; small screen) Weft/5.1 like Loom",
		"Weft/5.0 (desktop; thread 64; large screen) Warp/2.1 like Loom/1.0 with some more words at its end",
		"Bobbin/0.9", "Spindle/7.7 (phone; light) like Weft/5.1 and like Warp/2.3",
	}
	countries = []string{
		"ARG", "AUS", "BRA", "CAN", "CHN", "DEU", "EGY", "ESP", "FRA", "GBR", "IND", "ITA", "JPN", "KEN", "MEX", "NGA",
		"POL", "SWE", "TUR", "USA", "ZAF",
	}
	words = []string{
		"anchor", "barley", "candle", "dapple", "ember", "fathom", "garnet", "harbour", "ivory", "juniper", "kettle",
		"lantern", "meadow", "nettle", "orchard", "pebble", "quarry", "ribbon", "saffron", "thimble", "umber", "velvet",
		"willow", "yarrow", "zephyr",
	}
)
