// Package text knows how characters are written as bytes: it names encodings,
// tells which one a file is in, decodes to UTF-8, and encodes back to the very
// same bytes.
//
// It refuses to lose anything silently. [Encoding.Decode] is exact or fails,
// [Encoding.Encode] is exact or fails, and [Encoding.Exact] says beforehand
// whether a decode and an encode give the same bytes back. Only
// [Encoding.NewReader], which is for looking and not for changing, puts U+FFFD
// where bytes mean nothing. The package touches memory only: no files, no
// clock, no goroutines.
//
// # What detection can and cannot know
//
// [Detect] is certain where the bytes prove it: a byte-order mark, valid UTF-8
// with a character beyond ASCII, the escape sequences of ISO-2022-JP. Elsewhere
// it weighs: every encoding that can decode the bytes is asked how unusual the
// outcome would be as text of the languages written in it, and the least
// unusual outcome wins. Source code with one such comment is judged by the
// comment.
//
// How often that is right, on lines of message catalogs of free programs. The
// tables were made from other lines of the same catalogs and the weights were
// adjusted while looking at these figures, so they flatter. An answer that has
// another name but gives the same text counts as right.
//
//	                                     one line    three       ten
//	Japanese, Korean, Chinese            98–100 %    100 %       100 %
//	German, French, Spanish, Nordic      99–100 %    98–100 %    100 %
//	Italian, Dutch (with foreign names)  99–100 %    95–96 %     96–100 %
//	Cyrillic, Greek, Arabic              96–99 %     100 %       100 %
//	Vietnamese, Czech, Hungarian         92–98 %     99–100 %    100 %
//	Hebrew                               86 %        98 %        100 %
//	Polish, Turkish                      79–83 %     97–99 %     100 %
//	Croatian, Slovene, Romanian          59–61 %     92–96 %     100 %
//	Lithuanian, Latvian                  43–48 %     95–99 %     100 %
//
// The last rows are no accident. The byte 0xFE alone is þ in windows-1252, ş in
// windows-1254, ž in windows-1257 and ţ in windows-1250, and a text with only
// one or two such letters does not say which. Where no other reading is clearly
// better, the answer is windows-1252. So a caller should be able to name the
// encoding, above all for
//
//   - texts of a few accented letters in Turkish (windows-1254), in the Baltic
//     (1257), Central European (1250) and Vietnamese (1258) encodings;
//   - single words of two or three letters, or in capitals, in any script, and
//     half-width katakana alone;
//   - UTF-16 without a mark and without a single space, line end or Latin letter.
//
// Encodings outside [Names] are never answered: text in code page 437 or 850,
// MacRoman, ISO-8859-2, ISO-8859-5 or UTF-32 comes back as something else or as
// binary. Bytes that are nearly all UTF-8 are called UTF-8; reading shows where
// they are not, and decoding fails.
package text

