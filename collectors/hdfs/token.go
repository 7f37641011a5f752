package hdfs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/jobsplit"
)

// DelegationToken asks the NameNode for a token with which the tasks of a job prove that
// they act for the user. The renewer, a principal of the ResourceManager, may renew and
// cancel it. The token is a secret, in the form in which Hadoop's class Token encodes
// itself for a URL. service is the NameNode's address, by which tasks find the token.
func (c *Client) DelegationToken(ctx context.Context, renewer string) (service, token string, err error) {
	resp := &hdfspb.GetDelegationTokenResponse{}
	err = c.call(ctx, "getDelegationToken", &hdfspb.GetDelegationTokenRequest{Renewer: new(renewer)}, resp)
	if err == nil && resp.Token == nil {
		err = errors.New("the NameNode gives none: it does not ask for Kerberos")
	}
	if err == nil {
		service, err = c.service(ctx)
	}
	if err != nil {
		return "", "", fmt.Errorf("get a delegation token of hdfs for %s: %w", renewer, err)
	}
	return service, encodeToken(resp.Token, service), nil
}

// service returns the address of the active NameNode as Hadoop's clients look for it in
// tokens: its IP address and port.
func (c *Client) service(ctx context.Context) (string, error) {
	cn, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(cn.Remote())
	return host + ":" + port, err
}

func encodeToken(t *hdfspb.Token, service string) string {
	var b []byte
	for _, part := range []string{string(t.Identifier), string(t.Password), t.Kind, service} {
		b = jobsplit.AppendText(b, part)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
