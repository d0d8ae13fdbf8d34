package effect

import (
	"path"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// copy is cp, mv, install and ln: the last operand is written, and mv's others go away.
func (r *reader) copy(s *scope, c *call) {
	name := strings.TrimPrefix(c.name, "g")
	from, to := c.args.Operands, cmdline.Word{}
	if o, ok := c.args.Find("-t", "--target-directory"); ok && o.Valued {
		to = o.Value
	} else if name == "install" && c.args.Has("-d", "--directory") {
		for _, w := range from {
			r.write(s, cmdline.At(w.Text, c.span), "install -d")
		}
		return
	} else if n := len(from); n > 0 {
		to = from[n-1]
		if from = from[:n-1]; n == 1 {
			to = to.With(".")
		}
	}
	if name == "mv" {
		for _, w := range from {
			r.moved(s, c, w, to)
		}
	} else {
		for _, w := range from {
			r.readArgument(s, w)
		}
		r.copied(s, from, to)
	}
	if to.Text != "" && to.Text != "/dev/null" {
		r.write(s, cmdline.At(to.Text, c.span), name+" to")
	}
}

// copied: a file that the script knows stays known under its new name.
func (r *reader) copied(s *scope, from []cmdline.Word, to cmdline.Word) {
	if len(from) != 1 {
		return
	}
	known, ok := r.file(s, from[0].Text)
	switch {
	case isStandardInput(from[0].Text):
		known, ok = s.input, true
	case from[0].Text == pipeName && r.lastProcess != nil:
		known, ok = r.processes[r.lastProcess], true
	}
	p, _, where := pathclass.Absolute(s.dir, to.Text)
	if ok && where {
		r.files[p] = known
	}
	if name, local := programName(from[0].Text); where && !local && strings.Contains(from[0].Text, "/") {
		r.renamed[p], r.renamed[p+"/"+name] = name, name
	}
}

func (r *reader) moved(s *scope, c *call, w, to cmdline.Word) {
	_, all, _ := pathclass.Absolute(s.dir, w.Text)
	if to.Text == "/dev/null" {
		r.flag(s, DeleteVital, "mv to /dev/null destroys the files", c.span)
		return
	}
	switch r.places.Of(s.dir, w.Text, false) {
	case pathclass.Vital, pathclass.System, pathclass.Accounts, pathclass.Disk, pathclass.History:
		r.delete(s, w, true, "mv", c.span)
	case pathclass.Root:
		if in := r.places.Of(s.dir, to.Text, true); !all || in != pathclass.Workspace && in != pathclass.Root {
			r.flag(s, DeleteWorkspace, "mv "+cmdline.Show(w.Text)+": moves the whole workspace away", c.span)
		}
	case pathclass.Outside, pathclass.Startup, pathclass.Secret:
		r.flag(s, DeleteOutside, "mv "+cmdline.Show(w.Text)+": outside the workspace", c.span)
	}
	r.copied(s, []cmdline.Word{w}, to)
}

func isRemote(t string) bool {
	at := strings.IndexByte(t, ':')
	return at > 0 && !strings.Contains(t[:at], "/")
}

func (r *reader) rsync(s *scope, c *call) {
	operands := c.args.Operands
	for _, w := range operands {
		if isRemote(w.Text) || strings.Contains(w.Text, "://") {
			r.flag(s, RunRemote, "rsync moves files to or from another machine", c.span)
			r.remoteCopy(s, c)
			return
		}
	}
	if len(operands) < 2 {
		return
	}
	to := operands[len(operands)-1]
	for _, o := range c.args.Options {
		if strings.HasPrefix(o.Name, "--del") || o.Name == "--remove-source-files" {
			r.deleteBeneath(s, to, "rsync "+o.Name, c.span)
			return
		}
	}
	r.write(s, to, "rsync to")
}

// remoteCopy: credentials are not copied to another machine, whichever it is.
func (r *reader) remoteCopy(s *scope, c *call) {
	for i, w := range c.args.Operands {
		if !isRemote(w.Text) && i < len(c.args.Operands)-1 && r.places.Of(s.dir, w.Text, true) == pathclass.Secret {
			r.flag(s, SendSecret, c.name+" sends "+cmdline.Show(w.Text)+", which holds credentials", c.span)
		}
	}
}

// deleteBeneath: what is in the directory may go, not the directory.
func (r *reader) deleteBeneath(s *scope, w cmdline.Word, how string, span cmdline.Span) {
	switch r.places.Of(s.dir, w.Text, true) {
	case pathclass.Workspace, pathclass.Temporary:
	case pathclass.Root:
		r.flag(s, DeleteWorkspace, how+" "+cmdline.Show(w.Text)+": may delete the whole workspace", span)
	default:
		r.delete(s, w, true, how, span)
	}
}

func (r *reader) tee(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if p, _, ok := pathclass.Absolute(s.dir, w.Text); ok {
			r.files[p] = s.input
		}
	}
	if s.input.kind != nothing {
		s.output.add(s.input)
	}
}

