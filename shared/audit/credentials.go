package audit

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// credential is one kind of secret that is known by its looks.
type credential struct {
	name    string
	anchors []string              // one of them, in lower case, is in every match; most texts hold none, which spares the expression
	run     int                   // instead of anchors: every match has so many base64 characters in a row
	expr    func() *regexp.Regexp // its group 1, if there is one, stays before the mask, its group 2 behind it
	real    func(string) bool     // judges a match where an expression cannot; nil: every match
}

// expression is compiled when it is first wanted: most servers never see a credential, and
// all of them would wait for it when they start.
func expression(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// mask replaces what matches in s.
func (c credential) mask(s string) string {
	if c.real == nil {
		return c.expr().ReplaceAllString(s, "${1}"+Masked+"${2}")
	}
	return c.expr().ReplaceAllStringFunc(s, func(found string) string {
		if c.real(found) {
			return Masked
		}
		return found
	})
}

func (c credential) mayBeIn(lower string) bool {
	for _, a := range c.anchors {
		if strings.Contains(lower, a) {
			return true
		}
	}
	return c.run > 0 && hasRun(lower, c.run)
}

// hasRun says that n base64 characters stand in a row somewhere in s.
func hasRun(s string, n int) bool {
	length := 0
	for i := 0; i < len(s) && length < n; i++ {
		if b := s[i]; 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '/' <= b && b <= '9' || b == '+' {
			length++
		} else {
			length = 0
		}
	}
	return length >= n
}

// credentials is the table, in the order in which it is applied. The formats
// are the ones their issuers document and the rule sets of gitleaks and
// trufflehog look for. Nothing knows a password by its looks, which is why names
// count as well.
var credentials = []credential{
	{
		name:    "PEM private key (RFC 7468)",
		anchors: []string{"private key"},
		expr:    expression(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`),
	}, {
		name:    "Authorization header (RFC 9110); digests have quotes inside",
		anchors: []string{"authorization"},
		expr:    expression(`(?i)(authorization["']?\s*[:=]\s*["']?)(?:digest [^\r\n]*|[^"'\r\n]+)`),
	}, {
		name:    "Cookie header (RFC 6265)",
		anchors: []string{"cookie"},
		expr:    expression(`(?i)(\b(?:set-)?cookie["']?\s*[:=]\s*["']?)[^"'\r\n]+`),
	}, {
		name:    "bearer token (RFC 6750)",
		anchors: []string{"bearer"},
		expr:    expression(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}`),
	}, {
		name:    "user and password in a URL (RFC 3986)",
		anchors: []string{"://"},
		expr:    expression(`(://)[^\s/?#"'@]*:[^\s/?#"']*(@)`),
	}, {
		name:    "JSON web token (RFC 7519)",
		anchors: []string{"eyj"},
		expr:    expression(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?`),
	}, {
		name:    "AWS access key id",
		anchors: []string{"akia", "asia", "abia", "acca", "aroa", "aida", "agpa", "anpa", "anva"},
		expr:    expression(`\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{16}\b`),
	}, {
		name: "AWS secret access key",
		run:  40,
		expr: expression(`[A-Za-z0-9/+]{40,}`),
		real: isAWSSecret,
	}, {
		name:    "GitHub token",
		anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		expr:    expression(`gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}`),
	}, {
		name:    "GitLab token",
		anchors: []string{"glpat-", "gldt-", "glrt-", "glcbt-"},
		expr:    expression(`gl(?:pat|dt|rt|cbt)-[A-Za-z0-9_-]{20,}`),
	}, {
		name:    "Slack token",
		anchors: []string{"xox", "xapp-"},
		expr:    expression(`(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9-]{8,}`),
	}, {
		name:    "Slack webhook",
		anchors: []string{"hooks.slack.com"},
		expr:    expression(`(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]+`),
	}, {
		name:    "key of OpenAI, Anthropic and others",
		anchors: []string{"sk-"},
		expr:    expression(`\bsk-[A-Za-z0-9_-]{16,}`),
		real:    hasDigit,
	}, {
		name:    "Stripe key",
		anchors: []string{"k_live_", "k_test_"},
		expr:    expression(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`),
	}, {
		name:    "Google key or token",
		anchors: []string{"aiza", "ya29.", "gocspx-"},
		expr:    expression(`AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}`),
	}, {
		name:    "token of a package registry or model hub",
		anchors: []string{"npm_", "pypi-", "hf_", "dckr_pat_"},
		expr:    expression(`\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,})`),
	}, {
		name:    "value assigned to a telling name",
		anchors: []string{"passw", "passphrase", "secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "private-key", "credential"},
		expr:    expression(`(?i)([a-z0-9_-]*(?:passwd|password|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?\s*[:=]\s*)(?:"[^"]+"|'[^']+'|[^\s"'&,;{}()\[\]]+)`),
	}, {
		name:    "value of a telling option",
		anchors: []string{"--"},
		expr:    expression(`(?i)(--[a-z0-9-]*(?:passwd|password|passphrase|secret|token|api-?key|access-?key|credential)s?\s+)(?:"[^"]+"|'[^']+'|[^\s"'-][^\s"']*)`),
	},
}

// isAWSSecret says of a run of base64 characters that it is as long as an AWS
// secret and as mixed: no hash in hex, no absolute path, no identifier.
func isAWSSecret(s string) bool {
	return len(s) == 40 && s[0] != '/' && hasDigit(s) &&
		strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// telling are the parts of a plain name that speak of a credential wherever
// they stand in it.
var telling = []string{"password", "passwd", "passphrase", "secret", "authorization", "credential", "apikey", "accesskey", "privatekey", "bearer", "cookie"}

// endings speak of a credential at the end of a plain name only: token_count
// and author are none.
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

// isSecretName says that name is a text that speaks of a credential.
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

// plain is name without case, blanks, hyphens, underscores and dots.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
