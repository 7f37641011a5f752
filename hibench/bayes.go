package hibench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Bayes is the name of HiBench's workload that learns from pages which words are typical
// of their classes. Mahout's seq2sparse makes a vector of each page, with a number for
// each word, in several jobs; its trainnb adds up the vectors of each class.
//
// Its programs are Mahout's, and heddle writes the pages itself, even with a checkout:
// HiBench's scripts need Spark to make them. HiBench also names each page by its class
// alone, and Mahout keeps one page of each name: of 25,000 pages it learns from 10. The
// names here are all different.
const Bayes = "bayes"

// BayesJobs is the least number of YARN applications of a run of bayes.
const BayesJobs = 11

const (
	vectorizeClass = "org.apache.mahout.vectorizer.SparseVectorsFromSequenceFiles"
	trainClass     = "org.apache.mahout.classifier.naivebayes.training.TrainNaiveBayesJob"

	bayesWords     = 100_000 // different words, about as many as in HiBench's list
	bayesExponent  = 0.9     // of Zipf's law, by which words are drawn
	bayesPageWords = 500     // words of a page, on average
	bayesLeast     = 2       // a word that occurs less often has no number
	bayesMostPages = 99.0    // nor has one that is in more than this percentage of pages
)

// Classes returns how many classes the pages of bayes have.
func (s Spec) Classes() int {
	switch s.Profile {
	case "tiny":
		return 10
	case "bigdata":
		return 20_000
	}
	return 100
}

// wordSource draws words by Zipf's law.
type wordSource struct{ until []float64 } // until[i] is the chance of one of the words 0 to i

func newWordSource() wordSource {
	until, sum := make([]float64, bayesWords), 0.0
	for i := range until {
		sum += math.Pow(float64(i+1), -bayesExponent)
		until[i] = sum
	}
	for i := range until {
		until[i] /= sum
	}
	return wordSource{until}
}

// appendWord draws a word and appends it.
func (w wordSource) appendWord(b []byte, r *rand.Rand) []byte {
	return appendName(b, min(sort.SearchFloat64s(w.until, r.Float64()), bayesWords-1))
}

// appendName appends word number n. Words have four or more letters and end in a vowel, so
// that none is one of the English words that Mahout leaves out.
func appendName(b []byte, n int) []byte {
	const consonants, vowels = "bdfghklmnprstvwz", "aeiou"
	for i := 0; i < 2 || n > 0; i++ {
		syllable := n % (len(consonants) * len(vowels))
		b = append(b, consonants[syllable/len(vowels)], vowels[syllable%len(vowels)])
		n /= len(consonants) * len(vowels)
	}
	return b
}

// writePages writes the pages to HDFS. Each is drawn from the seed and its number alone.
func (r *Runner) writePages(ctx context.Context) error {
	source, classes := newWordSource(), r.spec.Classes()
	page := func(key, value []byte, i int64) ([]byte, []byte) {
		random := rand.New(rand.NewPCG(r.spec.Seed, uint64(i)))
		key = fmt.Appendf(key, "/class%d/page%d", random.IntN(classes), i)
		for range max(1, int(bayesPageWords+bayesPageWords/10*random.NormFloat64())) {
			value = append(source.appendWord(value, random), ' ')
		}
		return asText(key), asText(value)
	}
	if err := r.writeRecords(ctx, r.inputPath(), textClass, textClass, r.spec.Maps, r.spec.dataSize(), page); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	return nil
}

// ngrams returns up to how many words in a row have a number of their own.
func (s Spec) ngrams() int {
	if s.Profile == "tiny" || s.Profile == "" {
		return 1
	}
	return 2
}

// vectorizeArgs and trainArgs return the arguments of the two programs, as in HiBench's
// run.sh.
func (s Spec) vectorizeArgs(input, output string) []string {
	return []string{
		"-D", compressOutput + "=false", "-i", input, "-o", path.Join(output, "vectors"),
		"-lnorm", "-nv", "-wt", "tfidf", "-ng", strconv.Itoa(s.ngrams()), "--numReducers", strconv.Itoa(s.Reduces),
	}
}

func (s Spec) trainArgs(output string) []string {
	return []string{
		"-D", compressOutput + "=false", "-i", path.Join(output, "vectors", "tfidf-vectors"), "-o", path.Join(output, "model"),
		"-li", path.Join(output, "labelindex"), "-ow", "--tempDir", path.Join(output, "temp"),
	}
}

// learned is what bayes learns: for each class the sum of the numbers of each word in its pages.
type learned map[string]map[string]float64

