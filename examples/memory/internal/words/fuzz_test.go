package words

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"好きな色は青です", "My favourite colour's blue", "ｶﾞﾊﾟー々〆", "a\" OR b* NOT (c) : {d} ^e - +f", "e\u0301 İ ß ﷺ", "\xff\x00'", "👩‍💻 \u1112\u1161"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Of(text)
		for _, token := range tokens {
			if why := unsafe(token); why != "" {
				t.Errorf("%q has the token %q, which %s", text, token, why)
			}
		}
		if again := Of(fold(text)); !slices.Equal(again, tokens) {
			t.Errorf("%q is %q and folded %q", text, tokens, again)
		}
		if utf8.ValidString(text) {
			if other := Of(norm.NFD.String(text)); !slices.Equal(other, tokens) {
				t.Errorf("%q is %q and in NFD %q", text, tokens, other)
			}
		}
		asked := Asked(text)
		if len(asked) > Most || len(tokens) > 0 && len(asked) == 0 {
			t.Errorf("%q asks for %d tokens of %d", text, len(asked), len(tokens))
		}
		for i, token := range asked {
			if !slices.Contains(tokens, token) || slices.Contains(asked[:i], token) {
				t.Errorf("%q asks for %q, which is not in it or asked for twice", text, token)
			}
		}
	})
}

// unsafe says why a token is none: it is empty, long, or may mean something in a query
// language, where all that is not a letter or digit of ASCII does.
func unsafe(token string) string {
	switch {
	case token == "" || utf8.RuneCountInString(token) > longest:
		return "is empty or too long"
	case !utf8.ValidString(token):
		return "is not UTF-8"
	case strings.ContainsFunc(token, func(r rune) bool {
		return r < utf8.RuneSelf && !('a' <= r && r <= 'z' || '0' <= r && r <= '9') || unicode.IsSpace(r) || unicode.IsControl(r)
	}):
		return "holds more than letters and digits"
	}
	return ""
}
