package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// outcome is what something is that is done to a path. The zero outcome is nothing of note.
type outcome struct {
	kind Kind
	why  string
}

const (
	isMachine = "accounts, programs or the boot of the machine"
	isOutside = "outside the workspace"
	isTrigger = "what git, an editor or an agent may run later"
	isFile    = "a file of the system"
)

// outcomes are what it is to delete something of a class, to write to it, and to change the attributes of a tree.
var outcomes = map[pathClass]struct{ deleted, written, attributed outcome }{
	classVital: {outcome{DeleteVital, "the system, the home directory or a directory that the workspace is in"},
		outcome{WriteSystem, "a directory of the system"}, outcome{WriteOutside, isOutside}},
	classAccounts:   {outcome{DeleteSystem, isFile}, outcome{WriteAccounts, isMachine}, outcome{WriteAccounts, isMachine}},
	classSystem:     {outcome{DeleteSystem, isFile}, outcome{WriteSystem, isFile}, outcome{WriteSystem, "files of the system"}},
	classDevice:     {outcome{DeleteSystem, isFile}, outcome{WriteSystem, isFile}, outcome{}},
	classDisk:       {outcome{DeleteSystem, isFile}, outcome{DestroyDisk, "a disk"}, outcome{DestroyDisk, "a disk"}},
	classRoot:       {outcome{DeleteWorkspace, "the whole workspace"}, outcome{}, outcome{}},
	classHistory:    {outcome{DeleteHistory, "the history of the project"}, outcome{WriteTrigger, isTrigger}, outcome{}},
	classRepository: {outcome{Discard, "git's own files"}, outcome{WriteTrigger, isTrigger}, outcome{}},
	classTrigger:    {outcome{}, outcome{WriteTrigger, isTrigger}, outcome{}},
	classShared:     {outcome{DeleteOutside, "everything in a temporary directory of all users"}, outcome{}, outcome{}},
	classStartup: {outcome{DeleteOutside, isOutside}, outcome{WriteStartup, "what later shells or logins run"},
		outcome{WriteOutside, isOutside}},
	classSecret:  {outcome{DeleteOutside, isOutside}, outcome{WriteOutside, "where credentials are"}, outcome{WriteOutside, isOutside}},
	classOutside: {outcome{DeleteOutside, isOutside}, outcome{WriteOutside, isOutside}, outcome{WriteOutside, isOutside}},
	classUnknown: {outcome{DeleteAFile, "it is not known before what that is"},
		outcome{WriteUnknown, "it is not known before where that is"}, outcome{}},
}

// delete: what counts is where it is. tree says that everything in it goes too.
func (r *reader) delete(s *scope, w cmdline.Word, tree bool, how string, span cmdline.Span) {
	if w.Text == "" {
		return
	}
	class := r.paths.class(s.dir, w.Text, strings.HasSuffix(w.Text, "/"))
	_, all, _ := absolute(s.dir, w.Text)
	out := outcomes[class].deleted
	switch class {
	case classUnknown:
		if tree || strings.Contains(w.Text, gap) { // what is not quoted may bring -rf with it
			out.kind = DeleteUnknown
		}
	case classRoot, classHistory, classRepository:
		if !tree && !(all && class == classRoot) {
			return
		}
	}
	r.flag(s, out.kind, how+" "+cmdline.Show(w.Text)+": "+out.why, span)
}

func (r *reader) deleteAll(s *scope, words []cmdline.Word, how string, span cmdline.Span) {
	for _, w := range words {
		r.delete(s, w, true, how, span)
	}
}

// write: a file is made, or changed.
func (r *reader) write(s *scope, w cmdline.Word, how string) {
	if w.Text == "" {
		return
	}
	class := r.paths.class(s.dir, w.Text, true)
	out, opens := outcomes[class].written, class == classOutside
	switch class {
	case classVital: // a file that is put into a directory of the system, or only above the workspace
		if p := r.paths.resolve(s.dir, w.Text); !isSystem(p) {
			out = outcome{WriteOutside, isOutside}
		} else if r.paths.class("", p+"/x", false) == classAccounts {
			out = outcome{WriteAccounts, "the programs of the machine"}
		}
	case classStartup, classSecret: // what is run at a login, and what lets somebody log in
		if strings.HasPrefix(r.paths.resolve(s.dir, w.Text), "/etc/") {
			out = outcome{WriteAccounts, "accounts of the machine"}
		} else if strings.HasSuffix(w.Text, "authorized_keys") {
			out = outcome{WriteAccounts, "lets others log in"}
		} else {
			opens = true
		}
	}
	out.why = how + " " + cmdline.Show(w.Text) + ": " + out.why
	// A redirection, tee, and dd write to a file by opening it; others replace it, or do more.
	if opens && (how == "tee" || how == "dd of=" || strings.Trim(how, "<>&|") == "") {
		r.flagFile(s, out.kind, out.why, w)
		return
	}
	r.flag(s, out.kind, out.why, w.Span)
}