func (r *reader) dd(s *scope, c *call) {
	in := s.input
	for _, w := range c.words {
		if name, ok := strings.CutPrefix(w.Text, "if="); ok && name == pipeName && r.lastProcess != nil {
			in = r.processes[r.lastProcess]
		} else if known, found := r.file(s, name); ok && found {
			in = known
		}
	}
	for _, w := range c.words {
		if name, ok := strings.CutPrefix(w.Text, "of="); ok {
			r.write(s, w.With(name), "dd of=")
			if p, _, ok := pathclass.Absolute(s.dir, name); ok {
				r.files[p] = in
			}
		}
		if name, ok := strings.CutPrefix(w.Text, "if="); ok {
			r.read(s, w.With(name))
		}
	}
}

// mode is chmod and its kin, beyond whose files they change.
func (r *reader) mode(s *scope, c *call) {
	if c.name != "chmod" {
		return
	}
	for _, w := range c.words {
		t := w.Text
		symbolic := strings.Contains(t, "+") && strings.Contains(t[strings.IndexByte(t, '+'):], "s") && strings.Trim(t, "ugoa+=-rwxXst,") == ""
		if symbolic || len(t) == 4 && isNumber(t) && strings.ContainsAny(t[:1], "24567") {
			r.flag(s, Escalate, "chmod sets the set-user-id bit", c.span)
		}
	}
}

// tar unpacks where it is told, and takes options without a dash.
func (r *reader) tar(s *scope, c *call) {
	if c.args.Has("--remove-files") {
		for _, w := range c.args.Operands {
			r.delete(s, w, true, "tar --remove-files", c.span)
		}
	}
	first := ""
	if len(c.words) > 0 {
		first = strings.TrimPrefix(c.words[0].Text, "-")
	}
	if extracts(c) && (c.args.Has("-P", "--absolute-names") || strings.Contains(first, "P") && strings.Trim(first, "xvzjJpfPk") == "") {
		r.flag(s, WriteOutside, "tar -P unpacks to wherever the archive says", c.span)
	}
	if extracts(c) && r.places.Of(s.dir, ".", true) != pathclass.Workspace {
		r.write(s, cmdline.At(".", c.span), "tar unpacks into")
	}
	for _, w := range c.args.Operands {
		r.readArgument(s, w)
	}
}

// lastWritten: the last operand is what the program makes.
func (r *reader) lastWritten(s *scope, c *call) {
	if n := len(c.args.Operands); n > 0 {
		r.write(s, c.args.Operands[n-1], c.name+" to")
	}
}

// zip -m deletes what it has packed.
func (r *reader) zip(s *scope, c *call) {
	if c.args.Has("-m", "--move") && len(c.args.Operands) > 1 {
		for _, w := range c.args.Operands[1:] {
			r.delete(s, w, true, "zip -m", c.span)
		}
	}
}

func extracts(c *call) bool {
	if c.args.Has("-x", "--extract", "--get") {
		return true
	}
	return len(c.words) > 0 && c.words[0].Text != "" && c.words[0].Text[0] != '-' && strings.Contains(c.words[0].Text, "x")
}

func (r *reader) unpack(s *scope, c *call, w cmdline.Word) {
	if extracts(c) {
		r.write(s, cmdline.At(".", w.Span), "tar unpacks into")
	}
}

