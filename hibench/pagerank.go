package hibench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Pagerank is the name of HiBench's workload that ranks pages by the links between
// them. Each iteration is two jobs: one gives each link a part of its page's rank, the
// other adds these up. Program and generator are Java sources in HiBench's checkout,
// which javac compiles. So it needs a checkout.
const Pagerank = "pagerank"

// PagerankStages is the number of YARN applications that an iteration of pagerank starts.
const PagerankStages = 2

// pegasusJar is where HiBench's scripts expect the program, in its own folder.
var pegasusJar = filepath.Join("hadoopbench", "pegasus", "target", "pegasus-2.0-SNAPSHOT.jar")

// buildPegasus compiles the program into a jar in a folder that looks like a checkout.
func (r *Runner) buildPegasus(ctx context.Context, folder *os.Root, farm string) error {
	jar := filepath.Join(farm, pegasusJar)
	if err := folder.MkdirAll(filepath.Dir(jar), 0o700); err != nil {
		return err
	}
	java := filepath.Join(r.env.Checkout, "hadoopbench", "pegasus", "src", "main", "java")
	return r.compile(ctx, folder, jar, java, filepath.Join(java, "pegasus", "pagerank", "PagerankNaive.java"))
}

// checkPagerank compares the ranks with those that this package computes from the
// links.
func (r *Runner) checkPagerank(ctx context.Context, k *Check, tag string) error {
	output := path.Join(r.outputPath(tag), "pr_vector")
	inputBytes, _, err := folderSize(r.env.FS, r.mapInputPath())
	if err == nil {
		k.Bytes, _, err = folderSize(r.env.FS, output)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no result: %w", ErrInvalidOutput, err)
	}
	if err != nil {
		return err
	}
	if inputBytes > readLimitBytes/4 { // the links are kept in memory
		k.Compared = []string{fmt.Sprintf("nothing (the input is larger than %d bytes)", readLimitBytes/4)}
		return nil
	}
	pages := r.spec.dataSize()
	want, err := ofInput(r, strconv.Itoa(r.spec.Iterations()), func(dir string) ([]float64, error) {
		from, to, err := r.links(ctx, dir, pages)
		return ranks(from, to, int(pages), r.spec.Iterations()), err
	})
	if err != nil {
		return err
	}
	seen := make([]bool, pages)
	err = r.eachFile(ctx, output, func(f io.Reader) error {
		return eachLine(f, func(line string) error {
			id, text, _ := strings.Cut(line, "\tv")
			page, err := strconv.ParseInt(id, 10, 64)
			rank, rerr := strconv.ParseFloat(text, 64)
			switch {
			case err != nil || rerr != nil || page < 0 || page >= pages:
				return fmt.Errorf("%w: line %.80q: want a page below %d and its rank", ErrInvalidOutput, line, pages)
			case seen[page]:
				return fmt.Errorf("%w: page %d occurs twice", ErrInvalidOutput, page)
			case !(math.Abs(rank-want[page]) <= 1e-9*want[page]): // sums are in another order
				return fmt.Errorf("%w: page %d has the rank %v, want %v", ErrInvalidOutput, page, rank, want[page])
			}
			seen[page] = true
			k.Records++
			return nil
		})
	})
	if err != nil {
		return err
	}
	return k.compare("ranks of all pages", k.Records, pages)
}

// links returns the pages from which and to which links go, in files of lines with both.
func (r *Runner) links(ctx context.Context, dir string, pages int64) (from, to []int32, err error) {
	err = r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachLine(f, func(line string) error {
			a, b, _ := strings.Cut(line, "\t")
			i, err := strconv.ParseInt(a, 10, 32)
			j, jerr := strconv.ParseInt(b, 10, 32)
			if err != nil || jerr != nil || i < 0 || i >= pages || j < 0 || j >= pages {
				return fmt.Errorf("line %.80q: want two pages below %d", line, pages)
			}
			from, to = append(from, int32(i)), append(to, int32(j))
			return nil
		})
	})
	return from, to, err
}

// ranks computes the rank of each page as HiBench's program does. A page without links
// gives its rank to nobody, so the sum of ranks falls.
func ranks(from, to []int32, pages, iterations int) []float64 {
	c := float64(float32(0.85)) // the program has it with single precision
	links := make([]float64, pages)
	for _, p := range from {
		links[p]++
	}
	rank := slices.Repeat([]float64{1 / float64(pages)}, pages)
	for range iterations {
		next := make([]float64, pages)
		for i, p := range from {
			next[to[i]] += rank[p] / links[p]
		}
		most := 0.0
		for p := range next {
			next[p] = next[p]*c + (1-c)/float64(pages)
			most = max(most, math.Abs(next[p]-rank[p]))
		}
		rank = next
		if most <= 1/float64(pages)/10 {
			break
		}
	}
	return rank
}
