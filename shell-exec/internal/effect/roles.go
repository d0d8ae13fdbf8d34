package effect

import (
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// role does what the table of programs says about one word. how names the program and
// the option, for people.
func (r *reader) role(s *scope, c *call, role string, w cmdline.Word, how string) {
	switch role {
	case "delete":
		r.delete(s, w, c.args.Has(c.row.Deep...), how, c.span)
	case "delete-all":
		r.delete(s, w.With(cmdline.Patterned(w.Text)), true, how, c.span)
	case "write":
		if w.Text != "-" {
			r.write(s, w, how)
		}
	case "read":
		r.readArgument(s, w)
	case "attribute":
		r.attribute(s, w, c.args.Has(c.row.Deep...), how, c.span)
	case "shell":
		r.shell(s, w, how)
	case "split":
		r.splitString(s, c, w)
	case "directory":
		c.move(s, w.Text)
	case "script":
		r.scriptFile(s, c, w)
	case "program", "hijack":
		r.shell(s, w, how)
		if role == "hijack" {
			r.flag(s, RunHijacked, how+" makes it run a program", c.span)
		}
	case "hijack-path":
		r.flag(s, RunHijacked, how+" makes it run other programs", c.span)
	default:
		r.codeRole(s, c, role, w, how)
	}
}

// codeRole are the roles of words that are code of one kind or another.
func (r *reader) codeRole(s *scope, c *call, role string, w cmdline.Word, how string) {
	switch role {
	case "code":
		r.code(s, c, c.row.Language, w)
	case "awk":
		r.awkCode(s, c, w)
	case "sed":
		r.sedCode(s, c, w)
	case "editor":
		r.editorCommand(s, c, w)
	case "editor-file":
		r.editorFile(s, c, w)
	case "gdb":
		r.debuggerCommand(s, c, w)
	case "make":
		r.makefile(s, w.Text, c.span)
	case "makefile":
		r.makefileNamed(s, c, w)
	case "expect":
		r.expectCode(s, w)
	case "checkpoint":
		if text, ok := strings.CutPrefix(w.Text, "exec="); ok {
			r.shell(s, w.With(text), how)
		}
	case "tail", "tail-cmake":
		r.tail(s, c, role, w)
	case "git-config":
		key, v, _ := strings.Cut(w.Text, "=")
		r.gitSetting(s, c, key, v)
	case "ssh":
		r.sshSetting(s, w)
	case "data", "form", "send":
		r.sends(s, c, role, w)
	case "connect":
		r.flag(s, ConnectShell, how+" joins a program to the network", c.span)
	case "mount":
		r.mount(s, c, w)
	case "unpack":
		c.move(s, w.Text)
		r.unpack(s, c, w)
	default:
		r.rareRole(s, role, w, how)
	}
}

// rareRole are roles that one program or two have.
func (r *reader) rareRole(s *scope, role string, w cmdline.Word, how string) {
	switch role {
	case "write-system": // beside the workspace is where work trees belong
		if p := r.places.Leads(s.dir, w.Text); pathclass.IsSystem(p) {
			r.write(s, w, how)
		}
	case "macro":
		if m := macro().FindStringSubmatch(w.Text); m != nil {
			r.shell(s, w.With(m[1]), how)
		}
	case "wrapper":
		r.shell(s, w.With(strings.ReplaceAll(w.Text, ",", " ")), how)
		r.perhapsShell(s, w.Text[strings.LastIndexByte(w.Text, ',')+1:], how)
	case "setting":
		if _, v, ok := strings.Cut(w.Text, "="); ok && strings.Contains(v, " ") {
			inner := s.within(how)
			inner.exact, inner.outer = false, w.Span
			r.perhapsShell(inner, strings.Trim(v, `"'[] `), how)
		}
	}
}

// macro of rpm that runs a shell: %( … ).
var macro = late(`(?s)%\((.*)\)`)

// delete: what counts is where it lies. tree says that all beneath goes too.
func (r *reader) delete(s *scope, w cmdline.Word, tree bool, how string, span cmdline.Span) {
	if w.Text == "" {
		return
	}
	_, all, _ := pathclass.Absolute(s.dir, w.Text)
	what := how + " " + cmdline.Show(w.Text)
	switch r.places.Of(s.dir, w.Text, strings.HasSuffix(w.Text, "/")) {
	case pathclass.Vital:
		r.flag(s, DeleteVital, what+": the system, the home directory or a directory that the workspace is in", span)
	case pathclass.System, pathclass.Accounts, pathclass.Disk, pathclass.Device:
		r.flag(s, DeleteSystem, what+": a file of the system", span)
	case pathclass.History:
		if tree {
			r.flag(s, DeleteHistory, what+": the history of the project", span)
		}
	case pathclass.Repository:
		if tree {
			r.flag(s, Discard, what+": git's own files", span)
		}
	case pathclass.Root:
		if tree || all {
			r.flag(s, DeleteWorkspace, what+": the whole workspace", span)
		}
	case pathclass.Shared:
		r.flag(s, DeleteOutside, what+": everything in a temporary directory of all users", span)
	case pathclass.Outside, pathclass.Secret, pathclass.Startup:
		r.flag(s, DeleteOutside, what+": outside the workspace", span)
	case pathclass.Unknown:
		r.deleteUnknown(s, w, tree, what, span)
	}
}

func (r *reader) deleteUnknown(s *scope, w cmdline.Word, tree bool, what string, span cmdline.Span) {
	kind := DeleteAFile
	if tree || strings.ContainsRune(w.Text, cmdline.Gap) { // what is not quoted may bring -rf with it
		kind = DeleteUnknown
	}
	r.flag(s, kind, what+": it is not known before what that is", span)
}

// write: a file is made, or changed.
func (r *reader) write(s *scope, w cmdline.Word, how string) {
	what := how + " " + cmdline.Show(w.Text)
	switch r.places.Of(s.dir, w.Text, true) {
	case pathclass.Accounts:
		r.flag(s, WriteAccounts, what+": accounts, programs or the boot of the machine", w.Span)
	case pathclass.Vital:
		r.writeVital(s, w, what)
	case pathclass.System, pathclass.Device:
		r.flag(s, WriteSystem, what+": a file of the system", w.Span)
	case pathclass.Disk:
		r.flag(s, DestroyDisk, what+": a disk", w.Span)
	case pathclass.Startup, pathclass.Secret:
		r.writeLogin(s, w, how, what)
	case pathclass.History, pathclass.Repository, pathclass.Trigger:
		r.flag(s, WriteTrigger, what+": what git, an editor or an agent may run later", w.Span)
	case pathclass.Outside:
		r.writeOutside(s, WriteOutside, w, how, what+": outside the workspace")
	case pathclass.Unknown:
		if w.Text != "" {
			r.flag(s, WriteUnknown, what+": it is not known before where that is", w.Span)
		}
	}
}

// writeLogin: what is run at a login, and what lets somebody log in.
func (r *reader) writeLogin(s *scope, w cmdline.Word, how, what string) {
	switch {
	case strings.HasPrefix(r.places.Leads(s.dir, w.Text), "/etc/"):
		r.flag(s, WriteAccounts, what+": accounts of the machine", w.Span)
	case strings.HasSuffix(w.Text, "authorized_keys"):
		r.flag(s, WriteAccounts, what+": lets others log in", w.Span)
	case r.places.Of(s.dir, w.Text, true) == pathclass.Secret:
		r.writeOutside(s, WriteOutside, w, how, what+": where credentials are")
	default:
		r.writeOutside(s, WriteStartup, w, how, what+": what later shells or logins run")
	}
}

// writeOutside: a redirection, tee, and dd write to a file by opening it; others replace
// it, or do more.
func (r *reader) writeOutside(s *scope, kind Kind, w cmdline.Word, how, why string) {
	if how == "tee" || how == "dd of=" || strings.Trim(how, "<>&|") == "" {
		r.flagFile(s, kind, why, w)
		return
	}
	r.flag(s, kind, why, w.Span)
}

// writeVital: a file that is put into a directory of the system, or only above the workspace.
func (r *reader) writeVital(s *scope, w cmdline.Word, what string) {
	p := r.places.Leads(s.dir, w.Text)
	if !pathclass.IsSystem(p) {
		r.flag(s, WriteOutside, what+": outside the workspace", w.Span)
		return
	}
	if r.places.Of("", p+"/x", false) == pathclass.Accounts {
		r.flag(s, WriteAccounts, what+": the programs of the machine", w.Span)
		return
	}
	r.flag(s, WriteSystem, what+": a directory of the system", w.Span)
}

// readArgument reads a file, or the file that an option or an @ names.
func (r *reader) readArgument(s *scope, w cmdline.Word) {
	t := strings.TrimPrefix(w.Text, "@")
	if r.read(s, w.With(t)) {
		s.output.secret = true
	}
}

// read says whether the file holds credentials.
func (r *reader) read(s *scope, w cmdline.Word) bool {
	if w.Text == "" || r.places.Of(s.dir, w.Text, true) != pathclass.Secret {
		return false
	}
	r.flagFile(s, ReadSecret, "reads credentials: "+cmdline.Show(w.Text), w)
	return true
}

// attribute: the owner or the mode changes, of a tree perhaps.
func (r *reader) attribute(s *scope, w cmdline.Word, tree bool, how string, span cmdline.Span) {
	if !tree {
		r.write(s, cmdline.At(w.Text, span), how)
		return
	}
	what := how + " " + cmdline.Show(w.Text)
	switch r.places.Of(s.dir, w.Text, true) {
	case pathclass.Vital:
		p := r.places.Leads(s.dir, w.Text)
		if pathclass.IsSystem(p) || r.world.Home != "" && pathclass.Under(r.world.Home, p) || strings.Count(p, "/") < 2 {
			r.flag(s, DeleteVital, what+": breaks the system or the home directory", span)
			return
		}
		r.flag(s, WriteOutside, what+": outside the workspace", span)
	case pathclass.Accounts:
		r.flag(s, WriteAccounts, what+": accounts, programs or the boot of the machine", span)
	case pathclass.System:
		r.flag(s, WriteSystem, what+": files of the system", span)
	case pathclass.Disk:
		r.flag(s, DestroyDisk, what+": a disk", span)
	case pathclass.Outside, pathclass.Startup, pathclass.Secret:
		r.flag(s, WriteOutside, what+": outside the workspace", span)
	}
}

// splitString is env -S: a string that becomes words, before the others.
func (r *reader) splitString(s *scope, c *call, w cmdline.Word) {
	text := w.Text
	for _, rest := range c.args.Operands {
		text += " " + cmdline.Quote(rest.Text)
	}
	c.args.Operands = nil
	r.shell(s, cmdline.At(text, c.span), "env -S")
}

// tail: the option's value and all after it are a command.
func (r *reader) tail(s *scope, c *call, role string, w cmdline.Word) {
	for i, word := range c.words {
		if word.Span == w.Span && word.Text == w.Text {
			argv := c.words[i:]
			if role == "tail-cmake" {
				argv = cmakeCommand(argv)
			}
			c.args.Operands = nil
			r.call(s.within(c.row.Name), argv, c.span)
			return
		}
	}
}
