package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// interpreter runs code from an option, a file or standard input. Options have been
// followed already.
func (r *reader) interpreter(s *scope, c *call) {
	if (c.row.Language == "perl" || c.row.Language == "ruby") && c.args.Has("-i") {
		for _, w := range c.args.Operands {
			r.write(s, w, c.name+" -i")
		}
	}
	r.pythonModule(s, c)
	for _, o := range c.args.Options {
		if role := c.row.Options[o.Name]; (role == "code" || role == "module") && o.Valued {
			return
		}
	}
	switch {
	case len(c.args.Operands) > 0 && c.args.Operands[0].Text != "-":
		r.scriptFile(s, c, c.args.Operands[0])
	case len(c.words) > 0 && s.input.kind == nothing && !c.args.Has("-i"):
		s.output.add(flow{kind: literal, text: "1"}) // --version
	default:
		r.codeFlow(s, c, s.input)
	}
}

// pythonModule is python -m: most modules are programs under their own names too.
func (r *reader) pythonModule(s *scope, c *call) {
	o, ok := c.args.Find("-m")
	if c.row.Language != "python" {
		if len(c.args.Operands) == 0 {
			return
		}
		ok = false
	}
	switch {
	case ok && o.Value.Text == "timeit":
		for _, w := range c.words {
			r.code(s, c, c.row.Language, w)
		}
	case ok && o.Valued:
		if row, _ := r.table.Find([]cmdline.Word{o.Value}); row != nil {
			r.call(s.within(c.name+" -m"), append([]cmdline.Word{o.Value}, c.args.Operands...), c.span)
		}
	case len(c.args.Operands) > 0 && c.args.Operands[0].Text != "-":
		name, _ := programName(c.args.Operands[0].Text)
		if row, _ := r.table.Find([]cmdline.Word{c.path.With(name)}); row != nil && strings.Contains(name, ".") {
			r.call(s.within(c.name), append([]cmdline.Word{c.path.With(name)}, c.args.Operands[1:]...), c.span)
		}
	}
}

func (r *reader) codeFlow(s *scope, c *call, f flow) {
	switch f.kind {
	case literal:
		if f.decoded {
			r.flag(s, RunDecoded, "decodes a text and runs it", c.span)
		}
		r.code(s, c, c.row.Language, cmdline.At(f.text, c.span))
	case download:
		r.flag(s, RunDownloaded, c.name+" runs code straight from the network", c.span)
	case decoding:
		r.flag(s, RunDecoded, "decodes a text and runs it", c.span)
	case something, names:
		r.flag(s, RunOutput, c.name+" runs what another command prints", c.span)
		if f.hint != "" {
			r.code(s, c, c.row.Language, cmdline.At(f.hint, c.span))
		}
	case content:
		r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
	case nothing:
		r.flag(s, RunTerminal, c.name+" without a script", c.span)
	}
}

