package audit

import (
	"path"
	"slices"
	"strings"
)

// word is a word of a command line. Quotes around all of it stand apart from its text.
type word struct{ text, open, close string }

// simple is a command without operators, and whether the next one reads what it writes.
type simple struct {
	words []word
	ends  []string // the text after each word
	piped bool
}

// maskLine masks the credentials in a command line, in whatever grammar: those that only the
// program makes one ("mysql -psecret"), and those after a name that says so.
func maskLine(s string, depth int) string {
	if depth == 0 || !strings.ContainsAny(s, " \t\n") {
		return s
	}
	lead, commands := split(s)
	var b strings.Builder
	b.WriteString(lead)
	for i, c := range commands {
		var reader []word
		if c.piped && i+1 < len(commands) {
			reader = commands[i+1].words
		}
		for j, text := range maskWords(c.words, reader, depth) {
			b.WriteString(text)
			b.WriteString(c.ends[j])
		}
	}
	return b.String()
}

// split takes a line apart: what is before the first word, and the commands. Nothing is lost.
func split(s string) (lead string, all []simple) {
	const blank, operators = " \t\r", "\n;|&()`"
	at := 0
	skip := func(chars string) string {
		from := at
		for at < len(s) && strings.IndexByte(chars, s[at]) >= 0 {
			at++
		}
		return s[from:at]
	}
	lead = skip(blank + operators)
	c := simple{}
	for at < len(s) {
		raw := cutWord(s[at:])
		at += len(raw)
		end := skip(blank)
		if at < len(s) && strings.IndexByte(operators, s[at]) >= 0 {
			between := skip(blank + operators)
			c.piped = strings.HasPrefix(between, "|") && !strings.HasPrefix(between, "||")
			end += between
		}
		w := word{text: raw}
		if n := len(raw); n >= 2 && (raw[0] == '\'' || raw[0] == '"') && raw[n-1] == raw[0] && strings.Count(raw, raw[:1]) == 2 {
			w = word{raw[1 : n-1], raw[:1], raw[:1]}
		}
		c.words, c.ends = append(c.words, w), append(c.ends, end)
		if strings.ContainsAny(end, operators) || at == len(s) {
			all = append(all, c)
			c = simple{}
		}
	}
	return lead, all
}

// cutWord is the word that s begins with; a redirection is one of its own.
func cutWord(s string) string {
	if n := len(s) - len(strings.TrimLeft(s, "<>")); n > 0 {
		return s[:n]
	}
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				i++
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			i++
		case strings.IndexByte(" \t\r\n;|&()`<>", c) >= 0:
			return s[:i]
		}
	}
	return s
}

// maskWords masks the words of one command; reader is the command that reads what it writes.
func maskWords(words, reader []word, depth int) []string {
	out := make([]string, len(words))
	hide := func(i int) { out[i] = Masked }
	keep := func(i int, s string) { out[i] = words[i].open + s + words[i].close }
	for i, w := range words {
		keep(i, maskLine(w.text, depth-1))
	}
	prints := printsSecret(words, reader)
	var rules []option // of the programs that were named so far
	for i, w := range words {
		before, after := "", "" // the words next to it
		if i > 0 {
			before = words[i-1].text
		}
		if i+1 < len(words) {
			after = words[i+1].text
		}
		switch {
		case prints && i > 0 && !strings.HasPrefix(w.text, "-") && !strings.Contains(w.text, `%`):
			hide(i)
		case w.text == "<<<" && i+1 < len(words) && readsSecret(words[:i]):
			hide(i + 1)
		case out[i] == Masked:
		case value(after) && takesSecret(words[:i], w.text):
			hide(i + 1)
		case before == "--from-literal" || strings.HasPrefix(w.text, "--from-literal="): // kubectl create secret
			setting := strings.TrimPrefix(w.text, "--from-literal=")
			if name, v, _ := strings.Cut(setting, "="); v != "" {
				keep(i, strings.TrimSuffix(w.text, setting)+name+"="+Masked)
			}
		default:
			// The first rule that knows the word masks it.
			_ = slices.ContainsFunc(rules, func(o option) bool { return o.mask(words, i, keep, hide) })
		}
		rules = append(rules, named(words[:i+1])...)
	}
	return out
}

// printsSecret says whether a command prints a credential to the one that reads it.
func printsSecret(words, reader []word) bool {
	return len(words) > 0 && slices.Contains([]string{"echo", "printf", "print"}, program(words[0].text)) && readsSecret(reader)
}

// program is the name of a program in lower case.
func program(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	return strings.TrimSuffix(name, ".exe")
}

// value says whether a word can be the value of the option before it.
func value(word string) bool {
	return word != "" && (word[0] != '-' || len(word) == 1) && strings.Trim(word, "<>") != ""
}

// takesSecret says whether the word that follows is a credential, by the name that this one is: an
// option, or a setting that is set.
func takesSecret(before []word, name string) bool {
	if strings.ContainsAny(name, "=: ") && !strings.Contains(name, "/:_") {
		return false
	}
	if strings.HasPrefix(name, "-") {
		return len(name) > 3 && isSecretWord(strings.TrimLeft(name, "-"), true)
	}
	return isSecretWord(name, true) && slices.ContainsFunc(before,
		func(w word) bool { return slices.Contains([]string{"set", "config", "setx", "setenv"}, w.text) })
}

