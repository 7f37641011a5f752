package paper

import (
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/doc"
	"heddle/traces/outfile"
)

// WritePictures draws figures as SVG files in a folder, which is made if it does
// not exist. Figures whose columns have different units are left out.
func WritePictures(dir string, figures []*Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for pictures: %w", err)
	}
	for _, f := range figures {
		c := f.Chart()
		if c == nil {
			continue
		}
		if err := outfile.Replace(filepath.Join(dir, f.ID+".svg"), func(to *os.File) error { return doc.WriteSVG(to, c) }); err != nil {
			return fmt.Errorf("draw %s: %w", f.ID, err)
		}
	}
	return nil
}
