package hibench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Grep is the name of a workload that HiBench does not have: the program grep of
// Hadoop's examples. It runs two YARN applications one after the other. The
// first counts the matches of a regular expression in lines of text, the second
// sorts them by their counts.
const Grep = "grep"

// GrepJobs is the number of YARN applications that one run of grep starts.
const GrepJobs = 2

// grepPrepareArgs returns the arguments that follow the examples jar in the
// command that makes grep's input: lines of text with random words.
func (s Spec) grepPrepareArgs(input string) []string {
	args := s.randomTextArgs(input)
	last := len(args) - 1
	return append(args[:last:last], "-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat", input)
}

// grepArgs returns the arguments that follow the examples jar in the command
// that runs grep. The program writes what its first job found to a folder of
// random name in the user's home folder. The prefix of home folders makes this a
// folder beside the output, so that Clean finds it.
func (s Spec) grepArgs(input, output string) []string {
	args := append([]string{Grep}, defines("mapreduce.job.reduces", strconv.Itoa(s.Reduces), "dfs.user.home.dir.prefix",
		grepTemp(output))...)
	return append(args, input, output, s.Regex)
}

// grepTemp returns the HDFS folder for what grep's first job found. output is the
// folder of grep's output.
func grepTemp(output string) string { return output + "-found" }

// The pattern javaOnly matches parts of a regular expression that Java and Go
// understand differently, and Hadoop's ${NAME}, which stands for a property.
var javaOnly = regexp.MustCompile(`\(\?|&&|\[[^\]]*\[|\$\{`)

// checkRegex returns an error if grep's regular expression is not valid, or if
// Java and Go could understand it differently: grep is a Java program, and Check
// counts the matches in Go.
func (s Spec) checkRegex() error {
	if s.Workload != Grep {
		if s.Regex != "" {
			return fmt.Errorf("regex %q: only %s has one", s.Regex, Grep)
		}
		return nil
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("regex %q: "+format, append([]any{s.Regex}, args...)...)
	}
	if s.Regex == "" {
		return wrong("want a regular expression, such as [a-z]*ness")
	}
	if strings.ContainsFunc(s.Regex, func(r rune) bool { return r < ' ' || r > '~' }) {
		return wrong("want printable ASCII characters")
	}
	if part := javaOnly.FindString(strings.ReplaceAll(s.Regex, "(?:", "(")); part != "" {
		return wrong("%s: Hadoop or Java reads it otherwise than Go, which checks the output; write it without", part)
	}
	re, err := regexp.Compile(s.Regex)
	if err != nil {
		return wrong("%v", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	for _, text := range []string{"", "a b"} {
		if slices.Contains(re.FindAllString(text, -1), "") {
			return wrong("it matches the empty text, which Java and Go count differently; want at least one character in each match")
		}
	}
	return nil
}

// checkGrep compares grep's output with the matches in the input, and with the
// counters of both jobs together. A match is counted once by the first job's maps,
// and each different match once more by the second job's.
func (r *Runner) checkGrep(ctx context.Context, k *check, output string, c Counters, read bool) error {
	got := map[string]int64{}
	var sum int64
	err := r.eachFile(ctx, output, func(f io.Reader) error {
		last := int64(0)
		return eachLine(f, func(line string) error {
			count, match, ok := strings.Cut(line, "\t")
			n, err := strconv.ParseInt(count, 10, 64)
			switch _, twice := got[match]; {
			case !ok || err != nil || n < 1:
				return fmt.Errorf("%w: line %.80q: want a count, a tab and a match", ErrInvalidOutput, line)
			case twice:
				return fmt.Errorf("%w: match %.40q occurs twice", ErrInvalidOutput, match)
			case last > 0 && n > last:
				return fmt.Errorf("%w: match %.40q: count %d after %d; want falling counts", ErrInvalidOutput, match, n, last)
			}
			got[match], last = n, n
			sum += n
			return nil
		})
	})
	if err != nil {
		return err
	}
	k.add("order of counts")
	if err := k.compare("matches and different matches mapped (counters)", c.MapOutputRecords, sum+int64(len(got))); err != nil || !read {
		return err
	}
	want, err := ofInput(r, r.spec.Regex, func(dir string) (map[string]int64, error) { return r.countMatches(ctx, dir) })
	if err != nil {
		return err
	}
	return compareCounts(k, "match", "counts of all matches", got, want)
}

// countMatches counts how often each match of grep's regular expression occurs
// in the lines of a folder of text files.
func (r *Runner) countMatches(ctx context.Context, dir string) (map[string]int64, error) {
	re, err := regexp.Compile(r.spec.Regex)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	err = r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachLine(f, func(line string) error {
			for _, match := range re.FindAllString(line, -1) {
				if match == "" {
					return errors.New("the regular expression matches the empty text, which Java and Go count differently")
				}
				counts[match]++
			}
			return nil
		})
	})
	return counts, err
}

// eachLine calls the function do with each line of a text, without its end.
func eachLine(f io.Reader, do func(line string) error) error {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 256<<10), maxRecordBytes)
	for lines.Scan() {
		if err := do(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}
