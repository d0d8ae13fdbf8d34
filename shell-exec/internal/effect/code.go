package effect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// interpreter runs code from an option, a file or standard input. Options have been
// followed already.
func (r *reader) interpreter(s *scope, c *call) {
	if (c.row.Language == "perl" || c.row.Language == "ruby") && c.args.Has("-i") {
		for _, w := range c.args.Operands {
			r.write(s, w, c.name+" -i")
		}
	}
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
	case content:
		r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
	case nothing:
		r.flag(s, RunTerminal, c.name+" without a script", c.span)
	}
}

// What is looked for in code of all languages. Only what stands there letter by letter
// is found: an interpreter can do anything, and the sandbox must hold it.
var (
	spawning   = regexp.MustCompile("os\\.system|os\\.popen|subprocess|pty\\.spawn|os\\.exec|os\\.spawn|os\\.posix_spawn|commands\\.getoutput|child_process|exec(File)?Sync|spawn(Sync)?\\s*\\(|\\bexec\\s*\\(|\\bexec\\b|\\bsystem\\b|shell_exec|passthru|proc_open|\\bpopen|qx[/({]|%x[{(]|Kernel\\.|Open3|IO\\.popen|do shell script|Deno\\.(run|Command)|`|run\\(\\s*[\"'\\[]|os\\.execute|io\\.popen")
	deleting   = regexp.MustCompile(`shutil\.rmtree|os\.(remove|unlink|rmdir|removedirs)|\.unlink\(|rmSync|unlinkSync|rmdirSync|fs\.(rm|unlink|rmdir|promises\.rm)\b|\.rm\(|\bunlink\b|\brmtree\b|remove_tree|FileUtils\.(rm|rm_rf|rm_r|remove)|File\.delete|rimraf|\brmdir\b|removeSync|emptyDirSync|del\(|Deno\.remove`)
	writing    = regexp.MustCompile(`open\([^)]*["'][wax]\+?b?["']|open\s+\w+\s*,\s*['"]?>|writeFile|File\.write|appendFile|write_text|write_bytes|file_put_contents|createWriteStream`)
	unhiding   = regexp.MustCompile(`(?s)(exec|eval|Function|system|os\.system|subprocess\.\w+)\s*\(?.{0,80}(b64decode|b32decode|base64_decode|atob\(|Buffer\.from\([^)]*base64|fromhex|unhexlify|codecs\.decode|pack\s*\(?\s*["'][Hmu]|decode64|decode_base64|zlib\.decompress|marshal\.loads|rot13)`)
	characters = regexp.MustCompile(`chr\(\d+\)\s*[.+]\s*chr\(\d+\)|fromCharCode\(`)
	joining    = regexp.MustCompile(`(?s)socket.*(dup2|pty\.spawn|/bin/(ba)?sh|cmd\.exe)|net\.(connect|Socket).*(spawn|exec|pipe)|TCPSocket.*(exec|popen|spawn)|fsockopen.*(exec|proc_open)`)
	quotedText = regexp.MustCompile("\"((?:[^\"\\\\\\n]|\\\\.)*)\"|'((?:[^'\\\\\\n]|\\\\.)*)'|`([^`]*)`|q[qx]?\\{([^}]*)\\}|%x\\{([^}]*)\\}|qx/([^/]*)/|qx\\(([^)]*)\\)")
	lists      = regexp.MustCompile(`((?:["'][^"']*["']\s*,\s*)+["'][^"']*["'])`)
	homes      = regexp.MustCompile(`expanduser|Path\.home\(\)|homedir\(\)|Dir\.home|process\.env\.HOME|os\.environ\[?\(?["']HOME|ENV\[["']HOME["']\]\s*[,)]`)
	networking = regexp.MustCompile(`urllib|requests\.|http\.client|https?://|fetch\(|socket|axios|net/http|Net::HTTP|LWP`)
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
	spawns := spawning.MatchString(text)
	if unhiding.MatchString(text) || characters.MatchString(text) && spawns {
		r.flag(inner, RunDecoded, "decodes a text and runs it", c.span)
	}
	if joining.MatchString(text) {
		r.flag(inner, ConnectShell, "joins a shell to the network", c.span)
	}
	if networking.MatchString(text) && strings.Contains(text, ".ssh/id_") {
		r.flag(inner, SendSecret, "sends a private key", c.span)
	}
	literals := literalsOf(text)
	if spawns {
		r.spawned(inner, language, text, literals)
	}
	if deleting.MatchString(text) {
		r.deletedByCode(inner, c, language, text, literals)
	}
	if writing.MatchString(text) {
		r.writtenByCode(inner, language, literals, w.Span)
	}
}

func literalsOf(text string) []string {
	var all []string
	for _, m := range quotedText.FindAllStringSubmatch(text, 200) {
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
	for _, m := range lists.FindAllStringSubmatch(text, 50) {
		var words []string
		for _, word := range literalsOf(m[1]) {
			words = append(words, cmdline.Quote(word))
		}
		literals = append(literals, strings.Join(words, " "))
	}
	for _, t := range literals {
		if t = escapedQuotes.Replace(t); r.looksLikeCommand(t) {
			r.perhapsShell(s, t, language)
		}
	}
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
	home := homes.MatchString(text)
	any := false
	for _, t := range literals {
		if strings.ContainsAny(t, " \n{}()") && !strings.HasPrefix(t, "/") {
			continue
		}
		any = true
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
		t = strings.TrimLeft(t, "> ")
		if strings.HasPrefix(t, "/") && !strings.ContainsAny(t, " \n") {
			r.write(s, cmdline.At(t, span), language+" writes")
		}
	}
}

// What shells with other grammars are searched for: destruction that is plain.
var (
	foreignDestruction = regexp.MustCompile(`(?i)(remove-item|\brm\b|\bri\b|\bdel\b|\berase\b|\brd\b|\brmdir\b).*(-recurse|-r\b|/s).*([a-z]:\\(\s|$|\*|"|')|\$home|\$env:userprofile|\$env:systemroot|~|\\windows|/\s*$)|format-volume|clear-disk|initialize-disk|stop-computer|restart-computer|\bshutdown(\.exe)?\s+/[srp]|\bformat(\.com)?\s+[a-z]:|diskpart|vssadmin\s+delete|bcdedit|cipher\s+/w|rm -[a-z]*[rf][a-z]* (/|~)(\s|$|\*|;|'|")|\b(shutdown|reboot|poweroff|mkfs)\b`)
	foreignEncoding    = regexp.MustCompile(`(?i)-e(nc|ncodedcommand|c)?\s+[A-Za-z0-9+/=]{16,}|frombase64string|(\biex\b|invoke-expression)`)
)
