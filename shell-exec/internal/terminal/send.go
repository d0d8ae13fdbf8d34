package terminal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Input is what to type.
type Input struct {
	ID           string
	Text         string
	Execute      bool     // Enter after it
	ControlCodes bool     // Text holds control codes
	RawBytes     bool     // Text is hexadecimal
	Paste        bool     // between the marks of a paste, where the program knows them
	Keys         []string // pressed after Text: Enter, Up, F5, Ctrl+C, Alt+b, …
	SendTo       Guard    // what must be in the foreground; "" or * is anything

	// Judge is asked before anything is sent that a shell may run. Its error refuses all of the input. Without a judge
	// nothing is sent that would have to be judged.
	Judge func(Pending) (Verdict, error)
}

// Verdict is what a judge says of what it allows.
type Verdict struct {
	Complete bool     // the lines make whole commands; else what is typed next is put together with them
	Lasting  []string // what of them changes the meaning of later ones: it is part of Pending.Past from now on
	Moves    bool     // the shell may be in another directory once it has run them
}

// Pending is what would be typed. To be safe, Each of its texts must be allowed.
type Pending struct {
	Text       string   // all lines that a shell would put together, those of earlier inputs too
	Lines      []string // of Text
	Unknown    bool     // Text is not all that may be run, or something else is
	Completes  bool     // something may be run now; else only the line becomes unknown
	Ends       bool     // and an incomplete command too: its end was typed
	Foreground Process  // who has the keyboard
	Shell      bool     // and it runs what is typed, as far as can be seen
	Dir        string   // where it works; "" where that cannot be seen

	Kind string   // of the session's shell, as Request.Shell
	Env  []string // of the session's program at its start
	Past []string // what was Lasting of what was typed before, oldest first
}

// Each has every text judged that a shell may come to run, until one is refused. A shell runs what is whole before it
// reads on, and a command among the lines may read those after it: so it is, from each line on, as many lines as make
// whole commands. judge says whether its text does; of one that does not nothing is run. complete says that all lines
// together do.
func (p Pending) Each(judge func(text string) (whole bool, err error)) (complete bool, err error) {
	lines := p.Lines
	if len(lines) == 0 {
		lines = []string{p.Text}
	}
	for from := range lines {
		for to := len(lines); to > from; to-- {
			whole, err := judge(strings.Join(lines[from:to], "\n"))
			if err != nil {
				return false, err
			}
			if whole {
				complete = complete || from == 0 && to == len(lines)
				break
			}
		}
	}
	return complete, nil
}

// Sent is what was typed.
type Sent struct {
	Bytes      []byte // as they were sent
	Foreground Process
	Judged     bool
	Time       time.Time
}

// maxSent is how much one input may be, in bytes.
const maxSent = 1 << 20

// Send types into a session. Inputs of several callers never mix.
func (s *Sessions) Send(ctx context.Context, in Input) (Sent, error) {
	t, err := s.find(in.ID)
	if err != nil {
		return Sent{}, err
	}
	p, err := in.encode(t)
	if err != nil {
		return Sent{}, err
	}
	select {
	case t.keys <- struct{}{}:
	case <-ctx.Done():
		return Sent{}, ctx.Err()
	case <-t.over:
		return Sent{}, t.gone()
	}
	defer func() { <-t.keys }()
	if t.exited() {
		return Sent{}, t.gone()
	}

	sent := Sent{Time: t.now()}
	fg := t.foreground()
	if err := in.SendTo.check(fg); err != nil {
		return sent, err
	}
	sent.Foreground = fg.process()
	n, err := t.sendParts(ctx, p, fg, in)
	if err == nil && n < len(p) {
		var m int
		m, err = t.sendJudged(ctx, p[n:], in, n == 0)
		sent.Judged, n = true, n+m
	}
	sent.Bytes = p[:n]
	return sent, err
}

