package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// Text is the command as it is shown to a person: what could hide in it is escaped.
func (d Decision) Text() string {
	if len(d.request.Argv) > 0 {
		return visible(fmt.Sprintf("%q", d.request.Argv))
	}
	return visible(d.request.Text)
}

// visible escapes control characters, and those that reorder or hide text.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u{%x}", r)
	}
	return b.String()
}

// Explain says in lines of text what was decided and why: for each reason the rule, what
// the command does, where it stands, and what to do instead.
func (d Decision) Explain() string {
	var b strings.Builder
	fmt.Fprintln(&b, strings.ToUpper(d.Verdict().String()))
	for _, f := range d.findings {
		if f.Verdict == Allow && f.Rule == string(f.Effect) {
			continue
		}
		fmt.Fprintf(&b, "  %-5s %s: %s%s\n", f.Verdict, f.Rule, f.Why, through(f.Via))
		b.WriteString(d.pointed(f))
		if f.Do != "" && f.Verdict != Allow {
			fmt.Fprintf(&b, "        try: %s\n", f.Do)
		}
	}
	if len(d.commands) > 0 {
		b.WriteString("commands:\n")
	}
	for _, c := range d.commands {
		fmt.Fprintf(&b, "  %s%s\n", visible(fmt.Sprintf("%q", shown(c.Argv))), through(c.Via))
	}
	return b.String()
}

func through(via []string) string {
	if len(via) == 0 {
		return ""
	}
	return " (via " + strings.Join(via, " > ") + ")"
}

// pointed is the line that a finding stands in, with the place marked beneath.
func (d Decision) pointed(f Finding) string {
	text := d.request.Text
	if len(d.request.Argv) > 0 {
		text = strings.Join(d.request.Argv, " ")
	}
	from, to := f.Span.Start, f.Span.End
	if from < 0 || to > len(text) || from >= to {
		return ""
	}
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		end = from + n
	}
	before, marked := visible(text[start:from]), visible(text[from:min(to, end)])
	return fmt.Sprintf("        %s\n        %s%s\n", visible(text[start:end]), strings.Repeat(" ", len([]rune(before))), strings.Repeat("^", max(1, len([]rune(marked)))))
}
