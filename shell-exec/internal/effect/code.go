package effect

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// late is a regular expression that is compiled when it is first needed: most commands
// need none, and a server should not start slower for those that do.
func late(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// groups are what the groups of a pattern match in a text, the empty ones aside.
func groups(pattern *regexp.Regexp, text string, maxMatches int) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(text, maxMatches) {
		for _, group := range m[1:] {
			if group != "" {
				all = append(all, group)
			}
		}
	}
	return all
}

// What is looked for in code of all languages. Only what is written there letter by letter
// is found: an interpreter can do anything, and the sandbox must stop it.
var (
	spawning = late("os\\.system|os\\.popen|subprocess|pty\\.spawn|os\\.exec|os\\.spawn|os\\.posix_spawn|commands\\.getoutput|" +
		"child_process|exec(File)?Sync|spawn(Sync)?\\s*\\(|\\bexec\\s*\\(|\\bexec\\b|\\bsystem\\b|shell_exec|passthru|proc_open|" +
		"\\bpopen|qx[/({]|%x[{(]|Kernel\\.|Open3|IO\\.popen|do shell script|Deno\\.(run|Command)|`|run\\(\\s*[\"'\\[]|os\\.execute|" +
		"io\\.popen|Deno\\.Command|Bun\\.|System\\.cmd|:os\\.cmd|os:cmd|\\.execute\\(|\\.!|Runtime|ProcessBuilder|call-process|" +
		"start-process|shell-command|open\\b[^;\\n]*[\"'][^\"'\\n]*\\||open[^;\\n]*-\\||getattr\\(|pcntl_exec|write18|syscmd|" +
		"Process\\.Start|Command::new|/sh\\b|run-program|execShellCmd|\\bsh\\s+[\"']|__import__|spawnv?p?e?\\b|posix_spawn")
	deleting = late(`shutil\.rmtree|os\.(remove|unlink|rmdir|removedirs)|\.unlink\(|rmSync|unlinkSync|rmdirSync|fs\.(rm|unlink|` +
		`rmdir|promises\.rm)\b|\.rm\(|\bunlink\b|\brmtree\b|remove_tree|FileUtils\.(rm|rm_rf|rm_r|remove)|File\.delete|rimraf|` +
		`\brmdir\b|removeSync|emptyDirSync|del\(|Deno\.remove|delete-directory|delete-file|File\.rm|\brm_rf\b|deleteRecursively|` +
		`deleteDirectory|Files\.delete`)
	writing = late(`open\([^)]*["'][wax]\+?b?["']|open\s+\w+\s*,\s*['"]?>|writeFile|File\.write|appendFile|write_text|write_bytes|` +
		`file_put_contents|createWriteStream`)
	unhiding = late(`(?s)(exec|eval|Function|system|os\.system|subprocess\.\w+)\s*\(?.{0,80}(b64decode|b32decode|base64_decode|` +
		`atob\(|Buffer\.from\([^)]*base64|fromhex|unhexlify|codecs\.decode|pack\s*\(?\s*["'][Hmu]|decode64|decode_base64|` +
		`zlib\.decompress|marshal\.loads|rot13)`)
	characters = late(`chr\(\d+\)\s*[.+]\s*chr\(\d+\)|fromCharCode\(|map\(\s*chr|chr\(\w+\)\s*for|bytes\(\[|bytearray\(\[|` +
		`\.map\(&:chr\)|pack\(["'][cCU]\*|join\b[^;]*\bchr\b|\bchr\b[^;]*\bjoin\b|\[::-1\]|\.reverse\(\)`)
	joining = late(`(?s)socket.*(dup2|pty\.spawn|/bin/(ba)?sh|cmd\.exe)|net["']?\)?\.(connect|Socket|createConnection).*(spawn|` +
		`exec|pipe)|IO::Socket.*(system|exec|fdopen)|TCPSocket.*(exec|popen|spawn)|fsockopen.*(exec|proc_open)`)
	quotedText = late("\"((?:[^\"\\\\\\n]|\\\\.)*)\"|'((?:[^'\\\\\\n]|\\\\.)*)'|`([^`]*)`|\\b[qm]?[qx]?[qxw]\\{([^}]*)\\}|" +
		"%[qQxwWi]?\\{([^}]*)\\}|\\bqx?/([^/]*)/|\\bq[qxw]?\\(([^)]*)\\)|%[qQxwW]?\\(([^)]*)\\)|\\bq[qxw]?\\[([^\\]]*)\\]|" +
		"%[qQxwW]?\\[([^\\]]*)\\]|<<~?['\"]?(?:EOS|EOF|SH)['\"]?\\n([^~]*?)\\n\\s*(?:EOS|EOF|SH)\\b")
	lists         = late(`((?:["'][^"']*["']\s*,\s*(?:\{?\s*\w+\s*:\s*)?[\[(]?\s*)+["'][^"']*["'])`)
	concatenation = late(`["']\s*(?:\+|\.\.?|<>|\|\||\^)\s*["']|"[ \t]+"|'[ \t]+'`)
	killing       = late(`\bkill(pg)?\s*\(\s*-1\b|\bkill\b\s*\(?\s*["']?\w+["']?\s*,\s*-1\b`)
	forking       = late(`\bwhile\b[^\n]*\n?[^\n]*\bfork\b|\bfork\s+while\b|\bloop\b[^\n]*\bfork\b|\bfor\s*\(;;\)[^\n]*\bfork\b`)
	printing      = late(`\b(print|echo|puts|say|write|log|cat|printf|stdout|display|format)\b`)
	decoding64    = late(`(?i)b64decode|b32decode|base64_decode|atob\(|from\([^)]*base64|fromhex|unhexlify|codecs\.decode|\bunpack\b|` +
		`\bpack\b|decode64|decode_base64|decompress|rot13`)
	placing = late(`(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace|symlink|link)|copyFile(?:Sync)?|\brename(?:Sync)?|` +
		`symlinkSync|FileUtils\.(?:cp|mv|ln)\w*|File\.(?:rename|symlink)|\bcopy)\s*\(?\s*[^,()]+,\s*["'](/[^"']+)["']`)
	chdir   = late(`\bchdir\s*\(?\s*["']([^"']+)["']`)
	modules = late(`^(node:)?(fs|os|path|child_process|fs/promises|shutil|fileutils|utf-?8|w|r|a|HOME)$`)
	homes   = late(`expanduser|Path\.home\(\)|homedir\(\)|Dir\.home|process\.env\.HOME|os\.environ\[?\(?["']HOME|` +
		`ENV\[["']HOME["']\]\s*[,)]`)
	networking = late(`urllib|requests\.|http\.client|https?://|fetch\(|socket|axios|net/http|Net::HTTP|LWP`)
	bare       = late("(?m)\\b(?:exec|system|e?syscmd|cmd|run|write18)[\\s{(`]+([^\"'\\n;\\]})`]+)")
	blanks     = late(`%[sdr]|#?\{[^{} ]*\}|\$\{[^{} ]*\}|\$\w+$| $`)
)

