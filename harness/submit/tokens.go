package submit

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

// tokens returns the delegation tokens of a job, by the service that each is for. A job
// needs one for HDFS. The ResourceManager renews it while the job runs, and cancels it at
// the job's end. None is needed of the ResourceManager, with which each attempt of an
// ApplicationMaster talks by a token of its own, nor of the history server, which no task
// asks for anything.
func (s *Submitter) tokens(ctx context.Context) (map[string]string, error) {
	if s.token == nil {
		return nil, nil
	}
	renewer := text(s.site, "yarn.resourcemanager.principal", "")
	if renewer == "" {
		return nil, errors.New("yarn.resourcemanager.principal is not set in the client configuration; it says who renews the job's " +
			"token of HDFS")
	}
	if at, err := url.Parse(s.rm.Address()); err == nil && at.Hostname() != "" {
		renewer = strings.Replace(renewer, "_HOST", at.Hostname(), 1)
	}
	service, token, err := s.token(ctx, renewer)
	if err != nil {
		return nil, err
	}
	return map[string]string{service: token}, nil
}
