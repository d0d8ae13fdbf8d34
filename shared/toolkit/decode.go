package toolkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
)

// where is the way from the arguments to one value in them. It costs nothing
// until an error needs its words.
type where struct {
	outer *where
	name  string
	index int
	quiet bool // the value, and what is in it, is never repeated
}

func (w *where) String() string {
	if w.outer == nil {
		return w.name
	}
	step := w.name
	if step == "" {
		step = "[" + strconv.Itoa(w.index) + "]"
	}
	return dotted(w.outer.String(), step)
}

// dotted puts two parts of a path together, as in edits[0].path.
func dotted(before, after string) string {
	if before == "" || strings.HasPrefix(after, "[") {
		return before + after
	}
	return before + "." + after
}

// readArguments reads the arguments of a call as an object in which each name appears once.
// Absent arguments and null are the empty object, as clients send either for a tool without
// parameters. Beside an error, what could be read is there for the record.
func readArguments(raw json.RawMessage) (jsonx.Value, error) {
	if s := jsonx.Scan(raw); s.End() {
		return jsonx.Value{}, nil
	}
	v, err := jsonx.Parse(raw)
	if wrong, ok := errors.AsType[*jsonx.Malformed](err); ok {
		return v, fault.New(fault.ParamMalformed, wrong.Error(), "Send the arguments as one JSON object").With("byte", wrong.Byte)
	}
	if v.Kind != jsonx.Object && v.Kind != jsonx.Null {
		return v, fault.New(fault.ParamMalformed, "the arguments are "+kindWords[v.Kind]+", not an object",
			"Send the parameters by name in one JSON object")
	}
	if path, found := duplicate(v); found {
		return v, fault.New(fault.ParamMalformed, quote(path)+" stands twice in the arguments", "Give every name once").
			With("duplicate", path)
	}
	return v, nil
}

// duplicate is the first name that appears twice in one object, at any depth. JSON leaves open
// which of the two counts (RFC 8259, 4), so that what is checked and what is used could differ.
func duplicate(v jsonx.Value) (path string, found bool) {
	if v.Kind == jsonx.Object {
		var many map[string]bool // for objects where comparing each with each takes longer
		if len(v.Kids) > 12 {
			many = make(map[string]bool, len(v.Kids))
		}
		for i, kid := range v.Kids {
			if many[kid.Name] || many == nil && slices.ContainsFunc(v.Kids[:i], func(o jsonx.Value) bool { return o.Name == kid.Name }) {
				return kid.Name, true
			}
			if many != nil {
				many[kid.Name] = true
			}
		}
	}
	for i, kid := range v.Kids {
		if rest, found := duplicate(kid); found {
			step := kid.Name
			if v.Kind == jsonx.List {
				step = "[" + strconv.Itoa(i) + "]"
			}
			return dotted(step, rest), true
		}
	}
	return "", false
}

// record decodes an object.
func (s *shape) record(v jsonx.Value, into reflect.Value, at where) error {
	// Names that are wrong come before those that are missing, so that a misspelt parameter is
	// reported as such and not as the missing one.
	absent := func(v jsonx.Value) bool { return v.Kind == 0 || v.Kind == jsonx.Null }
	known := make([]string, len(s.fields))
	given := make([]jsonx.Value, len(s.fields))
	for i := range s.fields {
		known[i] = s.fields[i].Name
	}
	for _, kid := range v.Kids {
		i := slices.Index(known, kid.Name)
		if i < 0 {
			return unknown(kid.Name, known, at)
		}
		given[i] = kid
	}
	var missing []string
	for i := range s.fields {
		if f := &s.fields[i]; !f.omit && absent(given[i]) {
			missing = append(missing, (&where{outer: &at, name: f.Name}).String())
		}
	}
	if len(missing) > 0 {
		what := "the required parameter " + quote(missing[0]) + " is missing"
		if len(missing) > 1 {
			what = "the required parameters " + strings.Join(missing, ", ") + " are missing"
		}
		return fault.New(fault.ParamMissing, what, "Call again with "+strings.Join(missing, " and ")).With("missing", missing)
	}

	// What is given replaces what the tags say.
	s.defaults(into)
	for i := range s.fields {
		f := &s.fields[i]
		if absent(given[i]) {
			continue
		}
		target := into.FieldByIndex(f.Index)
		if f.pointer {
			target.Set(reflect.New(f.typ))
			target = target.Elem()
		}
		if err := f.decode(given[i], target, where{outer: &at, name: f.Name, quiet: at.quiet || f.quiet}); err != nil {
			return err
		}
	}
	return nil
}