// encode is the bytes of an input.
func (in Input) encode(t *session) (p []byte, err error) {
	modes := t.screen.View().Modes
	switch {
	case in.ControlCodes && in.RawBytes || in.Paste && (in.ControlCodes || in.RawBytes):
		return nil, fault.New(fault.ParamInvalid, "an input is read in one way only", "Give one of control_codes, raw_bytes and paste")
	case in.ControlCodes:
		p, err = codes(in.Text)
	case in.RawBytes:
		p, err = fromHex(in.Text)
	case in.Paste:
		if p = asTyped(in.Text); !modes.BracketedPaste {
			break
		}
		if !pasteable(p) {
			return nil, fault.New(fault.ParamInvalid, "a control character cannot be pasted",
				"Leave it out, or send the text without paste").With("parameter", "input")
		}
		p = append(append([]byte(pasteBegins), p...), pasteEnds...)
	default:
		p = asTyped(in.Text)
	}
	if err != nil {
		return nil, err
	}
	pressed, err := keys(in.Keys, modes.ApplicationCursor)
	if err != nil {
		return nil, err
	}
	p = append(p, pressed...)
	if in.Execute {
		p = append(p, '\r')
	}
	if len(p) > maxSent {
		return nil, fault.New(fault.LimitReached, fmt.Sprintf("the input is %d bytes", len(p)), "Write it to a file, or send it in parts").
			With("limit_bytes", maxSent)
	}
	return p, nil
}

// sendParts types what goes to a program that is not a shell and certainly reads it, and returns how much that was; s.keys
// is held. The part that a shell could run is sent only when the program has read what is before it: a program that does
// not read leaves all to the shell, which reads it when the program has ended.
func (s *session) sendParts(ctx context.Context, p []byte, fg foreground, in Input) (n int, err error) {
	s.typing.Lock()
	defer s.typing.Unlock()
	for n < len(p) && s.reads(fg) {
		if n == 0 {
			s.remember()
		}
		part := p[n:] // up to the next key that may run something; the first one belongs to it
		if i := bytes.IndexAny(part[1:], running); i >= 0 {
			part = part[:i+1]
		}
		m, err := s.line.write(ctx, part)
		n += m
		if err != nil {
			s.typed = s.typed.read(part[:m], s.keyboard(fg)).after(true).doubted(stuck)
			return n, err
		}
		taken, certain := s.taken(ctx, fg)
		now := s.foreground()
		switch stays := now.group == fg.group; {
		case taken && stays:
		case certain: // it was the last thing that the program read
			return n, nil
		default:
			s.mayBeTyped(part, now, taken, stays)
			return n, nil
		}
		if n == len(p) {
			break
		}
		if err := in.SendTo.check(now); err != nil {
			return n, err
		}
	}
	return n, nil
}

// mayBeTyped counts a part that was written as in the shell's line: it was not taken, or not certainly by the program
// that it was for, which may be gone.
func (s *session) mayBeTyped(part []byte, now foreground, taken, stays bool) {
	s.typed = s.typed.read(part, s.keyboard(now)).after(true)
	switch {
	case taken:
		s.typed = s.typed.doubted(unknown)
	case stays:
		s.ahead = now.group
	}
}

// running are the keys that may have a shell run something.
const running = "\r\n\x0f\x11\x16\x18\x1b"

// reads says that who has the keyboard is a program that takes what is typed as it comes, as far as can be seen, and
// that nothing is before it which a shell may run.
func (s *session) reads(fg foreground) bool {
	m, err := s.line.modes()
	if err != nil || m.canonical || fg.shell() || s.stray {
		return false
	}
	left, known := s.line.unread()
	if known && !left && s.ahead == fg.group {
		s.typed, s.ahead = typed{}, 0 // it has taken by now what was typed ahead of it
	}
	return known && !left && s.typed.blank()
}

// taken waits for what was typed to be read. certain says that it was read by who was in the foreground: who is not there
// cannot read. A program that ends by a key is gone soon after it, so the look is often.
func (s *session) taken(ctx context.Context, fg foreground) (taken, certain bool) {
	const limit, often = 250 * time.Millisecond, 20 * time.Millisecond
	for pause, waited := 50*time.Microsecond, time.Duration(0); ; waited += pause {
		left, known := s.line.unread()
		if known && !left {
			group, err := s.line.group()
			return true, err == nil && group == fg.group
		}
		if !known || waited > limit || ctx.Err() != nil {
			return false, false
		}
		if waited > often {
			pause *= 2
		}
		time.Sleep(pause)
	}
}

