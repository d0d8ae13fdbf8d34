package words

import (
	"slices"
	"strings"
	"testing"
)

func TestATextIsItsWordsAndItsPairsOfLetters(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"好きな色", "好き 好 きな な色 色"},
		{"青", "青"},
		{"りんご", "りん んご"},
		{"あ", "あ"},
		{"My favourite colours", "my favorit color"},
		{"iPhoneを3台", "iphon を 3 台"},
		{"コンピュータ", "こん んぴ ぴゅ ゅー ーた"},
		{"ｶﾞｷﾞ", "がぎ"},
		{"ＡＢＣ１２３", "abc123"},
		{"the user's cat, don't!", "the user cat dont"},
		{"2026-02-21 at 3.14", "2026 02 21 at 3 14"},
		{"naïve Café ÅNGSTRÖM", "naiv cafe angstrom"},
		{"한국어 조선", "한국 국어 조선"},
		{"привет", "привет"},
		{"🍣🍣 and 👩‍💻", "🍣 🍣 and 👩 💻"},
		{"a\" OR b* NEAR(c) -d ^e {f}:g", "a or b near c d e f g"},
		{"\x00\x01\u202e\ufeff", ""},
		{strings.Repeat("x", 100), strings.Repeat("x", longest)},
	} {
		if got := strings.Join(Of(c.text), " "); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
}

// Each pair is two ways to say a word, which have to give the same tokens.
func TestWhatMeansTheSameIsTheSame(t *testing.T) {
	for _, c := range []struct{ why, words string }{
		{"British and American", "colour/color favourite/favorite behaviour/behavior neighbourhood/neighborhood organise/organize organisation/organization " +
			"analyse/analyze centre/center theatre/theater metres/meters fibre/fiber defence/defense licence/license catalogue/catalog travelled/traveled " +
			"cancelling/canceling grey/gray programme/program cheque/check tyres/tires anaesthetic/anesthetic jewellery/jewelry realised/realized size/sized"},
		{"one and many", "colour/colours city/cities box/boxes meeting/meetings wish/wishes"},
		{"forms of a verb", "prefer/preferred change/changing like/liked promise/promising rise/rising"},
		{"case", "Tokyo/TOKYO straße/STRASSE Σίσυφος/ΣΊΣΥΦΟΣ"},
		{"width", "ｃｏｌｏｒ/color ﾊﾞﾅﾅ/バナナ １２/12"},
		{"kana", "リンゴ/りんご サクラ/さくら ヴァイオリン/ゔぁいおりん"},
		{"normal forms", "が/か\u3099 café/cafe\u0301 한/\u1112\u1161\u11ab"},
		{"accents", "résumé/resume Zürich/Zurich"},
		{"apostrophes", "don’t/don't user’s/user's"},
	} {
		for pair := range strings.FieldsSeq(c.words) {
			one, other, _ := strings.Cut(pair, "/")
			if a, b := Of(one), Of(other); !slices.Equal(a, b) {
				t.Errorf("%s: %s is %q and %s is %q", c.why, one, a, other, b)
			}
		}
	}
}

func TestWhatDiffersStaysApart(t *testing.T) {
	for _, pair := range []string{"hour/hor", "four/for", "tour/tor", "が/か", "ば/ぱ", "cat/dog", "青/赤", "й/и", "shoe/she"} {
		one, other, _ := strings.Cut(pair, "/")
		if slices.Equal(Of(one), Of(other)) {
			t.Errorf("%s and %s are both %q", one, other, Of(one))
		}
	}
}

func TestAQueryIsWhatCountsInIt(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"what is the user's favourite colour?", "user favorit color"},
		{"the", "the"},
		{"です", "です"},
		{"青です", "青で 青"},
		{"青 青 青い", "青 青い"},
		{"", ""},
		{"???", ""},
		{strings.Join(Of(numbers(100)), " "), numbers(Most)},
	} {
		if got := strings.Join(Asked(c.query), " "); got != c.want {
			t.Errorf("%q asks for %q, want %q", c.query, got, c.want)
		}
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("1", i+1) + " ")
	}
	return strings.TrimSpace(b.String())
}
