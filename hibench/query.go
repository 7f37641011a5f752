package hibench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"heddle/hibench/tables"
)

// writeTables writes the two tables that the SQL workloads read to HDFS, as
// SequenceFiles, with as many files for each table as the workload has maps. As in
// tables that Hive writes itself, keys are empty.
func (r *Runner) writeTables(ctx context.Context) error {
	blockBytes, replicas, err := r.fileSettings()
	if err != nil {
		return err
	}
	source := r.spec.source()
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(4)
	for _, t := range []struct {
		name string
		rows int64
		row  func([]byte, int64) []byte
	}{{rankingsTable, source.Pages, source.AppendRanking}, {visitsTable, source.Visits, source.AppendVisit}} {
		files := min(int64(r.spec.Maps), t.rows)
		for i := range files {
			from, to := t.rows*i/files, t.rows*(i+1)/files
			name := path.Join(t.name, fmt.Sprintf("part-%05d", i))
			writing.Go(func() error {
				f, err := r.env.FS.Create(ctx, path.Join(r.inputPath(), name), blockBytes, replicas)
				if err != nil {
					return fmt.Errorf("write table %s: %w", t.name, err)
				}
				w := newSeqWriter(f, name, "org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.io.Text")
				var value []byte
				for j := from; j < to && ctx.Err() == nil; j++ {
					value = asText(t.row(value[:0], j))
					w.write([]byte{0, 0, 0, 0}, value)
				}
				if err := errors.Join(w.flush(), f.Close(), context.Cause(ctx)); err != nil {
					return fmt.Errorf("write table %s: %w", name, err)
				}
				return nil
			})
		}
	}
	return writing.Wait()
}

// fileSettings returns the block size, in bytes, and the number of replicas of
// files that this package writes. As in Hadoop's own client, both come from the
// run's settings or the cluster's configuration.
func (r *Runner) fileSettings() (blockBytes int64, replicas int, err error) {
	const blockName, replicasName = "dfs.blocksize", "dfs.replication"
	const maxBlock = 1 << 40
	values := map[string]string{blockName: "128m", replicasName: "3"}
	site, err := siteProperties(filepath.Join(r.env.ConfDir, "hdfs-site.xml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	for _, p := range site {
		values[strings.TrimSpace(p.Name)] = strings.TrimSpace(p.Value)
	}
	for _, s := range r.spec.Settings {
		values[s.Name] = s.Value
	}
	text, unit := strings.ToLower(values[blockName]), int64(1)
	for i, suffix := range []string{"k", "m", "g"} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, 1<<(10*(i+1))
		}
	}
	if blockBytes, err = strconv.ParseInt(text, 10, 64); err != nil || blockBytes < 1 || blockBytes > maxBlock/unit {
		return 0, 0, fmt.Errorf("%s: %q: want a number of bytes, such as 134217728 or 128m", blockName, values[blockName])
	}
	if replicas, err = strconv.Atoi(values[replicasName]); err != nil || replicas < 1 {
		return 0, 0, fmt.Errorf("%s: %q: want a number, 1 or more", replicasName, values[replicasName])
	}
	return blockBytes * unit, replicas, nil
}

// checkQuery compares the result of a query with what package tables computes
// from its input.
func (r *Runner) checkQuery(ctx context.Context, k *check, output string) error {
	inputBytes, _, err := folderSize(r.env.FS, r.mapInputPath())
	if err != nil {
		return err
	}
	if _, err := r.env.FS.Stat(output); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no result: %w", ErrInvalidOutput, err)
	}
	if inputBytes > readLimitBytes {
		k.add(fmt.Sprintf("nothing (the input is larger than %d bytes)", readLimitBytes))
		return nil
	}
	query := tables.Query(r.spec.Workload)
	want, err := ofInput(r, "", func(string) (tables.Sum, error) { return r.sumInput(ctx, query) })
	if err != nil {
		return err
	}
	got := tables.NewOutput(query)
	err = r.eachFile(ctx, output, func(f io.Reader) error { return eachRow(f, got.Row) })
	if err == nil {
		err = got.Sum().Near(want)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidOutput, err)
	}
	*k = queries[r.spec.Workload].checked
	return nil
}

// sumInput computes from the input what a query must give.
func (r *Runner) sumInput(ctx context.Context, query tables.Query) (tables.Sum, error) {
	result := tables.NewResult(query)
	if query == tables.Join {
		err := r.eachFile(ctx, path.Join(r.inputPath(), rankingsTable), func(f io.Reader) error { return eachRow(f, result.Ranking) })
		if err != nil {
			return tables.Sum{}, err
		}
	}
	err := r.eachFile(ctx, r.mapInputPath(), func(f io.Reader) error { return eachRow(f, result.Visit) })
	return result.Sum(), err
}

// eachRow calls the function do with each row of a table's file: the values of a
// SequenceFile, whose keys mean nothing.
func eachRow(f io.Reader, do func(row []byte) error) error {
	return eachRecord(f, "", "Text", func(_, row []byte) error { return do(row) })
}