// defaults fills in what the tags say for parameters that are not given.
func (s *shape) defaults(into reflect.Value) {
	for i := range s.fields {
		switch f := &s.fields[i]; {
		case f.fallback.IsValid():
			into.FieldByIndex(f.Index).Set(f.fallback)
		case f.form == record:
			f.defaults(into.FieldByIndex(f.Index))
		}
	}
}

func unknown(given string, known []string, at where) error {
	name := (&where{outer: &at, name: given}).String()
	do := "Send no parameters"
	if len(known) > 0 {
		do = "The parameters are " + strings.Join(known, ", ")
	}
	e := fault.New(fault.ParamInvalid, "there is no parameter "+quote(name), do).With("unknown", name).With("known", known)
	if meant := nearest(given, known); meant != "" {
		e = e.With("did_you_mean", meant)
		e.Do = fmt.Sprintf("Did you mean %q? %s", meant, do)
	}
	return e
}

// decode reads a parameter's value and checks it against the parameter's tags.
func (f *field) decode(v jsonx.Value, into reflect.Value, at where) error {
	if err := f.shape.decode(v, into, at); err != nil {
		return f.withRange(err)
	}
	switch f.form {
	case whole:
		return f.inRange(float64(into.Int()), v, at)
	case real:
		return f.inRange(into.Float(), v, at)
	case text:
		return f.among(into.String(), at)
	case list:
		if n := into.Len(); n < f.minItems || f.maxItems > 0 && n > f.maxItems {
			words := fmt.Sprintf("%d to %d", f.minItems, f.maxItems)
			switch {
			case f.maxItems == 0:
				words = fmt.Sprintf("at least %d", f.minItems)
			case f.minItems == 0:
				words = fmt.Sprintf("at most %d", f.maxItems)
			}
			what := fmt.Sprintf("the list %s has %d values, but must have %s", quote(at.String()), n, words)
			return fault.New(fault.ParamInvalid, what, "Send "+words).With("parameter", at.String()).With("count", n)
		}
		for i := 0; i < into.Len() && len(f.enum) > 0; i++ {
			if err := f.among(into.Index(i).String(), where{outer: &at, index: i, quiet: at.quiet}); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode reads a value of this shape.
func (s *shape) decode(v jsonx.Value, into reflect.Value, at where) error {
	if wanted := [...]jsonx.Kind{
		text: jsonx.String, flag: jsonx.Bool, whole: jsonx.Number, real: jsonx.Number,
		list: jsonx.List, record: jsonx.Object, table: jsonx.Object,
	}; v.Kind != wanted[s.form] {
		return s.wrongType(v, at)
	}
	switch s.form {
	case text:
		into.SetString(v.Text())
	case flag:
		into.SetBool(v.Raw[0] == 't')
	case whole:
		return s.wholeNumber(v, into, at)
	case real:
		number, err := strconv.ParseFloat(string(v.Raw), 64)
		if err != nil {
			return tooLarge(v, at)
		}
		into.SetFloat(number)
	case list:
		into.Set(reflect.MakeSlice(s.typ, len(v.Kids), len(v.Kids)))
		for i, kid := range v.Kids {
			if err := s.elem.decode(kid, into.Index(i), where{outer: &at, index: i, quiet: at.quiet}); err != nil {
				return err
			}
		}
	case record:
		return s.record(v, into, at)
	case table:
		m := reflect.MakeMapWithSize(s.typ, len(v.Kids))
		for _, kid := range v.Kids {
			if kid.Kind != jsonx.String {
				return (&shape{form: text}).wrongType(kid, where{outer: &at, name: kid.Name, quiet: at.quiet})
			}
			m.SetMapIndex(reflect.ValueOf(kid.Name).Convert(s.typ.Key()), reflect.ValueOf(kid.Text()).Convert(s.typ.Elem()))
		}
		into.Set(m)
	}
	return nil
}

// wholeNumber takes 3, and 3.0 or 3e0 as some clients write it, up to where a
// float64 still tells neighbours apart.
func (s *shape) wholeNumber(v jsonx.Value, into reflect.Value, at where) error {
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		f, _ := strconv.ParseFloat(string(v.Raw), 64)
		if math.Abs(f) > 1<<53 {
			return tooLarge(v, at)
		}
		if f != math.Trunc(f) {
			return s.wrongType(v, at)
		}
		n, err = int64(f), nil
	}
	if err != nil || into.OverflowInt(n) {
		return tooLarge(v, at)
	}
	into.SetInt(n)
	return nil
}

func tooLarge(v jsonx.Value, at where) error {
	what := fmt.Sprintf("the parameter %s is %s, which is out of range", quote(at.String()), valueWords(v, at.quiet))
	return fault.New(fault.ParamInvalid, what, "Send a number nearer to zero").With("parameter", at.String())
}

func (f *field) inRange(number float64, v jsonx.Value, at where) error {
	if f.low.text != "" && number < f.low.value || f.high.text != "" && number > f.high.value {
		return f.withRange(tooLarge(v, at))
	}
	return nil
}

// withRange adds the range of the parameter to an error about it.
func (f *field) withRange(err error) error {
	words := rangeWords(f.low.text, f.high.text)
	e := fault.From(err)
	if words == "" || e.Code != fault.ParamInvalid {
		return err
	}
	ranged := *e
	ranged.Msg = strings.TrimSuffix(e.Msg, ", which is out of range") + ", but must be " + words
	ranged.Do = "Send a number that is " + words
	e = &ranged
	if f.low.text != "" {
		e = e.With("min", f.low.value)
	}
	if f.high.text != "" {
		e = e.With("max", f.high.value)
	}
	return e
}

func rangeWords(low, high string) string {
	switch {
	case low != "" && high != "":
		return "between " + low + " and " + high
	case low != "":
		return "at least " + low
	case high != "":
		return "at most " + high
	}
	return ""
}

// among checks a text against the enum.
func (f *field) among(v string, at where) error {
	if len(f.enum) == 0 || slices.Contains(f.enum, v) {
		return nil
	}
	words := strings.Join(f.enum, ", ")
	what := fmt.Sprintf("the parameter %s is %s, but must be one of %s", quote(at.String()), textWords(v, at.quiet), words)
	e := fault.New(fault.ParamInvalid, what, "Choose one of "+words).With("parameter", at.String()).With("allowed", f.enum)
	if meant := nearest(v, f.enum); meant != "" && !at.quiet {
		e = e.With("did_you_mean", meant)
	}
	return e
}

// wrongType says what was wanted, what came, and how to write it instead.
func (s *shape) wrongType(v jsonx.Value, at where) error {
	bare := ""
	if !at.quiet {
		bare = v.Text()
	}
	_, notNumber := strconv.ParseFloat(bare, 64)
	do := "Send " + s.wanted()
	switch {
	case (s.form == whole || s.form == real) && bare != "" && notNumber == nil && len(bare) < 32,
		s.form == flag && (bare == "true" || bare == "false"):
		do = "Send " + bare + " without quotation marks"
	case s.form == text && (v.Kind == jsonx.Number || v.Kind == jsonx.Bool):
		do = "Put it in quotation marks"
	case s.form == list:
		do = "Send a list in brackets, even for one value"
	}
	what := fmt.Sprintf("the parameter %s must be %s, not %s", quote(at.String()), s.wanted(), valueWords(v, at.quiet))
	return fault.New(fault.ParamMalformed, what, do).With("parameter", at.String()).With("wanted", s.wanted()).With("got", kindWords[v.Kind])
}

// wanted is the shape in the words of an error message.
func (s *shape) wanted() string {
	return [...]string{
		text: "text", flag: "true or false", whole: "a whole number", real: "a number",
		list: "a list", record: "an object", table: "an object",
	}[s.form]
}

// kindWords are kinds in the words of an error message.
var kindWords = [...]string{"nothing", "null", "a boolean", "a number", "text", "a list", "an object"}

// valueWords are a value in the words of an error message: short, on one line, and
// only its kind where it is quiet.
func valueWords(v jsonx.Value, quiet bool) string {
	switch {
	case v.Kind == jsonx.String:
		return "the text " + textWords(v.Text(), quiet)
	case v.Kind == jsonx.Number && !quiet:
		return "the number " + clip(string(v.Raw))
	case v.Kind == jsonx.Bool && !quiet:
		return string(v.Raw)
	}
	return kindWords[v.Kind]
}

func textWords(v string, quiet bool) string {
	if quiet {
		return "that was sent"
	}
	return quote(v)
}

// quote shows text from the client so that it cannot forge a line.
func quote(s string) string { return strconv.QuoteToGraphic(clip(s)) }

const maxClip = 60 // bytes of a value repeated in an error

func clip(s string) string {
	if len(s) <= maxClip {
		return s
	}
	end := maxClip
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