// sendJudged types what a shell may read, once the judge has allowed it. first says that nothing of the input was sent.
func (s *session) sendJudged(ctx context.Context, p []byte, in Input, first bool) (n int, err error) {
	var verdict *allowed
	if p[0] != 'C'-'@' && !s.attended(ctx) {
		s.interrupted, s.typed = nil, s.typed.doubted(unknown)
	}
	s.moving = s.moving && !s.arrives(ctx)
	const rounds = 5
	for range rounds {
		n, ask, err := s.sendIf(ctx, p, in.SendTo, verdict, first)
		if ask == nil {
			return n, err
		}
		// Who came to the keyboard while a person thought about it may read it otherwise: then it is asked again.
		if in.Judge == nil {
			return 0, fault.New(fault.Forbidden, "there is nobody to judge what is typed", "Report this")
		}
		v, err := in.Judge(*ask)
		if err != nil {
			return 0, err
		}
		verdict = &allowed{v, *ask}
	}
	return 0, fault.New(fault.Exists, "what has the keyboard changes all the time; nothing was sent",
		"Wait until the terminal is quiet, and send it again")
}

// allowed is what the judge has allowed.
type allowed struct {
	Verdict
	pending Pending
}

// misses says that what was allowed is not q: it may run something else, or elsewhere.
func (a *allowed) misses(q Pending) bool {
	p := a.pending
	return p.Text != q.Text || q.Unknown && !p.Unknown || q.Completes && !p.Completes ||
		q.Ends && !p.Ends || q.Shell && !p.Shell || p.Dir != q.Dir
}

// maxPast is how many bytes of texts that last are kept in mind.
const maxPast = 64 << 10

// sendIf types p if that is harmless or allowed; else it says what to ask.
func (s *session) sendIf(ctx context.Context, p []byte, guard Guard, verdict *allowed, first bool) (n int, ask *Pending, err error) {
	s.typing.Lock()
	defer s.typing.Unlock()
	fg := s.foreground()
	if err := guard.check(fg); err != nil {
		return 0, nil, err
	}
	if s.stray {
		s.stray, s.typed = false, s.typed.doubted(stuck)
	}
	ahead := 0
	if !fg.shell() && (s.typed.blank() || s.ahead == fg.group) {
		ahead = fg.group
	}
	r := s.typed.read(p, s.keyboard(fg))
	pending := r.pending(fg, s.tree.PID())
	pending.Kind, pending.Env, pending.Past = s.request.Shell, s.request.Command.Env, s.past
	if s.moving {
		pending.Dir = "" // it may be another one when the shell comes to read this
	}
	lines, known := r.all()
	harmless := known && (!r.completes || strings.Trim(strings.Join(lines, ""), " ") == "") // nothing is run, and the line stays known
	if !harmless && (verdict == nil || verdict.misses(pending)) {
		return 0, &pending, nil
	}
	if verdict == nil {
		verdict = &allowed{}
	}
	// What would have to be kept in mind and does not fit is refused: what follows it could not be judged.
	size := 0
	for _, text := range append(slices.Clip(s.past), verdict.Lasting...) {
		size += len(text)
	}
	if len(verdict.Lasting) > 0 && size > maxPast {
		return 0, nil, fault.New(fault.LimitReached, "so much was defined in this terminal that more cannot be kept in mind",
			"Open another terminal").With("limit", maxPast)
	}
	if first {
		s.remember()
	}
	s.ahead = ahead
	n, err = s.writeJudged(ctx, p, r.keyboard)
	if n < len(p) {
		r = s.typed.read(p[:n], r.keyboard)
	}
	s.typed = r.after(verdict.Complete)
	s.past = append(slices.Clip(s.past), verdict.Lasting...)
	s.moving = s.moving || verdict.Moves
	return n, nil, err
}