func (r *reader) writeAll(s *scope, words []cmdline.Word, how string) {
	for _, w := range words {
		r.write(s, w, how)
	}
}

// attribute: the owner or the mode changes, of a tree perhaps.
func (r *reader) attribute(s *scope, w cmdline.Word, tree bool, how string, span cmdline.Span) {
	if !tree {
		r.write(s, cmdline.At(w.Text, span), how)
		return
	}
	class := r.paths.class(s.dir, w.Text, true)
	out := outcomes[class].attributed
	if class == classVital {
		p := r.paths.resolve(s.dir, w.Text)
		if isSystem(p) || r.around.Home != "" && Under(r.around.Home, p) || strings.Count(p, "/") < 2 {
			out = outcome{DeleteVital, "breaks the system or the home directory"}
		}
	}
	r.flag(s, out.kind, how+" "+cmdline.Show(w.Text)+": "+out.why, span)
}

// read says whether the file holds credentials.
func (r *reader) read(s *scope, w cmdline.Word) bool {
	if w.Text == "" || r.paths.class(s.dir, w.Text, true) != classSecret {
		return false
	}
	r.flagFile(s, ReadSecret, "reads credentials: "+cmdline.Show(w.Text), w)
	return true
}

// readArgument reads a file, or the file that an option or an @ names.
func (r *reader) readArgument(s *scope, w cmdline.Word) {
	s.output.secret = r.read(s, w.With(strings.TrimPrefix(w.Text, "@"))) || s.output.secret
}

// copy is cp, mv, install and ln: the last operand is written, and mv's others go away.
func (r *reader) copy(s *scope, c *call) {
	name := strings.TrimPrefix(c.name, "g")
	from, to := c.args.Operands, cmdline.Word{}
	into, _ := c.args.Find("-t", "--target-directory")
	switch n := len(from); {
	case into.Valued:
		to = into.Value
	case name == "install" && c.args.Has("-d", "--directory"):
		for _, w := range from {
			r.write(s, cmdline.At(w.Text, c.span), "install -d")
		}
		return
	case n == 1:
		from, to = nil, from[0].With(".")
	case n > 1:
		from, to = from[:n-1], from[n-1]
	}
	for _, w := range from {
		if name == "mv" {
			r.moved(s, c, w, to)
		} else {
			r.readArgument(s, w)
		}
	}
	if name != "mv" && len(from) == 1 {
		r.copied(s, from[0], to)
	}
	if to.Text != "/dev/null" {
		r.write(s, cmdline.At(to.Text, c.span), name+" to")
	}
}

// copied: a file that the script knows stays known under its new name.
func (r *reader) copied(s *scope, from, to cmdline.Word) {
	p, _, where := absolute(s.dir, to.Text)
	if known, ok := r.contentOrInput(s, from.Text); ok && where {
		r.files[p] = known
	}
	if name, local := programName(from.Text); where && !local && strings.Contains(from.Text, "/") {
		r.renamed[p], r.renamed[p+"/"+name] = name, name
	}
}

func (r *reader) moved(s *scope, c *call, w, to cmdline.Word) {
	if to.Text == "/dev/null" {
		r.flag(s, DeleteVital, "mv to /dev/null destroys the files", c.span)
		return
	}
	what := "mv " + cmdline.Show(w.Text)
	switch r.paths.class(s.dir, w.Text, false) {
	case classVital, classSystem, classAccounts, classDisk, classHistory:
		r.delete(s, w, true, "mv", c.span)
	case classRoot:
		_, all, _ := absolute(s.dir, w.Text)
		in := r.paths.class(s.dir, to.Text, true)
		r.flagIf(s, !all || in != classWorkspace && in != classRoot, DeleteWorkspace, what+": moves the whole workspace away", c.span)
	case classOutside, classStartup, classSecret:
		r.flag(s, DeleteOutside, what+": outside the workspace", c.span)
	}
	r.copied(s, w, to)
}