// What is looked for in code of all languages. Only what stands there letter by letter
// is found: an interpreter can do anything, and the sandbox must hold it.
var (
	spawning   = late("os\\.system|os\\.popen|subprocess|pty\\.spawn|os\\.exec|os\\.spawn|os\\.posix_spawn|commands\\.getoutput|child_process|exec(File)?Sync|spawn(Sync)?\\s*\\(|\\bexec\\s*\\(|\\bexec\\b|\\bsystem\\b|shell_exec|passthru|proc_open|\\bpopen|qx[/({]|%x[{(]|Kernel\\.|Open3|IO\\.popen|do shell script|Deno\\.(run|Command)|`|run\\(\\s*[\"'\\[]|os\\.execute|io\\.popen|Deno\\.Command|Bun\\.|System\\.cmd|:os\\.cmd|os:cmd|\\.execute\\(|\\.!|Runtime|ProcessBuilder|call-process|start-process|shell-command|open\\b[^;\\n]*[\"'][^\"'\\n]*\\||open[^;\\n]*-\\||getattr\\(|pcntl_exec|write18|syscmd|Process\\.Start|Command::new|/sh\\b|run-program|execShellCmd|\\bsh\\s+[\"']|__import__|spawnv?p?e?\\b|posix_spawn")
	deleting   = late(`shutil\.rmtree|os\.(remove|unlink|rmdir|removedirs)|\.unlink\(|rmSync|unlinkSync|rmdirSync|fs\.(rm|unlink|rmdir|promises\.rm)\b|\.rm\(|\bunlink\b|\brmtree\b|remove_tree|FileUtils\.(rm|rm_rf|rm_r|remove)|File\.delete|rimraf|\brmdir\b|removeSync|emptyDirSync|del\(|Deno\.remove|delete-directory|delete-file|File\.rm|\brm_rf\b|deleteRecursively|deleteDirectory|Files\.delete`)
	writing    = late(`open\([^)]*["'][wax]\+?b?["']|open\s+\w+\s*,\s*['"]?>|writeFile|File\.write|appendFile|write_text|write_bytes|file_put_contents|createWriteStream`)
	unhiding   = late(`(?s)(exec|eval|Function|system|os\.system|subprocess\.\w+)\s*\(?.{0,80}(b64decode|b32decode|base64_decode|atob\(|Buffer\.from\([^)]*base64|fromhex|unhexlify|codecs\.decode|pack\s*\(?\s*["'][Hmu]|decode64|decode_base64|zlib\.decompress|marshal\.loads|rot13)`)
	characters = late(`chr\(\d+\)\s*[.+]\s*chr\(\d+\)|fromCharCode\(|map\(\s*chr|chr\(\w+\)\s*for|bytes\(\[|bytearray\(\[|\.map\(&:chr\)|pack\(["'][cCU]\*|join\b[^;]*\bchr\b|\bchr\b[^;]*\bjoin\b|\[::-1\]|\.reverse\(\)`)
	joining    = late(`(?s)socket.*(dup2|pty\.spawn|/bin/(ba)?sh|cmd\.exe)|net["']?\)?\.(connect|Socket|createConnection).*(spawn|exec|pipe)|IO::Socket.*(system|exec|fdopen)|TCPSocket.*(exec|popen|spawn)|fsockopen.*(exec|proc_open)`)
	quotedText = late("\"((?:[^\"\\\\\\n]|\\\\.)*)\"|'((?:[^'\\\\\\n]|\\\\.)*)'|`([^`]*)`|\\b[qm]?[qx]?[qxw]\\{([^}]*)\\}|%[qQxwWi]?\\{([^}]*)\\}|\\bqx?/([^/]*)/|\\bq[qxw]?\\(([^)]*)\\)|%[qQxwW]?\\(([^)]*)\\)|\\bq[qxw]?\\[([^\\]]*)\\]|%[qQxwW]?\\[([^\\]]*)\\]|<<~?['\"]?(?:EOS|EOF|SH)['\"]?\\n([^~]*?)\\n\\s*(?:EOS|EOF|SH)\\b")
	lists      = late(`((?:["'][^"']*["']\s*,\s*(?:\{?\s*\w+\s*:\s*)?[\[(]?\s*)+["'][^"']*["'])`)
	// "r" + "m" is one text, and so are two literals side by side.
	concatenation = late(`["']\s*(?:\+|\.\.?|<>|\|\||\^)\s*["']|"[ \t]+"|'[ \t]+'`)
	killing       = late(`\bkill(pg)?\s*\(\s*-1\b|\bkill\b\s*\(?\s*["']?\w+["']?\s*,\s*-1\b`)
	forking       = late(`\bwhile\b[^\n]*\n?[^\n]*\bfork\b|\bfork\s+while\b|\bloop\b[^\n]*\bfork\b|\bfor\s*\(;;\)[^\n]*\bfork\b`)
	printing      = late(`\b(print|echo|puts|say|write|log|cat|printf|stdout|display|format)\b`)
	decoding64    = late(`(?i)b64decode|b32decode|base64_decode|atob\(|from\([^)]*base64|fromhex|unhexlify|codecs\.decode|\bunpack\b|\bpack\b|decode64|decode_base64|decompress|rot13`)
	placing       = late(`(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace|symlink|link)|copyFile(?:Sync)?|\brename(?:Sync)?|symlinkSync|FileUtils\.(?:cp|mv|ln)\w*|File\.(?:rename|symlink)|\bcopy)\s*\(?\s*[^,()]+,\s*["'](/[^"']+)["']`)
	chdir         = late(`\bchdir\s*\(?\s*["']([^"']+)["']`)
	modules       = late(`^(node:)?(fs|os|path|child_process|fs/promises|shutil|fileutils|utf-?8|w|r|a|HOME)$`)
	homes         = late(`expanduser|Path\.home\(\)|homedir\(\)|Dir\.home|process\.env\.HOME|os\.environ\[?\(?["']HOME|ENV\[["']HOME["']\]\s*[,)]`)
	networking    = late(`urllib|requests\.|http\.client|https?://|fetch\(|socket|axios|net/http|Net::HTTP|LWP`)
)

