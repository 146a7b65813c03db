package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The words that begin the blocks of PEM.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// authorityName is the name of the authority and of its files.
const authorityName = "authority"

// authority signs certificates. Its own certificate and key are the files authority.crt and authority.key of the folder.
// It is not altered after openAuthority, so many goroutines may sign at once.
type authority struct {
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    string // of cert
}

// openAuthority returns the authority of a folder. It makes one where the folder has none.
func openAuthority(folder string) (*authority, error) {
	a := &authority{folder: folder}
	cert, key, err := a.load(authorityName)
	if errors.Is(err, fs.ErrNotExist) {
		return a, a.found()
	}
	a.cert, a.key, a.pem = cert, key, pemOf(certificateBlock, certOf(cert))
	return a, err
}

// certOf returns the bytes of a certificate; nil for none.
func certOf(c *x509.Certificate) []byte {
	if c == nil {
		return nil
	}
	return c.Raw
}

// found makes the authority. It is valid for ten years. The key is written first: a folder with a certificate has the key of it.
func (a *authority) found() error {
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: "local authority of mgmt"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	return a.issue(authorityName, t, 10*365*24*time.Hour)
}

// sign makes a key and a certificate for it, and puts them into the folder.
func (a *authority) sign(name string, hosts []string, valid time.Duration) error {
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return a.issue(name, t, valid)
}

// issue signs a template with the authority, and the authority's own one with the new key.
func (a *authority) issue(name string, t *x509.Certificate, valid time.Duration) error {
	// Each certificate has a key of its own. A stolen key is of no use after the next renewal.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return err
	}
	t.NotBefore = time.Now().Truncate(time.Second)
	t.NotAfter = t.NotBefore.Add(valid)
	by, with := a.cert, a.key
	if t.IsCA {
		by, with = t, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, t, by, &key.PublicKey, with)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := pemOf(certificateBlock, raw)
	err = errors.Join(write(a.at(name, ".key"), 0o600, pemOf(keyBlock, secret)), write(a.at(name, ".crt"), 0o644, text))
	if err == nil && t.IsCA {
		a.key, a.pem = key, text
		a.cert, err = x509.ParseCertificate(raw)
	}
	return err
}

// load reads a certificate with its key. The error is fs.ErrNotExist where there is none, or the two do not belong together.
func (a *authority) load(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	raw, err := read(a.at(name, ".crt"))
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, nil, err
	}
	if raw, err = read(a.at(name, ".key")); err != nil {
		return nil, nil, err
	}
	secret, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, nil, err
	}
	key, ok := secret.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, nil, fmt.Errorf("the key of %s is that of another certificate: %w", name, fs.ErrNotExist)
	}
	return cert, key, nil
}

// at returns the path of a file of a certificate.
func (a *authority) at(name, suffix string) string { return filepath.Join(a.folder, name+suffix) }

// pemOf returns bytes as a block of PEM.
func pemOf(block string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: block, Bytes: raw}))
}

// read returns the bytes in a file of PEM.
func read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b, _ := pem.Decode(text)
	if b == nil {
		return nil, fmt.Errorf("%s is no PEM", path)
	}
	return b.Bytes, nil
}

// write puts a file into its place, whole or not at all.
func write(path string, mode fs.FileMode, text string) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.WriteFile(part, []byte(text), mode), os.Rename(part, path))
}
