package audit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/multiollama/mcp-server/shared/jsonx"
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

// mayBeIn says that an anchor is in a text, or as many base64 characters in a row as there must be.
func (c credential) mayBeIn(lower string) bool {
	if slices.ContainsFunc(c.anchors, func(a string) bool { return strings.Contains(lower, a) }) {
		return true
	}
	length := 0
	for i := 0; i < len(lower) && length < c.run; i++ {
		if b := lower[i]; 'a' <= b && b <= 'z' || '/' <= b && b <= '9' || b == '+' {
			length++
		} else {
			length = 0
		}
	}
	return c.run > 0 && length >= c.run
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
		real: func(s string) bool { // as long and as mixed as one: no hash in hex, no absolute path, no identifier
			return len(s) == 40 && s[0] != '/' && hasDigit(s) &&
				strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower)
		},
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
		name:    "password in SQL",
		anchors: []string{"password", "identified by"},
		expr:    expression(`(?i)(\b(?:password|identified by)(?:\s+for\s+\S+\s*=)?\s*\(?)'[^']+'`),
	}, {
		name:    "token as the user of a URL",
		anchors: []string{"http"},
		expr:    expression(`(?i)(https?://)[A-Za-z0-9_.~%-]{20,}(?::x-oauth-basic)?(@)`),
	},
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// telling are the parts of a plain name that speak of a credential wherever
// they stand in it.
var telling = []string{"password", "passwd", "passphrase", "secret", "authorization", "credential", "apikey", "accesskey",
	"privatekey", "bearer", "cookie"}

// endings speak of a credential at the end of a plain name only: token_count
// and author are none.
var endings = []string{"token", "tokens", "auth", "pwd", "passcode"}

// isSecretKey says that the value of a member is a credential by the member's name.
// Numbers under "tokens" are counts.
func isSecretKey(v jsonx.Value) bool {
	switch v.Kind {
	case jsonx.Null, jsonx.Bool:
		return false
	case jsonx.Number:
		return isSecretName(v.Name) && !strings.HasSuffix(folded(v.Name), "tokens")
	}
	return isSecretName(v.Name)
}

// isSecretName says that name is a text that speaks of a credential.
func isSecretName(name string) bool {
	s := folded(name)
	switch {
	case slices.ContainsFunc(telling, func(t string) bool { return strings.Contains(s, t) }):
		return true
	case slices.ContainsFunc(endings, func(t string) bool { return strings.HasSuffix(s, t) }):
		return s != "pwd" // the working directory, in an environment
	}
	return isSecretWord(name, false)
}

// strong are the ends of the words of a name that speak of a credential; keyed are those that do before "key".
var (
	strong = []string{"password", "passwd", "passphrase", "passcode", "secret", "secrets", "token", "tokens", "apikey", "accesskey",
		"secretkey", "privatekey", "authkey",
		"credential", "credentials", "requirepass", "masterauth", "storepass", "keypass", "userpass", "dbpass", "sshpass"}
	short = []string{"pass", "pwd", "pw", "psk", "passw"} // words that speak of one in a longer name, or as an option
	keyed = []string{"api", "access", "private", "secret", "signing", "encryption", "master", "account", "storage", "shared",
		"license", "app", "application",
		"subscription", "webhook", "session", "jwt", "hmac", "auth", "service"}
	// about are last words of names that say something of a credential, and not it.
	about = []string{"count", "counts", "length", "len", "size", "limit", "limits", "max", "min", "type", "name", "names", "file",
		"files", "path", "paths", "dir", "url", "uri",
		"endpoint", "id", "ids", "ttl", "expiry", "expires", "expiration", "lifetime", "age", "ref", "refs", "helper", "policy",
		"rotation", "version", "stdin", "fd", "prompt",
		"manager", "arn", "budget", "usage", "index", "timeout", "header", "field", "env", "var", "required", "enabled", "disabled",
		"scope", "scopes", "algorithm",
		"format", "provider", "store", "mode", "command", "hint", "reset", "change"}
)

// roots are parts of every name that can be one; nearly no name has any.
var roots = []string{"pass", "pw", "psk", "secret", "token", "key", "cred", "auth"}

// isSecretWord says that a name, of an option, a variable or a setting, is that of a credential by its words:
// SECRET_KEY, db-pass, requirePass. lax takes a short word alone, too: --pass.
func isSecretWord(name string, lax bool) bool {
	lower := strings.ToLower(name)
	if !slices.ContainsFunc(roots, func(root string) bool { return strings.Contains(lower, root) }) {
		return false
	}
	words := segments(name)
	if len(words) == 0 || slices.Contains(about, words[len(words)-1]) {
		return false
	}
	for i, w := range words {
		switch {
		case slices.ContainsFunc(strong, func(s string) bool { return strings.HasSuffix(w, s) }):
			return true
		case slices.Contains(short, w) && (lax || len(words) > 1) && name != "PWD" && name != "OLD_PWD":
			return true
		case w == "key" && i > 0 && slices.Contains(keyed, words[i-1]):
			return true
		case w == "auth" && i > 0 && i == len(words)-1 && strings.ToUpper(name) == name:
			return true
		}
	}
	return false
}

// segments are the words of a name in lower case, as its case and its punctuation part them.
func segments(name string) (all []string) {
	var w strings.Builder
	cut := func() {
		if w.Len() > 0 {
			all = append(all, w.String())
			w.Reset()
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut()
		case unicode.IsUpper(r) && lower:
			cut()
			fallthrough
		default:
			w.WriteRune(unicode.ToLower(r))
		}
		lower = unicode.IsLower(r)
	}
	cut()
	return all
}

var (
	assignment = expression(`([A-Za-z_][A-Za-z0-9_.-]*)((?:\\?["'])?\s*[:=]\s*)`)
	assigned   = expression(`^(?:\\?"[^"]+"|'[^']+'|[^\s"'&,;{}()\[\]]+)`)
	number     = expression(`^[0-9.]+[kKmM]?$`)
)

// maskAssigned masks the value that is assigned to a telling name: NAME=value, "name": "value", a header.
func maskAssigned(s string) string {
	var b strings.Builder
	at := 0
	for at < len(s) {
		m := assignment().FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		name, sign, behind := s[at+m[2]:at+m[3]], s[at+m[4]:at+m[5]], at+m[1]
		b.WriteString(s[at:behind])
		if v := assigned().FindString(s[behind:]); v != "" && isAssigned(s[:at+m[2]], name, sign, v) {
			b.WriteString(Masked)
			behind += len(v)
		}
		at = behind
	}
	b.WriteString(s[at:])
	return b.String()
}

// isAssigned says whether a value behind a name is a credential; before is what stands before the name.
func isAssigned(before, name, sign, v string) bool {
	bare := strings.Trim(v, `"'\`)
	option := strings.HasSuffix(before, " /") // /pass:x, as Windows has them
	switch {
	case bare == "true" || bare == "false" || bare == "null" || bare == "":
		return false
	case !isSecretWord(name, option || strings.HasPrefix(strings.TrimSpace(sign), "=")):
		return false
	}
	words := segments(name)
	if last := words[len(words)-1]; number().MatchString(bare) &&
		(last == "tokens" || len(words) == 1 && (last == "pass" || last == "token")) {
		return false // a count
	}
	if option || strings.ContainsAny(sign, `="'`) {
		return true
	}
	// name: value is a setting or a header where nothing but punctuation is before it, and prose elsewhere.
	before = strings.TrimRight(before, " \t-")
	return before == "" || strings.ContainsRune("\n\"'{,", rune(before[len(before)-1]))
}

// folded is name without case, blanks, hyphens, underscores and dots.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