func isRemote(t string) bool {
	host, _, ok := strings.Cut(t, ":")
	return ok && host != "" && !strings.Contains(host, "/")
}

func (r *reader) rsync(s *scope, c *call) {
	operands := c.args.Operands
	if anyWord(operands, func(t string) bool { return isRemote(t) || strings.Contains(t, "://") }) {
		r.flag(s, RunRemote, "rsync moves files to or from another machine", c.span)
		r.remoteCopy(s, c)
		return
	}
	if len(operands) < 2 {
		return
	}
	to := operands[len(operands)-1]
	for _, o := range c.args.Options {
		if !strings.HasPrefix(o.Name, "--del") && o.Name != "--remove-source-files" {
			continue
		}
		switch how := "rsync " + o.Name; r.paths.class(s.dir, to.Text, true) { // what is in the directory may go, not the directory
		case classWorkspace, classTemporary:
		case classRoot:
			r.flag(s, DeleteWorkspace, how+" "+cmdline.Show(to.Text)+": may delete the whole workspace", c.span)
		default:
			r.delete(s, to, true, how, c.span)
		}
		return
	}
	r.write(s, to, "rsync to")
}

// remoteCopy: credentials are not copied to another machine, whichever it is.
func (r *reader) remoteCopy(s *scope, c *call) {
	for i, w := range c.args.Operands {
		r.flagIf(s, !isRemote(w.Text) && i < len(c.args.Operands)-1 && r.paths.class(s.dir, w.Text, true) == classSecret,
			SendSecret, c.name+" sends "+cmdline.Show(w.Text)+", which holds credentials", c.span)
	}
}

// made remembers what is in a file.
func (r *reader) made(s *scope, name string, f flow) {
	if p, _, ok := absolute(s.dir, name); ok {
		r.files[p] = f
	}
}

func (r *reader) tee(s *scope, c *call) {
	for _, w := range c.args.Operands {
		r.made(s, w.Text, s.input)
	}
	s.output.add(s.input)
}

func (r *reader) dd(s *scope, c *call) {
	in := s.input
	for _, w := range c.words {
		if name, ok := strings.CutPrefix(w.Text, "if="); ok {
			if known, ok := r.content(s, name); ok {
				in = known
			}
		}
	}
	for _, w := range c.words {
		if name, ok := strings.CutPrefix(w.Text, "of="); ok {
			r.write(s, w.With(name), "dd of=")
			r.made(s, name, in)
		}
		if name, ok := strings.CutPrefix(w.Text, "if="); ok {
			r.read(s, w.With(name))
		}
	}
}

// mode is chmod and its kin, beyond whose files they change.
func (r *reader) mode(s *scope, c *call) {
	setsID := anyWord(c.words, func(t string) bool {
		_, added, _ := strings.Cut(t, "+")
		return strings.Contains(added, "s") && strings.Trim(t, "ugoa+=-rwxXst,") == "" ||
			len(t) == 4 && isNumber(t) && strings.ContainsAny(t[:1], "24567")
	})
	r.flagIf(s, setsID && c.name == "chmod", Escalate, "chmod sets the set-user-id bit", c.span)
}

func extracts(c *call) bool {
	if c.args.Has("-x", "--extract", "--get") {
		return true
	}
	return len(c.words) > 0 && !strings.HasPrefix(c.words[0].Text, "-") && strings.Contains(c.words[0].Text, "x")
}

// tar unpacks in the directory that it is given, and takes options without a dash.
func (r *reader) tar(s *scope, c *call) {
	if c.args.Has("--remove-files") {
		r.deleteAll(s, c.args.Operands, "tar --remove-files", c.span)
	}
	if extracts(c) {
		first := ""
		if len(c.words) > 0 {
			first = strings.TrimPrefix(c.words[0].Text, "-")
		}
		r.flagIf(s, c.args.Has("-P", "--absolute-names") || strings.Contains(first, "P") && strings.Trim(first, "xvzjJpfPk") == "",
			WriteOutside, "tar -P unpacks to wherever the archive says", c.span)
		if r.paths.class(s.dir, ".", true) != classWorkspace {
			r.write(s, cmdline.At(".", c.span), "tar unpacks into")
		}
	}
	for _, w := range c.args.Operands {
		r.readArgument(s, w)
	}
}

