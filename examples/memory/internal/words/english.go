package words

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// wordOf is a word as a token: an English one without what inflects it, in American
// spelling. Where nothing is left its text is empty.
func wordOf(run []rune) token {
	word := strings.Trim(string(run), string(apostrophe))
	word = strings.TrimSuffix(word, "'s")
	word = strings.ReplaceAll(word, string(apostrophe), "")
	if letters := []rune(word); len(letters) > longest {
		word = string(letters[:longest])
	}
	if !isEnglish(word) {
		return token{text: word}
	}
	if isFunction(word) {
		return token{word, true}
	}
	stem := snowballstem.NewEnv(british(word))
	english.Stem(stem)
	return token{text: american(stem.Current())}
}

// isFunction knows the words of English that stand in any sentence.
func isFunction(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "i", "me", "my", "mine", "we", "us", "our", "ours", "you", "your", "yours",
		"he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their", "theirs",
		"am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "have", "has", "had", "having",
		"can", "could", "will", "would", "shall", "should", "might", "must",
		"and", "or", "but", "nor", "not", "no", "if", "then", "than", "so", "as", "of", "at", "by", "for", "with", "about", "to", "from",
		"in", "into", "on", "onto", "off", "out", "up", "down", "over", "under", "what", "which", "who", "whom", "whose", "when", "where",
		"why", "how", "there", "here", "just", "too", "very", "such", "some", "any", "each", "both", "please", "s", "t":
		return true
	}
	return false
}

// isEnglish says that the stemmer knows the letters. A word of another language that it
// takes for English gets the same token in a memory and in a query.
func isEnglish(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return word != ""
}

// british writes the endings with a z in American spelling with an s: the stemmer takes
// "ize" for an ending of its own, and would make organize an organ.
func british(word string) string {
	for _, end := range []string{"e", "es", "ed", "er", "ers", "ing", "able", "ation", "ations", "ational"} {
		for _, vowel := range []string{"i", "y"} {
			if rest, found := strings.CutSuffix(word, vowel+"z"+end); found {
				return rest + vowel + "s" + end
			}
		}
	}
	return word
}

// american is a stem in American spelling, but for that z. It works on stems so that all forms of a
// word go the same way; that it turns some into no words at all does no harm.
func american(stem string) string {
	if other := irregular(stem); other != "" {
		return other
	}
	for _, rule := range []struct {
		end, with string
		least     int // letters of the stem
	}{
		{"enc", "ens", 5}, // defence
		{"ogu", "og", 5},  // catalogue
		{"tr", "ter", 4},  // centre
		{"br", "ber", 4},  // fibre
	} {
		if rest, found := strings.CutSuffix(stem, rule.end); found && len(stem) >= rule.least {
			stem = rest + rule.with
		}
	}
	if at := strings.Index(stem, "our"); at > 0 && strings.ContainsAny(stem[:at], "aeiou") { // colour, not hour
		stem = stem[:at] + "or" + stem[at+len("our"):]
	}
	if len(stem) > 5 {
		stem = strings.ReplaceAll(stem, "ae", "e") // anaesthetic
	}
	return stem
}

func irregular(stem string) string {
	switch stem {
	case "grey":
		return "gray"
	case "programm":
		return "program"
	case "chequ":
		return "check"
	case "tyre":
		return "tire"
	case "plough":
		return "plow"
	case "mould":
		return "mold"
	case "sceptic":
		return "skeptic"
	case "aluminium":
		return "aluminum"
	case "jewelleri":
		return "jewelri"
	case "pyjama":
		return "pajama"
	case "moustach":
		return "mustach"
	case "aeroplan":
		return "airplan"
	}
	return ""
}
