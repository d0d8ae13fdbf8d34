package httpd

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// certify reads the certificate that the server shows, and its key.
func (p *Plan) certify(certFile, keyFile string) error {
	if certFile == "" || keyFile == "" {
		return misconfigured("a certificate needs its key, and a key its certificate", "Name both --tls-cert and --tls-key")
	}
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return misconfigured("the file "+certFile+" (--tls-cert) cannot be read: "+fault.From(err).Msg, "Name a file of certificates in PEM").Because(err)
	}
	key, err := readSecret(keyFile, "--tls-key")
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return misconfigured("the certificate "+certFile+" and the key "+keyFile+" do not make a pair", "Name PEM files of a certificate and of its key").Because(err)
	}
	if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err == nil {
		p.Expires = leaf.NotAfter
	}
	p.Secure = true
	p.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return nil
}