// disk is mkfs and its kin: on a file it makes an image, on all else it destroys.
func (r *reader) disk(s *scope, c *call) {
	if strings.HasPrefix(c.name, "format") && c.local {
		return
	}
	image := false
	for _, w := range c.args.Operands {
		switch r.places.Of(s.dir, w.Text, true) {
		case pathclass.Workspace, pathclass.Temporary:
			image = image || strings.ContainsAny(w.Text, "./") && !strings.Contains(w.Text, ":")
		case pathclass.Disk, pathclass.Device, pathclass.Unknown, pathclass.System, pathclass.Vital, pathclass.Outside:
			r.flag(s, DestroyDisk, c.name+" destroys a file system", c.span)
			return
		}
	}
	for _, act := range c.row.Acts {
		if act.Effect == "none" && act.Does(c.args) {
			return
		}
	}
	if image {
		r.flag(s, DiskImage, c.name+" on a file", c.span)
		return
	}
	if len(c.args.Operands) > 0 {
		r.flag(s, DestroyDisk, c.name+" destroys a file system", c.span)
	}
}

func (r *reader) sysctl(s *scope, c *call) {
	for _, w := range c.words {
		if strings.Contains(w.Text, "=") {
			r.flag(s, Kernel, "sysctl changes settings of the kernel", c.span)
		}
	}
}

func (r *reader) mktemp(s *scope, c *call) {
	dir, name := "/tmp", "tmp.XXXXXXXX"
	if t := r.world.Env["TMPDIR"]; t != "" {
		dir = t
	}
	o, inTemporary := c.args.Find("-p", "--tmpdir")
	if inTemporary && o.Valued && o.Value.Text != "" {
		dir = o.Value.Text
	}
	if len(c.args.Operands) > 0 {
		name = c.args.Operands[0].Text
		if !inTemporary && !c.args.Has("-t") {
			if dir = path.Dir(name); dir == "." {
				dir = s.dir
			}
			name = path.Base(name)
		}
	}
	s.output.add(flow{kind: literal, text: dir + "/" + name + "\n"})
}

func (r *reader) basename(s *scope, c *call) {
	if c.name == "readlink" && !c.args.Has("-f", "-e", "-m", "--canonicalize") || len(c.args.Operands) != 1 {
		return
	}
	if c.name == "realpath" || c.name == "readlink" {
		if p := s.join(c.args.Operands[0].Text); p != "" {
			s.output.add(flow{kind: literal, text: p})
		}
		return
	}
	if len(c.words) != 1 || strings.ContainsFunc(c.words[0].Text, cmdline.IsMark) {
		return
	}
	switch t := c.words[0].Text; c.name {
	case "basename":
		s.output.add(flow{kind: literal, text: path.Base(t)})
	case "dirname":
		s.output.add(flow{kind: literal, text: path.Dir(t)})
	}
}

func (r *reader) which(s *scope, c *call) {
	if len(c.words) == 1 {
		s.output.add(flow{kind: literal, text: "/usr/bin/" + path.Base(cmdline.Show(c.words[0].Text)) + "\n"})
	}
}

func (r *reader) listFiles(s *scope, c *call) {
	switch {
	case len(c.args.Operands) == 0:
		s.output.add(flow{kind: names, root: s.dir})
	case len(c.args.Operands) == 1 && cmdline.Pattern(c.args.Operands[0].Text):
		if p, all, ok := pathclass.Absolute(s.dir, c.args.Operands[0].Text); ok && all {
			s.output.add(flow{kind: names, root: p})
		}
	case len(c.args.Operands) == 1 && !strings.ContainsFunc(c.args.Operands[0].Text, cmdline.IsMark):
		if p := s.join(c.args.Operands[0].Text); p != "" {
			s.output.add(flow{kind: names, root: p})
		}
	}
}

func (r *reader) grep(s *scope, c *call) {
	switch {
	case c.args.Has("-l", "-L", "--files-with-matches", "--files-without-match", "--files"):
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
	case s.input.kind == names:
		f := s.input
		f.filtered = f.filtered || !c.args.Has("-v", "--invert-match")
		s.output.add(f)
	}
}