// learn computes what the workload must give.
func (r *Runner) learn(ctx context.Context, dir string) (learned, error) {
	type page struct {
		class string
		words map[string]int
	}
	var pages []page
	count, in := map[string]int{}, map[string]int{} // occurrences of each word, and pages with it
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachRecord(f, "Text", "Text", func(key, value []byte) error {
			parts := strings.Split(string(key), "/")
			if len(parts) < 3 {
				return fmt.Errorf("page %.80q: want /CLASS/NAME", key)
			}
			p := page{parts[1], map[string]int{}}
			for word := range bytes.FieldsSeq(value) {
				p.words[string(word)]++
			}
			for word, n := range p.words {
				count[word] += n
				in[word]++
			}
			pages = append(pages, p)
			return nil
		})
	})
	l := learned{}
	for _, p := range pages {
		if l[p.class] == nil {
			l[p.class] = map[string]float64{}
		}
		for word, n := range p.words {
			if count[word] < bayesLeast || 100*float64(in[word])/float64(len(pages)) > bayesMostPages {
				continue
			}
			// Mahout computes with single precision here.
			tf := float32(math.Sqrt(float64(n)))
			idf := float32(math.Log(float64(len(pages))/float64(in[word]+1)) + 1)
			l[p.class][word] += float64(tf * idf)
		}
	}
	return l, err
}

// checkBayes compares the numbers of all words in all classes with those that this package
// computes from the pages.
func (r *Runner) checkBayes(ctx context.Context, k *Check, tag string) error {
	output := r.outputPath(tag)
	inputBytes, _, err := folderSize(r.env.FS, r.inputPath())
	if err == nil {
		k.Bytes, _, err = folderSize(r.env.FS, path.Join(output, "model"))
	}
	if err != nil {
		return fmt.Errorf("%w: there is no result: %w", ErrInvalidOutput, err)
	}
	if inputBytes > readLimitBytes/4 || r.spec.ngrams() > 1 { // words are kept in memory
		k.Compared = []string{fmt.Sprintf("nothing (the input is larger than %d bytes, or words in a row have numbers)", readLimitBytes/4)}
		return nil
	}
	want, err := ofInput(r, "", func(dir string) (learned, error) { return r.learn(ctx, dir) })
	if err != nil {
		return err
	}
	words, err := r.numbers(ctx, path.Join(output, "vectors"), "dictionary.file-")
	if err != nil {
		return err
	}
	classes, err := r.numbers(ctx, output, "labelindex")
	if err != nil {
		return err
	}
	if err := k.compare("classes", len(classes), len(want)); err != nil {
		return err
	}
	f, err := r.env.FS.Open(path.Join(output, "model", "naiveBayesModel.bin"))
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(&ctxReader{ctx, f}, readLimitBytes))
	if err != nil {
		return err
	}
	rows, err := readModel(b, len(words), len(classes))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidOutput, err)
	}
	for class, row := range classes {
		for word, i := range words {
			got, want := rows[row][i], want[class][word]
			if !(math.Abs(got-want) <= 1e-9*max(1, want)) {
				return fmt.Errorf("%w: word %.40q of class %.40q has the number %v, want %v", ErrInvalidOutput, word, class, got, want)
			}
			if want != 0 {
				k.Records++
			}
		}
	}
	all := int64(0)
	for _, numbers := range want {
		all += int64(len(numbers))
	}
	return k.compare("numbers of all words in all classes", k.Records, all)
}

// numbers reads SequenceFiles with texts and their numbers, from 0 on, whose names begin
// with the given text.
func (r *Runner) numbers(ctx context.Context, dir, name string) (map[string]int, error) {
	m := map[string]int{}
	files, err := dataFiles(r.env.FS, dir)
	if err != nil {
		return nil, err
	}
	for _, info := range files {
		if !strings.HasPrefix(info.Name(), name) {
			continue
		}
		f, err := r.env.FS.Open(path.Join(dir, info.Name()))
		if err != nil {
			return nil, err
		}
		err = eachRecord(&ctxReader{ctx, f}, "Text", "IntWritable", func(text, number []byte) error {
			if len(number) != 4 {
				return fmt.Errorf("a number has %d bytes; want 4", len(number))
			}
			m[string(text)] = int(int32(binary.BigEndian.Uint32(number)))
			return nil
		})
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	seen := make([]bool, len(m))
	for text, n := range m {
		if n < 0 || n >= len(m) || seen[n] {
			return nil, fmt.Errorf("%w: %.40q has the number %d: want each of 0 to %d once", ErrInvalidOutput, text, n, len(m)-1)
		}
		seen[n] = true
	}
	return m, nil
}

// readModel reads the sums of each class from Mahout's file.
func readModel(b []byte, words, classes int) ([][]float64, error) {
	r := bytes.NewReader(b)
	if _, err := r.Seek(4, io.SeekStart); err != nil { // what is added to each sum later
		return nil, err
	}
	complementary, err := r.ReadByte()
	if err != nil {
		return nil, fmt.Errorf("model: %w", whole(err))
	}
	if complementary != 0 {
		return nil, fmt.Errorf("model: byte %d; want 0", complementary)
	}
	if err := errors.Join(readVector(r, make([]float64, words)), readVector(r, make([]float64, classes))); err != nil {
		return nil, err
	}
	var rows [][]float64
	for range classes {
		row := make([]float64, words)
		if err := readVector(r, row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if r.Len() > 0 {
		return nil, fmt.Errorf("model: %d bytes follow its end", r.Len())
	}
	return rows, nil
}
