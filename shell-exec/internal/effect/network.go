package effect

import (
	"path"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// ssh runs its last words on another machine.
func (r *reader) ssh(s *scope, c *call) {
	words := c.args.Operands
	if len(words) == 0 {
		return
	}
	host, words := words[0], words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") { // options may follow the host
		more := c.row.Split(words)
		for _, o := range more.Options {
			if o.Name == "-o" && o.Valued {
				r.sshSetting(s, o.Value)
			}
		}
		words = words[more.Rest:]
	}
	r.flag(s, RunRemote, c.name+" runs on "+cmdline.Show(host.Text)+", outside this machine's sandbox", c.span)
	there := s.within(c.name)
	there.via, there.depth = s.via, s.depth
	there.dir = ""
	switch {
	case len(words) > 0:
		r.shell(there, cmdline.Join(words, c.span), c.name+" "+cmdline.Show(host.Text))
	case s.input.kind != nothing:
		r.shellInput(there, c.name, c.span)
	}
	s.output.add(flow{kind: something})
}

func (r *reader) sshSetting(s *scope, w cmdline.Word) {
	key, v, ok := strings.Cut(w.Text, "=")
	if !ok {
		key, v, ok = strings.Cut(w.Text, " ")
	}
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "proxycommand", "localcommand", "knownhostscommand":
		if ok && v != "none" {
			r.shell(s, w.With(v), "ssh "+key)
			r.flag(s, RunHijacked, "ssh "+key+" makes it run a program", w.Span)
		}
	}
}

var localAddress = late(`^(https?://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)([:/]|$)`)

// staysHere says that all the addresses among the words are of this machine.
func staysHere(words []cmdline.Word) bool {
	here := false
	for _, w := range words {
		switch {
		case localAddress().MatchString(w.Text):
			here = true
		case strings.Contains(w.Text, "://"):
			return false
		}
	}
	return here
}

// sends looks at a value that curl or wget sends: a text, or a file after an @.
func (r *reader) sends(s *scope, c *call, role string, w cmdline.Word) {
	file := ""
	at := strings.IndexByte(w.Text, '@')
	switch {
	case role == "send":
		file = w.Text
	case at == 0 || role == "form" && at > 0:
		file = w.Text[at+1:]
	}
	if file == "" {
		if cmdline.Unknown(w.Text) && r.secret && !staysHere(c.words) {
			r.flag(s, SendSecret, c.name+" sends credentials", c.span)
		}
		if cmdline.Unknown(w.Text) && !staysHere(c.words) {
			r.flag(s, SendUnknown, c.name+" sends a text that is not known before", c.span)
		}
		return
	}
	if file == "-" || file == "." {
		r.sendsInput(s, c)
		return
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok { // the shell leaves @~/ alone, what is meant is plain
		file = r.world.Home + "/" + rest
	}
	file, _, _ = strings.Cut(file, ";")
	switch {
	case r.places.Of(s.dir, file, true) == pathclass.Secret:
		r.flag(s, SendSecret, c.name+" sends "+cmdline.Show(file)+", which holds credentials", c.span)
	case !staysHere(c.words):
		r.flag(s, SendFile, c.name+" sends "+cmdline.Show(file), c.span)
	}
}

func (r *reader) sendsInput(s *scope, c *call) {
	if staysHere(c.words) || s.input.kind == nothing {
		return
	}
	if s.input.secret {
		r.flag(s, SendSecret, c.name+" sends credentials", c.span)
	}
	r.flag(s, SendFile, c.name+" sends what another command prints", c.span)
}

// download: what an option does not say is done by the operands of httpie and its like.
func (r *reader) download(s *scope, c *call) {
	for _, w := range c.words {
		if r.secret && cmdline.Unknown(w.Text) && !staysHere(c.words) {
			r.flag(s, SendSecret, c.name+" sends credentials", c.span)
		}
	}
	for _, w := range c.args.Operands {
		if strings.HasSuffix(w.Text, "@-") {
			r.sendsInput(s, c)
		}
		if _, file, ok := strings.Cut(w.Text, "@"); ok && !strings.Contains(w.Text, "://") && r.places.Of(s.dir, file, true) == pathclass.Secret {
			r.flag(s, SendSecret, c.name+" sends credentials", c.span)
		}
	}
	if r.placesOfOutput(s, c) {
		s.output.add(flow{kind: download})
	}
}

// placesOfOutput remembers files that hold a download, so that running them is known
// for what it is. It says whether something comes out.
func (r *reader) placesOfOutput(s *scope, c *call) bool {
	if c.name == "wget" && !c.args.Has("-O", "--output-document") || c.name == "curl" && c.args.Has("-O", "--remote-name") {
		for _, w := range c.args.Operands {
			if p := s.join(path.Base(w.Text)); p != "" {
				r.files[p] = flow{kind: download}
			}
		}
	}
	o, ok := c.args.Find("-o", "--output", "-O", "--output-document")
	if !ok || !o.Valued || o.Value.Text == "-" {
		return true
	}
	if p, _, ok := pathclass.Absolute(s.dir, o.Value.Text); ok && c.name != "aria2c" {
		r.files[p] = flow{kind: download}
	}
	return false
}

// netcat is nc, telnet and socat.
func (r *reader) netcat(s *scope, c *call) {
	here := false
	for _, w := range c.words {
		here = here || isLocal(w.Text)
		upper := strings.ToUpper(w.Text)
		if c.name == "socat" && (strings.Contains(upper, "EXEC:") || strings.HasPrefix(upper, "SYSTEM:") || strings.HasPrefix(upper, "SHELL:")) {
			r.flag(s, ConnectShell, "socat joins a program to the network", c.span)
		}
	}
	if c.args.Has("-z") {
		return
	}
	if s.input.interactive {
		r.flag(s, ConnectShell, "joins an interactive shell to the network", c.span)
	}
	if here || len(c.words) == 0 || c.name == "openssl" && c.words[0].Text != "s_client" {
		return
	}
	if s.input.secret {
		r.flag(s, SendSecret, "sends credentials", c.span)
	}
	r.connected = true
	r.flag(s, ConnectRaw, c.name+" opens a raw connection", c.span)
}