// interpreter runs code from an option, a file or standard input. Options have been
// followed already.
func (r *reader) interpreter(s *scope, c *call) {
	operands, language := c.args.Operands, c.row.Language
	if (language == "perl" || language == "ruby") && c.args.Has("-i") {
		r.writeAll(s, operands, c.name+" -i")
	}
	hasFile := len(operands) > 0 && operands[0].Text != "-"
	switch module, _ := c.args.Find("-m"); { // most modules of python are programs under their own names too
	case language == "python" && module.Value.Text == "timeit":
		for _, w := range c.words {
			r.code(s, c, language, w)
		}
	case language == "python" && module.Valued:
		if findProgram(module.Value.Text) != nil {
			r.call(s.within(c.name+" -m"), append([]cmdline.Word{module.Value}, operands...), c.span)
		}
	case hasFile:
		if name, _ := programName(operands[0].Text); strings.Contains(name, ".") && findProgram(name) != nil {
			r.call(s.within(c.name), append([]cmdline.Word{c.path.With(name)}, operands[1:]...), c.span)
		}
	}
	given := func(o option) bool {
		return o.Valued && slices.Contains([]string{"code", "module"}, c.row.Options[o.Name])
	}
	switch {
	case slices.ContainsFunc(c.args.Options, given):
	case hasFile:
		r.scriptFile(s, c, operands[0])
	case len(c.words) > 0 && s.input.kind == nothing && !c.args.Has("-i"):
		s.prints("1") // --version
	default:
		r.codeFlow(s, c, s.input)
	}
}