// keepers are programs with a command secret, or secrets, that reads one.
var keepers = []string{"docker", "podman", "gh", "kubectl", "oc", "gcloud", "wrangler", "fly", "flyctl", "nomad", "pulumi"}

// readsSecret says whether a command reads a credential from its standard input.
func readsSecret(words []word) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(words, func(w word) bool { return program(w.text) == name })
	}
	for i, w := range words {
		switch program(w.text) {
		case "--password-stdin", "--with-token", "--passphrase-fd", "--token-stdin", "chpasswd", "cryptsetup", "smbpasswd", "vncpasswd",
			"secret-tool", "mkpasswd":
			return true
		case "passwd", "htpasswd", "su":
			if i == 0 || has("--stdin") || program(words[0].text) == "sudo" {
				return true
			}
		case "stdin", "-stdin":
			if has("openssl") {
				return true
			}
		case "secret", "secrets":
			if i > 0 && slices.Contains(keepers, program(words[0].text)) {
				return true
			}
		case "-s":
			if w.text == "-S" && program(words[0].text) == "sudo" {
				return true
			}
		}
	}
	return false
}

// option is a word, or the beginning of one, by which a program takes a credential.
type option struct {
	flag               string
	attached, separate bool
	part               string // what the credential begins behind, in the value; empty: the value is it
	special            string // instead of all that: one of the rules that begin with $, or =
}

// mask masks what the option says of word i, and whether it did.
func (o option) mask(words []word, i int, keep func(int, string), hide func(int)) bool {
	t := words[i].text
	long := strings.HasPrefix(o.flag, "--")
	switch {
	case o.special == "=" || o.special == "$user/password":
		return o.byForm(t, func(s string) { keep(i, s) })
	case o.special != "":
		return o.byPlace(words, i, hide)
	case o.separate && (t == o.flag || bundled(t, o.flag)) && i+1 < len(words) && value(words[i+1].text):
		return behind(words[i+1].text, o.part, func(s string) { keep(i+1, s) })
	case long && strings.HasPrefix(t, o.flag+"="):
		return behind(t[len(o.flag)+1:], o.part, func(s string) { keep(i, o.flag+"="+s) })
	case o.attached && strings.HasPrefix(t, o.flag) && len(t) > len(o.flag) && t[len(o.flag):] != "-":
		return behind(t[len(o.flag):], o.part, func(s string) { keep(i, o.flag+s) })
	}
	return false
}

// byForm masks what name=value or user/password@base says, except in an option.
func (o option) byForm(t string, with func(string)) bool {
	if o.special == "=" {
		name, v, _ := strings.Cut(t, "=")
		if v != "" && !strings.HasPrefix(t, "-") {
			with(name + "=" + Masked)
		}
		return v != ""
	}
	user, rest, found := strings.Cut(t, "/")
	if found && user != "" && rest != "" && !strings.HasPrefix(t, "-") {
		_, base, at := strings.Cut(rest, "@")
		if at {
			base = "@" + base
		}
		with(user + "/" + Masked + base)
	}
	return found
}

// byPlace masks a word that is a credential by its position.
func (o option) byPlace(words []word, i int, hide func(int)) bool {
	t, least := words[i].text, 2
	switch o.special {
	case "$share":
		if strings.HasPrefix(t, `\\`) || len(t) < 2 || t[1] == ':' {
			return false
		}
		least = 1
	case "$batch":
		batch := func(w word) bool { return w.text == "-b" || bundled(w.text+"b", "-b") && strings.Contains(w.text, "b") }
		if !slices.ContainsFunc(words, batch) {
			return false
		}
	case "$1":
		least = 1
	}
	rest := positional(words, o.flag)
	if len(rest) < least || o.special != "$share" && rest[len(rest)-1] != i || !slices.Contains(rest, i) {
		return false
	}
	hide(i)
	return true
}

// behind masks what follows the first of a separator in a value, or all of it where there is none to look for.
func behind(v, separator string, with func(string)) bool {
	before, after, found := strings.Cut(v, separator)
	switch {
	case separator == "":
		with(Masked)
	case !found || after == "":
		return false
	case separator == "=": // a cookie, and no file of them
		with(Masked)
	default:
		with(before + separator + Masked)
	}
	return true
}

// bundled says whether a word is options of one letter in a row, the last of which is flag: -su.
func bundled(word, flag string) bool {
	if len(flag) != 2 || len(word) < 3 || len(word) > 6 || word[0] != '-' || word[1] == '-' || !strings.HasSuffix(word, flag[1:]) {
		return false
	}
	return strings.IndexFunc(word[1:], func(r rune) bool { return r < 'A' || r > 'z' || 'Z' < r && r < 'a' }) < 0
}

// positional is the indexes of the words after one that are not options.
func positional(words []word, behind string) (all []int) {
	from := slices.IndexFunc(words, func(w word) bool { return program(w.text) == behind })
	for i := from + 1; i < len(words); i++ {
		if t := words[i].text; value(t) && !(strings.HasPrefix(t, "/") && strings.Count(t, "/") == 1) {
			all = append(all, i)
		}
	}
	return all
}

// named is the options of the programs that the last of these words completes the name of.
func named(words []word) (all []option) {
	last := program(words[len(words)-1].text)
	if strings.HasPrefix(last, "snmp") {
		last = "snmp"
	}
	for _, row := range programs()[last] {
		if row.first == "" || slices.ContainsFunc(words[:len(words)-1], func(w word) bool { return program(w.text) == row.first }) {
			all = append(all, row.options...)
		}
	}
	return all
}