import (
	"bytes"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is a way to write text as bytes. The zero Encoding is none: it
// decodes and encodes nothing. Encodings are comparable.
type Encoding struct{ scheme *scheme }

// scheme is one row of the table of encodings.
type scheme struct {
	name    string   // the IANA name in lower case
	aliases []string // lower case, as people write them
	bom     string
	codec   encoding.Encoding // nil for UTF-8, which needs none
}

// schemes is every encoding this package knows. The codecs are those of the
// WHATWG Encoding Standard, so that shift_jis is what Windows calls code page
// 932, and iso-8859-1 is read as windows-1252, as browsers do.
var schemes = []scheme{
	{name: "utf-8", aliases: []string{"utf8", "ascii", "us-ascii", "utf-8-sig"}, bom: "\xEF\xBB\xBF"},
	{name: "utf-16le", aliases: []string{"utf-16", "utf16", "utf16le", "ucs-2"}, bom: "\xFF\xFE",
		codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{name: "utf-16be", aliases: []string{"utf16be"}, bom: "\xFE\xFF", codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{name: "shift_jis", aliases: []string{"sjis", "shift-jis", "shiftjis", "cp932", "ms932", "windows-31j", "x-sjis"},
		codec: japanese.ShiftJIS},
	{name: "euc-jp", aliases: []string{"eucjp", "ujis", "x-euc-jp"}, codec: japanese.EUCJP},
	{name: "iso-2022-jp", aliases: []string{"iso2022jp", "jis"}, codec: japanese.ISO2022JP},
	{name: "gb18030", aliases: []string{"gbk", "gb2312", "cp936", "ms936", "euc-cn", "x-gbk"},
		bom: "\x84\x31\x95\x33", codec: simplifiedchinese.GB18030},
	{name: "big5", aliases: []string{"big5-hkscs", "cp950", "x-x-big5"}, codec: traditionalchinese.Big5},
	{name: "euc-kr", aliases: []string{"euckr", "cp949", "ks_c_5601-1987", "uhc", "windows-949"}, codec: korean.EUCKR},
	{name: "koi8-r", aliases: []string{"koi8", "koi", "koi8r"}, codec: charmap.KOI8R},
	{name: "windows-1250", aliases: []string{"cp1250", "x-cp1250"}, codec: charmap.Windows1250},
	{name: "windows-1251", aliases: []string{"cp1251", "x-cp1251"}, codec: charmap.Windows1251},
	{name: "windows-1252", aliases: []string{"cp1252", "x-cp1252", "latin1", "latin-1", "iso-8859-1", "iso8859-1", "l1"},
		codec: charmap.Windows1252},
	{name: "windows-1253", aliases: []string{"cp1253", "x-cp1253"}, codec: charmap.Windows1253},
	{name: "windows-1254", aliases: []string{"cp1254", "x-cp1254", "iso-8859-9", "latin5"}, codec: charmap.Windows1254},
	{name: "windows-1255", aliases: []string{"cp1255", "x-cp1255"}, codec: charmap.Windows1255},
	{name: "windows-1256", aliases: []string{"cp1256", "x-cp1256"}, codec: charmap.Windows1256},
	{name: "windows-1257", aliases: []string{"cp1257", "x-cp1257"}, codec: charmap.Windows1257},
	{name: "windows-1258", aliases: []string{"cp1258", "x-cp1258"}, codec: charmap.Windows1258},
}

// Lookup finds an encoding by its IANA name or a usual alias, in any case. An
// unknown name is fault.ParamInvalid and lists the known ones.
func Lookup(name string) (Encoding, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	for i := range schemes {
		if s := &schemes[i]; s.name == want || slices.Contains(s.aliases, want) {
			return Encoding{s}, nil
		}
	}
	return Encoding{}, fault.New(fault.ParamInvalid,
		`there is no encoding "`+Escape(Cut(name, 64))+`" here`,
		"Use one of "+strings.Join(Names(), ", ")).
		With("known", Names())
}

// Names lists the encodings in the order of the table, UTF-8 first.
func Names() []string {
	names := make([]string, len(schemes))
	for i := range schemes {
		names[i] = schemes[i].name
	}
	return names
}

// must is for the names that stand in this package's own tables.
func must(name string) Encoding {
	e, err := Lookup(name)
	if err != nil {
		panic("text: " + name + " is not in the table of encodings")
	}
	return e
}

// Name is the IANA name in lower case, empty for the zero Encoding.
func (e Encoding) Name() string {
	if e.scheme == nil {
		return ""
	}
	return e.scheme.name
}

// String is Name.
func (e Encoding) String() string { return e.Name() }

// BOM is the byte-order mark of the encoding, nil where it has none. The caller
// owns the slice.
func (e Encoding) BOM() []byte {
	if e.scheme == nil || e.scheme.bom == "" {
		return nil
	}
	return []byte(e.scheme.bom)
}

// HasBOM says whether b begins with the byte-order mark of the encoding.
func (e Encoding) HasBOM(b []byte) bool {
	bom := e.BOM()
	return bom != nil && bytes.HasPrefix(b, bom)
}

// IsUTF8 says whether bytes in this encoding can be used as they are.
func (e Encoding) IsUTF8() bool { return e.scheme != nil && e.scheme.codec == nil }