// code looks at the code that an interpreter is given.
func (r *reader) code(s *scope, c *call, language string, w cmdline.Word) {
	r.flag(s, RunCode, language+" code", c.span)
	if cmdline.OnlyUnknown(w.Text) {
		r.flagIf(s, r.downloaded, RunDownloaded, language+" runs code straight from the network", c.span)
		r.flag(s, RunUnknownCode, language+" runs code that is not known before", c.span)
		return
	}
	text := cmdline.Literal(w.Text)
	inner := s.apart(language, w.Span, s.input)
	spawns, sends := spawning().MatchString(text), networking().MatchString(text)
	for _, f := range []struct {
		is   bool
		kind Kind
		why  string
	}{
		{unhiding().MatchString(text) || spawns && characters().MatchString(text), RunDecoded, "decodes a text and runs it"},
		{joining().MatchString(text), ConnectShell, "joins a shell to the network"},
		{sends && strings.Contains(text, ".ssh/id_"), SendSecret, "sends a private key"},
		{killing().MatchString(text), KillAll, language + " signals every process"},
		{forking().MatchString(text), ForkBomb, language + " starts itself again and again"},
	} {
		r.flagIf(inner, f.is, f.kind, f.why, c.span)
	}
	if m := chdir().FindStringSubmatch(text); m != nil {
		inner.dir = inner.join(m[1])
	}

	// The literals are followed to what is done with them.
	literals := literalsOf(text)
	if joined := concatenation().ReplaceAllString(text, ""); joined != text { // "r" + "m" is one text, and so are two side by side
		literals = append(literals, literalsOf(joined)...)
	}
	if language == "script" { // commands without quotes: exec rm -r x
		literals = append(literals, groups(bare(), text, 50)...)
		spawns = true
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "!"); ok {
		r.perhapsShell(inner, rest, language)
	}
	if spawns {
		r.spawned(inner, c, language, text, literals)
	}
	if deleting().MatchString(text) {
		r.deletedByCode(inner, c, language, text, literals)
	}
	if writing().MatchString(text) {
		r.writtenByCode(inner, language, literals, w.Span)
	}
	for _, p := range groups(placing(), text, 50) {
		r.write(inner, w.With(p), language+" writes")
	}
	for _, t := range literals {
		if t = r.fromHome(t); isPath(t) && r.paths.class("", t, true) == classSecret {
			r.flag(inner, ReadSecret, language+" reads credentials: "+t, c.span)
			r.flagIf(inner, sends, SendSecret, language+" sends credentials", c.span)
		}
	}
	if printing().MatchString(text) { // the literals may be in what comes out
		out := flow{kind: something, hint: strings.Join(literals, "\n")}
		if decoding64().MatchString(text) {
			out.kind = decoding
		}
		s.output.add(out)
	}
}

// fromHome is a path with the home directory in place of a ~ that no shell has expanded.
func (r *reader) fromHome(t string) string {
	if rest, ok := strings.CutPrefix(t, "~/"); ok {
		return r.around.Home + "/" + rest
	}
	return t
}

func literalsOf(text string) []string { return groups(quotedText(), text, 200) }

func isPath(t string) bool { return strings.HasPrefix(t, "/") && !strings.ContainsAny(t, " \n") }

