package audit

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// credential is one kind of secret that is known by its looks. The expression
// is tried only on texts that contain an anchor, in lower case, because most
// texts contain none. Group 1 of it, and group 2, stay before and behind the
// mask.
type credential struct {
	name    string
	anchors []string
	expr    *regexp.Regexp
	real    func(string) bool // nil: whatever matches
}

func (c credential) mask(s string) string {
	if c.real != nil {
		return c.expr.ReplaceAllStringFunc(s, func(found string) string {
			if c.real(found) {
				return Masked
			}
			return found
		})
	}
	return c.expr.ReplaceAllString(s, "${1}"+Masked+"${2}")
}

// credentials is the table, in the order in which it is applied. The formats
// are those their issuers document, and the ones of the gitleaks and
// trufflehog rule sets; nothing can know a password by its looks, which is why
// names are looked at as well.
var credentials = []credential{
	{"PEM private key", []string{"private key"}, regexp.MustCompile(`()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)()`), nil},
	{"Authorization header", []string{"authorization"}, regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?)(?:digest [^\r\n]*|[^"'\r\n]+)()`), nil},
	{"Cookie header", []string{"cookie"}, regexp.MustCompile(`(?i)(\bcookie["']?\s*[:=]\s*["']?)[^"'\r\n]+()`), nil},
	{"bearer token", []string{"bearer"}, regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}()`), nil},
	{"password in a URL", []string{"://"}, regexp.MustCompile(`(://)[^\s/?#"'@]*:[^\s/?#"']*(@)`), nil},
	{"JSON web token (RFC 7519)", []string{"eyj"}, regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.?[A-Za-z0-9_-]*()`), nil},
	{"AWS access key id", []string{"akia", "asia", "abia", "acca", "aroa", "aida", "agpa", "anpa", "anva"}, regexp.MustCompile(`()\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{16}\b()`), nil},
	{"AWS secret access key", nil, regexp.MustCompile(`[A-Za-z0-9/+]{40,}`), isAWSSecret},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`()(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})()`), nil},
	{"GitLab token", []string{"glpat-", "gldt-", "glrt-", "glcbt-"}, regexp.MustCompile(`()gl(?:pat|dt|rt|cbt)-[A-Za-z0-9_-]{20,}()`), nil},
	{"Slack token", []string{"xox", "xapp-"}, regexp.MustCompile(`()(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9-]{8,}()`), nil},
	{"Slack webhook", []string{"hooks.slack.com"}, regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]+()`), nil},
	{"OpenAI, Anthropic or alike key", []string{"sk-"}, regexp.MustCompile(`()\bsk-[A-Za-z0-9_-]{16,}()`), nil},
	{"Stripe key", []string{"k_live_", "k_test_"}, regexp.MustCompile(`()\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}()`), nil},
	{"Google key or token", []string{"aiza", "ya29.", "gocspx-"}, regexp.MustCompile(`()(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,})()`), nil},
	{"package registry token", []string{"npm_", "pypi-", "hf_", "dckr_pat_"}, regexp.MustCompile(`()\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,})()`), nil},
	{"value behind a telling name", []string{"passw", "passphrase", "secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "credential"}, regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(?:passwd|password|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?\s*[:=]\s*)(?:"[^"]+"|'[^']+'|[^\s"'&,;{}()\[\]]+)()`), nil},
	{"value of a telling option", []string{"--"}, regexp.MustCompile(`(?i)(--?[a-z0-9-]*(?:passwd|password|passphrase|secret|token|api-?key|access-?key|credential)s?\s+)(?:"[^"]+"|'[^']+'|[^\s"'-][^\s"']*)()`), nil},
}

// isAWSSecret says of a run of base64 characters that it is as long as an AWS
// secret and as mixed: no hash in hex, no path, no identifier.
func isAWSSecret(s string) bool {
	if len(s) != 40 || strings.HasPrefix(s, "/") {
		return false
	}
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower) && strings.ContainsFunc(s, unicode.IsDigit)
}

// telling are the parts of a name, without case, blanks, hyphens, underscores
// and dots, that speak of a credential wherever they stand in it.
var telling = []string{"password", "passwd", "passphrase", "secret", "authorization", "credential", "apikey", "accesskey", "privatekey", "bearer", "cookie"}

// endings speak of a credential at the end of a name only: token_count and
// authors are none.
var endings = []string{"token", "tokens", "auth", "pwd", "passcode"}

// isSecretKey says that the value under key is a credential by the key's name.
// Numbers under "tokens" are counts.
func isSecretKey(key string, v any) bool {
	switch v.(type) {
	case nil, bool:
		return false
	case json.Number:
		return isSecretName(key) && !strings.HasSuffix(plain(key), "tokens")
	}
	return isSecretName(key)
}

func isSecretName(name any) bool {
	s, ok := name.(string)
	if !ok {
		return false
	}
	s = plain(s)
	for _, t := range telling {
		if strings.Contains(s, t) {
			return true
		}
	}
	for _, t := range endings {
		if strings.HasSuffix(s, t) {
			return s != "pwd" // the working directory, in an environment
		}
	}
	return false
}

// isSecretOption says that v is an option whose value comes next.
func isSecretOption(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(s, "= :") && isSecretName(s)
}

func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