// disk is mkfs and its kin: on a file it makes an image, on all else it destroys.
func (r *reader) disk(s *scope, c *call) {
	if strings.HasPrefix(c.name, "format") && c.local {
		return
	}
	image, destroys := false, c.name+" destroys a file system"
	for _, w := range c.args.Operands {
		switch r.paths.class(s.dir, w.Text, true) {
		case classWorkspace, classTemporary:
			image = image || strings.ContainsAny(w.Text, "./") && !strings.Contains(w.Text, ":")
		case classDisk, classDevice, classUnknown, classSystem, classVital, classOutside:
			r.flag(s, DestroyDisk, destroys, c.span)
			return
		}
	}
	for _, act := range c.row.Acts {
		if act.Effect == "none" && act.Does(c.args) {
			return
		}
	}
	r.flagIf(s, image, DiskImage, c.name+" on a file", c.span)
	r.flagIf(s, !image && len(c.args.Operands) > 0, DestroyDisk, destroys, c.span)
}

func (r *reader) mktemp(s *scope, c *call) {
	dir, name := "/tmp", "tmp.XXXXXXXX"
	if t := r.around.Env["TMPDIR"]; t != "" {
		dir = t
	}
	o, inTemporary := c.args.Find("-p", "--tmpdir")
	if o.Valued && o.Value.Text != "" {
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
	s.prints(dir + "/" + name + "\n")
}

func (r *reader) basename(s *scope, c *call) {
	if len(c.args.Operands) != 1 || c.name == "readlink" && !c.args.Has("-f", "-e", "-m", "--canonicalize") {
		return
	}
	simple := len(c.words) == 1 && !cmdline.HasMark(c.words[0].Text)
	switch p := s.join(c.args.Operands[0].Text); {
	case c.name == "realpath" || c.name == "readlink":
		if p != "" {
			s.prints(p)
		}
	case simple && c.name == "basename":
		s.prints(path.Base(c.words[0].Text))
	case simple && c.name == "dirname":
		s.prints(path.Dir(c.words[0].Text))
	}
}

func (r *reader) listFiles(s *scope, c *call) {
	root := s.dir
	switch operands := c.args.Operands; {
	case len(operands) == 0:
	case len(operands) > 1:
		return
	case cmdline.Pattern(operands[0].Text):
		p, all, ok := absolute(s.dir, operands[0].Text)
		if root = p; !ok || !all {
			return
		}
	default:
		if root = s.join(operands[0].Text); root == "" {
			return
		}
	}
	s.output.add(flow{kind: names, root: root})
}

// The tests of find that leave something out; bare ones take no value. The actions that write to a file, and those that
// run a command.
var (
	filters = strings.Fields(`-name -iname -path -ipath -wholename -regex -iregex -newer -newermt -mtime -mmin -atime -amin -ctime -cmin
		-size -user -group -perm -samefile -inum -lname`)
	bareFilters   = strings.Fields(`-empty -nouser -nogroup`)
	writeActions  = strings.Fields(`-fprint -fls -fprint0 -fprintf`)
	runningAction = strings.Fields(`-exec -execdir -ok -okdir`)
)

// search is a find command line taken apart.
type search struct {
	roots    []cmdline.Word
	filtered bool   // not everything in the roots is found
	name     string // what -name asks for, if that is one name
	deletes  bool
	execs    [][]cmdline.Word
	writes   []cmdline.Word
}

func (r *reader) find(s *scope, c *call) {
	var f search
	words := c.words
	isGlobal := func(t string) bool {
		return strings.HasPrefix(t, "-O") || slices.Contains([]string{"-D", "-H", "-L", "-P"}, t)
	}
	for len(words) > 0 && isGlobal(words[0].Text) && (words[0].Text != "-D" || len(words) > 1) {
		if words[0].Text == "-D" { // it takes a value
			words = words[1:]
		}
		words = words[1:]
	}
	isRoot := func(t string) bool { return t != "" && t[0] != '-' && t != "(" && t != "!" }
	for len(words) > 0 && isRoot(words[0].Text) {
		f.roots, words = append(f.roots, words[0]), words[1:]
	}
	if len(f.roots) == 0 {
		f.roots = []cmdline.Word{cmdline.At(".", c.span)}
	}
	f.expression(words)
	r.writeAll(s, f.writes, "find")
	for _, root := range f.roots {
		r.found(s, c, f, root)
	}
	if root := s.join(f.roots[0].Text); len(f.execs) == 0 && !f.deletes && len(f.roots) == 1 && root != "" {
		s.output.add(flow{kind: names, root: root, filtered: f.filtered, hint: f.name})
	}
}

// expression reads tests and actions. A test counts as a filter only where it is
// neither negated nor one side of an "or".
func (f *search) expression(words []cmdline.Word) {
	depth, either := 0, false
	for len(words) > 0 {
		t, next := words[0].Text, ""
		if words = words[1:]; len(words) > 0 {
			next = words[0].Text
		}
		negates := t == "!" || t == "-not"
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case slices.Contains([]string{"-o", "-or", ","}, t) && depth == 0:
			either = true
		case negates && slices.Contains(filters, next):
			words = words[min(2, len(words)):]
		case negates && slices.Contains(bareFilters, next):
			words = words[1:]
		case slices.Contains(bareFilters, t):
			f.filtered = true
		case slices.Contains(filters, t) && len(words) > 0:
			if f.name = ""; (t == "-name" || t == "-iname") && !strings.ContainsAny(next, "*?[") {
				f.name = next
			}
			f.filtered = f.filtered || strings.Trim(next, "*./") != "" && !cmdline.Unknown(next)
			words = words[1:]
		case t == "-delete":
			f.deletes = true
		case slices.Contains(writeActions, t) && len(words) > 0:
			f.writes, words = append(f.writes, words[0]), words[1:]
		case slices.Contains(runningAction, t):
			argv, rest := until(words, ";", "+")
			f.execs, words = append(f.execs, argv), rest
		}
	}
	f.filtered = f.filtered && !either
}