// code looks at the code that an interpreter is given.
func (r *reader) code(s *scope, c *call, language string, w cmdline.Word) {
	r.flag(s, RunCode, language+" code", c.span)
	if cmdline.OnlyUnknown(w.Text) {
		if r.downloaded {
			r.flag(s, RunDownloaded, language+" runs code straight from the network", c.span)
		}
		r.flag(s, RunUnknownCode, language+" runs code that is not known before", c.span)
		return
	}
	text := cmdline.Plain(w.Text)
	inner := s.within(language)
	inner.exact, inner.outer = false, w.Span
	spawns := spawning().MatchString(text)
	if unhiding().MatchString(text) || characters().MatchString(text) && spawns {
		r.flag(inner, RunDecoded, "decodes a text and runs it", c.span)
	}
	if joining().MatchString(text) {
		r.flag(inner, ConnectShell, "joins a shell to the network", c.span)
	}
	if networking().MatchString(text) && strings.Contains(text, ".ssh/id_") {
		r.flag(inner, SendSecret, "sends a private key", c.span)
	}
	if killing().MatchString(text) {
		r.flag(inner, KillAll, language+" signals every process", c.span)
	}
	if forking().MatchString(text) {
		r.flag(inner, ForkBomb, language+" starts itself again and again", c.span)
	}
	if m := chdir().FindStringSubmatch(text); m != nil {
		inner.dir = inner.join(m[1])
	}
	s.output.add(r.codeDoes(inner, c, language, text, w))
}

// codeDoes follows the literals of code to what is done with them, and says what comes out.
func (r *reader) codeDoes(inner *scope, c *call, language, text string, w cmdline.Word) flow {
	literals := literalsOf(text)
	if joined := concatenation().ReplaceAllString(text, ""); joined != text {
		literals = append(literals, literalsOf(joined)...)
	}
	if language == "script" {
		literals = append(literals, bareCommands(text)...)
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "!"); ok {
		r.perhapsShell(inner, rest, language)
	}
	if language == "script" || spawning().MatchString(text) {
		r.spawned(inner, language, text, literals)
		r.nested(inner, c, language, text, literals)
	}
	if deleting().MatchString(text) {
		r.deletedByCode(inner, c, language, text, literals)
	}
	if writing().MatchString(text) {
		r.writtenByCode(inner, language, literals, w.Span)
	}
	for _, m := range placing().FindAllStringSubmatch(text, 50) {
		r.write(inner, w.With(m[1]), language+" writes")
	}
	r.readByCode(inner, language, literals, networking().MatchString(text), c.span)
	if printing().MatchString(text) {
		return printedByCode(text, literals)
	}
	return flow{}
}

var bare = late("(?m)\\b(?:exec|system|e?syscmd|cmd|run|write18)[\\s{(`]+([^\"'\\n;\\]})`]+)")

// bareCommands are those that stand in code without quotes: exec rm -r x.
func bareCommands(text string) []string {
	var all []string
	for _, m := range bare().FindAllStringSubmatch(text, 50) {
		all = append(all, m[1])
	}
	return all
}

// nested: a literal may be code itself.
func (r *reader) nested(s *scope, c *call, language, text string, literals []string) {
	for _, t := range literals {
		if len(t) < len(text) && strings.ContainsAny(t, `"'(`) && spawning().MatchString(t) && s.depth < maxDepth {
			r.code(s, c, language, cmdline.At(escapedQuotes.Replace(t), s.outer))
		}
	}
}

// readByCode finds credentials among the literals.
func (r *reader) readByCode(s *scope, language string, literals []string, sends bool, span cmdline.Span) {
	for _, t := range literals {
		if rest, ok := strings.CutPrefix(t, "~/"); ok {
			t = r.world.Home + "/" + rest
		}
		if !strings.HasPrefix(t, "/") || strings.ContainsAny(t, " \n") || r.places.Of("", t, true) != pathclass.Secret {
			continue
		}
		r.flag(s, ReadSecret, language+" reads credentials: "+t, span)
		if sends {
			r.flag(s, SendSecret, language+" sends credentials", span)
		}
	}
}

// printedByCode is what comes out: its literals may be in it.
func printedByCode(text string, literals []string) flow {
	out := flow{kind: something, hint: strings.Join(literals, "\n")}
	if decoding64().MatchString(text) {
		out.kind = decoding
	}
	return out
}

func literalsOf(text string) []string {
	var all []string
	for _, m := range quotedText().FindAllStringSubmatch(text, 200) {
		for _, group := range m[1:] {
			if group != "" {
				all = append(all, group)
			}
		}
	}
	return all
}

