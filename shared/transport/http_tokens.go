package transport

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	minToken     = 32   // characters: 128 bits in hexadecimal
	maxToken     = 512  // characters
	maxTokens    = 1000 // clients
	maxTokenFile = 1 << 20
)

// token is what a client proves itself with. Only its digest is kept.
type token struct {
	name   string
	digest [sha256.Size]byte
}

type tokens []token

// owner is the token that a client gave. Every token is compared, and all of
// a digest, so that the time taken tells nothing.
func (t tokens) owner(given string) (_ token, ok bool) {
	digest := sha256.Sum256([]byte(given))
	found := 0
	for i := range t {
		same := subtle.ConstantTimeCompare(t[i].digest[:], digest[:])
		found = subtle.ConstantTimeSelect(same, i+1, found)
	}
	if found == 0 {
		return token{}, false
	}
	return t[found-1], true
}

// readTokens reads a file of tokens. Its errors name lines, and never a token.
func readTokens(path string) (tokens, error) {
	content, err := readSecret(path, "--token-file")
	if err != nil {
		return nil, err
	}
	var all tokens
	for i, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, wrong := tokenOf(line, len(all)+1)
		for _, other := range all {
			switch {
			case wrong != "":
			case other.name == one.name:
				wrong = "has the name of another line"
			case other.digest == one.digest:
				wrong = "has the token of another line"
			}
		}
		if wrong != "" {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("line %d of the token file %s %s", i+1, path, wrong),
				"Write a token a line, or a name and a token; openssl rand -hex 32 makes one")
		}
		all = append(all, one)
	}
	if len(all) == 0 || len(all) > maxTokens {
		what := fmt.Sprintf("the token file %s has %d tokens, but must have 1 to %d", path, len(all), maxTokens)
		return nil, fault.New(fault.Misconfigured, what, "Write a token a line; openssl rand -hex 32 makes one")
	}
	return all, nil
}

var (
	tokenForm = lazy(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750, section 2.1
	nameForm  = lazy(`^[A-Za-z0-9._-]{1,64}$`)
)

// lazy is an expression that costs nothing before there are tokens.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// tokenOf reads a line; a token without a name is called by its place.
func tokenOf(line string, place int) (_ token, wrong string) {
	fields := strings.Fields(line)
	name, secret := fmt.Sprint("token-", place), fields[len(fields)-1]
	if len(fields) == 2 {
		name = fields[0]
	}
	switch {
	case len(fields) > 2:
		return token{}, "has more than a name and a token"
	case !nameForm().MatchString(name):
		return token{}, "has a name of more than letters, digits, dots and dashes, or of more than 64"
	case len(secret) < minToken || len(secret) > maxToken:
		return token{}, fmt.Sprintf("has a token of %d characters, but it must have %d to %d", len(secret), minToken, maxToken)
	case !tokenForm().MatchString(secret):
		return token{}, "has a token with a character that no bearer token has"
	}
	return token{name, sha256.Sum256([]byte(secret))}, ""
}

// readSecret reads a file that is for its owner and group alone, and that only its owner
// changes.
func readSecret(path, flag string) ([]byte, error) {
	unusable := func(why string, err error) error {
		return fault.New(fault.Misconfigured, "the file "+path+" ("+flag+") "+why,
			"Name a file that the server's user can read and others cannot").Because(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unusable("cannot be read: "+fault.From(err).Msg, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unusable("cannot be read: "+fault.From(err).Msg, err)
	case !info.Mode().IsRegular():
		return nil, unusable("is no regular file", nil)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o027 != 0:
		return nil, unusable(fmt.Sprintf("has mode %04o: others can read it, or change it", info.Mode().Perm()), nil)
	}
	var content bytes.Buffer
	if n, err := io.Copy(&content, io.LimitReader(f, maxTokenFile+1)); err != nil || n > maxTokenFile {
		return nil, unusable("cannot be read, or is larger than 1 MiB", err)
	}
	return content.Bytes(), nil
}