// until are the words before one of those that end a command, and those after it.
func until(words []cmdline.Word, ends ...string) (before, after []cmdline.Word) {
	for i, w := range words {
		if slices.Contains(ends, w.Text) {
			return words[:i], words[i+1:]
		}
	}
	return words, nil
}

// found follows what happens to the files in one root.
func (r *reader) found(s *scope, c *call, f search, root cmdline.Word) {
	dir := strings.TrimSuffix(root.Text, "/")
	one, all := root.Text, dir+"/"+string(cmdline.Star) // the root itself where nothing is left out
	if f.filtered {
		one = dir + "/" + hole
		if p, _, ok := absolute(s.dir, root.Text); ok && isSystem(p) {
			one = "/usr/lib/" + hole // something of the system
		} else if f.name == ".git" {
			one = dir + "/.git"
		}
		all = one
	}
	if f.deletes {
		r.delete(s, root.With(all), true, "find -delete", c.span)
	}
	for _, argv := range f.execs {
		inner := s.within("find -exec")
		inner.input = flow{kind: something}
		r.call(inner, replaced(argv, "{}", one), c.span)
		s.output.add(inner.output)
	}
}

// fd runs a command for what it finds.
func (r *reader) fd(s *scope, c *call) {
	i := slices.IndexFunc(c.words, func(w cmdline.Word) bool {
		return slices.Contains([]string{"-x", "--exec", "-X", "--exec-batch"}, w.Text)
	})
	if i < 0 {
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
		return
	}
	var operands []string // a pattern and where to look
	for _, w := range c.words[:i] {
		if !strings.HasPrefix(w.Text, "-") {
			operands = append(operands, w.Text)
		}
	}
	one := "./" + hole
	if n := len(operands); n > 1 {
		one = strings.TrimSuffix(operands[n-1], "/") + "/"
		if strings.Trim(operands[0], ".*") != "" || cmdline.HasMark(one) {
			one += hole
		}
	}
	argv, _ := until(c.words[i+1:], ";")
	if !anyWord(argv, func(t string) bool { return strings.Contains(t, "{}") }) {
		argv = append(argv[:len(argv):len(argv)], cmdline.At("{}", c.span))
	}
	r.call(s.within("fd -x"), replaced(argv, "{}", one), c.span)
}

// replaced is argv with a text in place of a mark.
func replaced(argv []cmdline.Word, mark, text string) []cmdline.Word {
	out := slices.Clone(argv)
	for i, w := range out {
		if strings.Contains(w.Text, mark) {
			out[i] = w.With(strings.ReplaceAll(w.Text, mark, text))
		}
	}
	return out
}
