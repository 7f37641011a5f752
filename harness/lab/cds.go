package lab

import (
	"context"
	"os"
	"path/filepath"
)

// classArchive builds, or finds, the class-data archive. (Not yet.)
func classArchive(ctx context.Context, d distribution, java string, say func(Event)) string {
	return ""
}

// archiveFlags let a JVM start from the archive, or without it where it does
// not fit.
func (l *Lab) archiveFlags() []string {
	if l.Archive == "" {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + l.Archive, "-Xshare:auto"}
}

// containerJava is JAVA_HOME of containers.
func (l *Lab) containerJava() string {
	if l.Archive == "" {
		return l.Java
	}
	return l.path("java")
}

func (l *Lab) writeContainerJava() error {
	_, _ = os.Getenv, filepath.Join
	return nil
}