var escapedQuotes = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\'`, `'`)

// spawned takes each literal, and each list of them, for a command if it looks like one, or for code.
func (r *reader) spawned(s *scope, c *call, language, text string, literals []string) {
	commands := slices.Clone(literals)
	for _, list := range groups(lists(), text, 50) {
		var words []string
		for _, word := range literalsOf(list) {
			words = append(words, cmdline.Quote(word))
		}
		commands = append(commands, strings.Join(words, " "))
	}
	for _, statement := range strings.FieldsFunc(text, func(ch rune) bool { return ch == '\n' || ch == ';' }) {
		commands = append(commands, commandOf(literalsOf(statement)))
	}
	s.vars = s.vars.layer()
	s.vars.own[notKnown] = unknownValue
	for _, t := range commands {
		for _, t := range filled(strings.Trim(escapedQuotes.Replace(t), "|+- "), commands) {
			if r.looksLikeCommand(t) {
				r.perhapsShell(s, t, language)
			}
		}
	}
	for _, t := range literals {
		if len(t) < len(text) && strings.ContainsAny(t, `"'(`) && spawning().MatchString(t) && s.depth < maxDepth {
			r.code(s, c, language, cmdline.At(escapedQuotes.Replace(t), s.outer))
		}
	}
}

// commandOf: where a literal is a dangerous program's name, those after it are its arguments.
func commandOf(literals []string) string {
	i := slices.IndexFunc(literals, isSuspect)
	if i < 0 {
		return ""
	}
	words := slices.Clone(literals[i:])
	for k, word := range words {
		if k > 0 && !strings.HasPrefix(word, "-") { // "-rf /" is often several
			words[k] = cmdline.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// filled is a literal with blanks in it, with each path of the code in their place, and
// with what is not known.
func filled(t string, literals []string) []string {
	if !blanks().MatchString(t) {
		return []string{t}
	}
	all := []string{blanks().ReplaceAllLiteralString(t, " $"+notKnown)}
	for _, other := range literals {
		if len(all) < maxTexts && strings.IndexAny(other, "/~") == 0 && !strings.ContainsAny(other, " \n") {
			all = append(all, blanks().ReplaceAllLiteralString(t, " "+other))
		}
	}
	return all
}

// looksLikeCommand: other literals of the code are data.
func (r *reader) looksLikeCommand(t string) bool {
	fields := strings.Fields(t)
	if len(fields) == 0 {
		return false
	}
	name, _ := programName(strings.Trim(fields[0], `'"`))
	switch known := findProgram(name) != nil; {
	case containsAny(t, "; rm ", "&& rm ", "| sh", "| bash"):
		return true
	case name == "curl" || name == "wget":
		return known && strings.Contains(t, "|")
	default:
		return known && (len(fields) > 1 || slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name))
	}
}

func (r *reader) deletedByCode(s *scope, c *call, language, text string, literals []string) {
	home, named := homes().MatchString(text), false
	for _, t := range literals {
		if strings.ContainsAny(t, " \n{}()") && !strings.HasPrefix(t, "/") {
			continue
		}
		named = named || !modules().MatchString(t)
		if rest, ok := strings.CutPrefix(t, "~"); ok && home {
			t = r.around.Home + rest
		}
		if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "..") || t == "." || t == ".git" {
			r.delete(s, cmdline.At(t, s.outer), true, language+" deletes", c.span)
		}
	}
	if home && !named {
		r.delete(s, cmdline.At(r.around.Home, s.outer), true, language+" deletes", c.span)
	}
}

func (r *reader) writtenByCode(s *scope, language string, literals []string, span cmdline.Span) {
	for _, t := range literals {
		if p := s.join(t); p != "" && len(t) < 64 && !strings.ContainsAny(t, " \n") && r.files[p].kind == nothing {
			r.files[p] = flow{kind: something, hint: strings.Join(literals, "\n")}
		}
		if t = strings.TrimLeft(t, "> "); isPath(t) {
			r.write(s, cmdline.At(t, span), language+" writes")
		}
	}
}