var escapedQuotes = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\'`, `'`)

// spawned takes each literal, and each list of them, for a command if it looks like one.
func (r *reader) spawned(s *scope, language, text string, literals []string) {
	for _, m := range lists().FindAllStringSubmatch(text, 50) {
		var words []string
		for _, word := range literalsOf(m[1]) {
			words = append(words, cmdline.Quote(word))
		}
		literals = append(literals, strings.Join(words, " "))
	}
	for _, statement := range strings.FieldsFunc(text, func(ch rune) bool { return ch == '\n' || ch == ';' }) {
		literals = append(literals, commandOf(literalsOf(statement)))
	}
	s.vars = s.vars.layer()
	s.vars.own[notKnown] = unknownValue
	for _, t := range literals {
		t = strings.Trim(escapedQuotes.Replace(t), "|+- ")
		for _, t := range filled(t, literals) {
			if r.looksLikeCommand(t) {
				r.perhapsShell(s, t, language)
			}
		}
	}
}

// commandOf: where a literal is a dangerous program's name, those after it are its arguments.
func commandOf(literals []string) string {
	for i, t := range literals {
		if name, _ := programName(t); slices.Contains(often, name) {
			words := []string{t}
			for _, word := range literals[i+1:] {
				if strings.HasPrefix(word, "-") {
					words = append(words, word) // "-rf /" is often several
					continue
				}
				words = append(words, cmdline.Quote(word))
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

var blanks = late(`%[sdr]|#?\{[^{} ]*\}|\$\{[^{} ]*\}|\$\w+$| $`)

// filled is a literal with blanks in it, with each path of the code in their place, and
// with what is not known.
func filled(t string, literals []string) []string {
	if !blanks().MatchString(t) {
		return []string{t}
	}
	all := []string{blanks().ReplaceAllLiteralString(t, " $"+notKnown)}
	for _, other := range literals {
		if len(all) < maxTexts && (strings.HasPrefix(other, "/") || strings.HasPrefix(other, "~")) && !strings.ContainsAny(other, " \n") {
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
	if containsAny(t, "; rm ", "&& rm ", "| sh", "| bash") {
		return true
	}
	row, _ := r.table.Find([]cmdline.Word{{Text: name}})
	if row == nil {
		return false
	}
	if name == "curl" || name == "wget" {
		return strings.Contains(t, "|")
	}
	powers := slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name)
	return powers || len(fields) > 1
}

// perhapsShell reads a text that may be a command: if it cannot be read it is a text.
func (r *reader) perhapsShell(s *scope, t, how string) {
	if _, err := cmdline.Parse(t, cmdline.Bash); err == nil {
		r.shell(s, cmdline.At(t, s.outer), how)
	}
}

func (r *reader) deletedByCode(s *scope, c *call, language, text string, literals []string) {
	home := homes().MatchString(text)
	any := false
	for _, t := range literals {
		if strings.ContainsAny(t, " \n{}()") && !strings.HasPrefix(t, "/") {
			continue
		}
		any = any || !modules().MatchString(t)
		if rest, ok := strings.CutPrefix(t, "~"); ok && home {
			t = r.world.Home + rest
		}
		if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "..") || t == "." || t == ".git" {
			r.delete(s, cmdline.At(t, s.outer), true, language+" deletes", c.span)
		}
	}
	if home && !any {
		r.delete(s, cmdline.At(r.world.Home, s.outer), true, language+" deletes", c.span)
	}
}

func (r *reader) writtenByCode(s *scope, language string, literals []string, span cmdline.Span) {
	for _, t := range literals {
		if p := s.join(t); p != "" && len(t) < 64 && !strings.ContainsAny(t, " \n") && r.files[p].kind == nothing {
			r.files[p] = flow{kind: something, hint: strings.Join(literals, "\n")}
		}
		t = strings.TrimLeft(t, "> ")
		if strings.HasPrefix(t, "/") && !strings.ContainsAny(t, " \n") {
			r.write(s, cmdline.At(t, span), language+" writes")
		}
	}
}

// What shells with other grammars are searched for: destruction that is plain.
var (
	foreignDestruction = late(`(?i)(remove-item|\brm\b|\bri\b|\bdel\b|\berase\b|\brd\b|\brmdir\b).*(-recurse|-r\b|/s).*([a-z]:\\(\s|$|\*|"|')|\$home|\$env:userprofile|\$env:systemroot|~|\\windows|/\s*$)|format-volume|clear-disk|initialize-disk|stop-computer|restart-computer|\bshutdown(\.exe)?\s+/[srp]|\bformat(\.com)?\s+[a-z]:|diskpart|vssadmin\s+delete|bcdedit|cipher\s+/w|rm -[a-z]*[rf][a-z]* (/|~)(\s|$|\*|;|'|")|\b(shutdown|reboot|poweroff|mkfs)\b`)
	foreignEncoding    = late(`(?i)-e(nc|ncodedcommand|c)?\s+[A-Za-z0-9+/=]{16,}|frombase64string|(\biex\b|invoke-expression)`)
)
