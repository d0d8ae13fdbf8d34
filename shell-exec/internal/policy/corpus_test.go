package policy_test

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

func TestTheCorporaGetTheVerdictsThatTheyExpect(t *testing.T) {
	p := preset(t, "development")
	for _, l := range append(corpus(t, "policy.tsv", 0, 1, 2), corpus(t, "hostile.tsv", 0, 1, 2)...) {
		if d := p.Judge(script(l.text)); d.Verdict().String() != l.expected {
			t.Errorf("%s: %q is %s, want %s\n%s", l.class, l.text, d.Verdict(), l.expected, d.Explain())
		}
	}
}

// Everyday work runs; the few lines among it that ask are written down as such.
func TestEverydayDevelopmentRunsUnasked(t *testing.T) {
	p := preset(t, "development")
	lines := corpus(t, "development.tsv", 0, 1, 2)
	if len(lines) < 300 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, l := range lines {
		if d := p.Judge(script(l.text)); d.Verdict().String() != l.expected {
			t.Errorf("%s: %q is %s, want %s\n%s", l.class, l.text, d.Verdict(), l.expected, d.Explain())
		}
	}
}

// The bypasses of the list run "touch PWNED" or "rm -rf victim". With a payload that
// must be refused in its place, none may be allowed, and nearly all are refused outright.
func TestNoBypassGetsADangerousPayloadAllowed(t *testing.T) {
	p := preset(t, "development")
	armed, refused := 0, 0
	for _, l := range corpus(t, "bypass.tsv", -1, 0, 1) {
		text, ok := arm(l.text)
		if !ok {
			continue
		}
		armed++
		d := p.Judge(script(text))
		switch d.Verdict() {
		case policy.Deny:
			refused++
		case policy.Allow:
			t.Errorf("%s: %q is allowed\n%s", l.class, text, d.Explain())
		default:
			t.Logf("%s: %q is only asked", l.class, text)
		}
	}
	if armed < 100 {
		t.Errorf("only %d lines could be given the payload", armed)
	}
	if refused*100 < armed*90 {
		t.Errorf("%d of %d refused", refused, armed)
	}
	t.Logf("%d armed, %d refused", armed, refused)
}

const payload = "rm -rf /"

// arm puts the payload in the place of the harmless one, in its encodings as well.
func arm(text string) (string, bool) {
	reverse := func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) }
	harmless := "touch PWNED"
	armed := strings.NewReplacer(
		base64.StdEncoding.EncodeToString([]byte(harmless)), base64.StdEncoding.EncodeToString([]byte(payload)),
		base64.StdEncoding.EncodeToString([]byte(harmless+"\n")), base64.StdEncoding.EncodeToString([]byte(payload+"\n")),
		hex.EncodeToString([]byte(harmless)), hex.EncodeToString([]byte(payload)),
		strings.ToUpper(hex.EncodeToString([]byte(harmless))), hex.EncodeToString([]byte(payload)),
		reverse(harmless), reverse(payload),
		`\x74ouch PWNED`, `\x72m -rf /`,
		`touch $PWD/PWNED`, payload, `touch "$PWD/PWNED"`, payload,
		`-x /usr/bin/touch -- "$PWD/PWNED"`, `-x /bin/rm -- -rf /`,
		`{touch,PWNED}`, `{rm,-rf,/}`, `touch$IFS$9PWNED`, `rm$IFS$9-rf$IFS$9/`,
		`/usr/bin/tou*h PWNED`, `/bin/r* -rf /`, `/???/???/touc? PWNED`, `/???/r? -rf /`, `/usr/bin/tou{c,}h PWNED`, `/usr/bin/r{m,} -rf /`,
		`//usr//bin//touch PWNED`, `//bin//rm -rf /`, `~/../../usr/bin/touch PWNED`, `~/../../usr/bin/rm -rf /`,
		`/usr/bin/touch PWNED`, `/bin/rm -rf /`,
		harmless, payload,
		` -rf victim`, ` -rf /`, `victim -rf`, `/ -rf`, `--recursive --force victim`, `--recursive --force /`, `--recurs --for victim`, `--recurs --for /`,
		`find victim -delete`, `find / -delete`,
	).Replace(text)
	return armed, armed != text && !strings.Contains(armed, "PWNED")
}