// writeJudged types p, and after every ^C waits for the shell to have attended to it: meanwhile it loses keys.
func (s *session) writeJudged(ctx context.Context, p []byte, k keyboard) (n int, err error) {
	for n < len(p) {
		if n > 0 && !s.attended(ctx) && p[n] != 'C'-'@' {
			return n, fault.New(fault.TimedOut, fmt.Sprintf("the program has not attended to ^C yet: %d bytes of %d were sent", n, len(p)),
				"Look at the terminal, and send the rest").With("bytes_sent", n).With("bytes", len(p))
		}
		end := len(p)
		if i := bytes.IndexByte(p[n:], 'C'-'@'); i >= 0 && k.interrupts {
			end = n + i + 1
			s.interrupted = &interrupt{s.bytesWritten(), k.canonical}
		}
		m, err := s.line.write(ctx, p[n:end])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// interrupt is a ^C that was sent, and how much had been written before.
type interrupt struct {
	written   int64
	canonical bool
}

// attended waits until nothing of an interrupt is left to do for a shell that has the keyboard. A shell says something
// then; one that says nothing may wait for one more key first, which it throws away.
func (s *session) attended(ctx context.Context) bool {
	if s.interrupted == nil {
		return true
	}
	const limit = time.Second
	for pause, waited := 100*time.Microsecond, time.Duration(0); waited < limit && ctx.Err() == nil; pause *= 2 {
		left, _ := s.line.unread() // which also moves what was typed to where it interrupts
		spoke := s.interrupted.canonical || s.bytesWritten() > s.interrupted.written
		if fg := s.foreground(); !left && (!fg.shell() || spoke && fg.listens()) {
			s.interrupted = nil
			return true
		}
		rest(ctx, pause)
		waited += pause
	}
	return false
}

// listens says that one of those that could read waits for something to read.
func (f foreground) listens() bool {
	return slices.ContainsFunc(f.readers, func(m member) bool { return listens(m.pid) })
}

// arrives waits a little for the shell to have run all that was typed, and says whether it waits for more.
func (s *session) arrives(ctx context.Context) bool {
	const limit = time.Second
	for pause, waited := 100*time.Microsecond, time.Duration(0); waited < limit && ctx.Err() == nil; pause *= 2 {
		left, known := s.line.unread()
		fg := s.foreground()
		if known && !left && fg.shell() && fg.listens() {
			return true
		}
		if len(fg.readers) > 0 && !fg.shell() {
			return false
		}
		rest(ctx, pause)
		waited += pause
	}
	return false
}

// pending is what to ask. shell is the first process of the session.
func (r reading) pending(fg foreground, shell int) Pending {
	lines, known := r.all()
	if r.completes && len(r.next.text) > 0 && r.next.doubt == wild {
		lines = append(lines, string(r.next.text))
	}
	p := Pending{Text: strings.Join(lines, "\n"), Lines: lines, Unknown: !known, Completes: r.completes, Ends: r.ends,
		Foreground: fg.process(), Shell: fg.shell()}
	if p.Shell && p.Foreground.PID != 0 {
		shell = p.Foreground.PID
	}
	p.Dir = directory(shell)
	return p
}

// modes are how a terminal treats what is typed.
type modes struct {
	canonical bool // whole lines are given out
	signals   bool // ^C interrupts, and throws away what was typed and not read
	usual     bool // all else is as at the start, but for what a line editor changes
}

// keyboard is how what is typed now is read.
func (s *session) keyboard(fg foreground) keyboard {
	m, err := s.line.modes()
	if err != nil {
		return keyboard{}
	}
	k := keyboard{canonical: m.canonical, usual: m.usual, interrupts: m.signals, unicode: s.unicode}
	for _, r := range fg.readers {
		k.interrupts = k.interrupts && !ignoresInterrupt(r.pid)
	}
	k.pastes = s.screen.View().Modes.BracketedPaste && !m.canonical
	return k
}

// answer types what programs asked the terminal for, until it ends. What nobody reads is part of the next line that
// is typed.
func (s *session) answer() {
	reply := func(p []byte) {
		s.typing.Lock()
		defer s.typing.Unlock()
		fg := s.foreground()
		asks := fg.process().Name == "fish" // and waits for its answer
		_, err := s.line.write(context.Background(), p)
		taken := false
		if err == nil && (asks || !fg.shell()) {
			taken, _ = s.taken(context.Background(), fg)
		}
		s.stray = s.stray || !taken
	}
	for {
		select {
		case <-s.replies:
			if p := s.screen.Replies(); len(p) > 0 {
				reply(p)
			}
		case <-s.hung:
			return
		}
	}
}
