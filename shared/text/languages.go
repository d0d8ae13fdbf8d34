package text

// language is one row of what text looks like: the characters it uses, the most
// frequent first, and the encodings it is written in. Frequencies only order
// the characters; see weigh.go for what an order is worth.
type language struct {
	name      string
	encodings []string
	letters   string // small letters beyond ASCII, or all letters of a script without case
	marks     string // punctuation and signs that are as usual as letters
	kind      kind
}

// kind is how a language's characters are priced.
type kind int

const (
	_          kind = iota
	latin           // mostly ASCII letters, some accented
	alphabet        // its own alphabet
	ideographs      // thousands of characters
)

// languages is the table. Where outcomes are equally usual the earlier row
// wins. The orders are those of message catalogs of free programs and of
// published letter frequencies; an error of some places does not matter.
var languages = []language{
	{"German", western, "üäößéáí", "", latin},
	{"French", western, "éàèêôîçâïùûëœüÿæ", "", latin},
	{"Spanish", western, "óáíúéñü", "¿¡ºª", latin},
	{"Portuguese", western, "ãçáíéóúõêâôàü", "ºª", latin},
	{"Italian", western, "èàòùéìî", "", latin},
	{"Catalan", western, "óàéíèòçúïü", "·", latin},
	{"Swedish and Finnish", western, "äöåé", "", latin},
	{"Danish and Norwegian", western, "æøåéöüäòó", "", latin},
	{"Icelandic", western, "ðíáóýúæþöé", "", latin},
	{"Dutch", western, "ëéïèöüäáó", "", latin},
	{"English", western, "éïöèñçüá", "", latin},
	{"Polish", central, "łżęąśóćńźé", "", latin},
	{"Czech", central, "íářčéýžěšůúóťďň", "", latin},
	{"Slovak", central, "áíčýúéťžľšóôäňĺďŕ", "", latin},
	{"Hungarian", central, "áéíóöőüúű", "", latin},
	{"Croatian and Slovene", central, "čšžćđ", "", latin},
	{"Romanian", central, "ăţîşâ", "", latin},
	{"Turkish", []string{"windows-1254"}, "ışçüğöâîû", "", latin},
	{"Lithuanian", []string{"windows-1257"}, "šėųįžąčūę", "", latin},
	{"Latvian", []string{"windows-1257"}, "āēīšļūņķžģč", "", latin},
	{"Estonian", []string{"windows-1257"}, "äõüöšž", "", latin},
	{"Vietnamese", []string{"windows-1258"}, "đ\u0301\u0300ưâô\u0323êăơ\u0309\u0303", "", latin},
	{"Russian", cyrillic, "оеаинтрслвкпдмуязыьгбчйжхцюшщэфъё", "№", alphabet},
	{"Ukrainian", cyrillic, "аониевтрікслдпумязбйьчгжцєхфшюїщґ", "№", alphabet},
	{"Belarusian", cyrillic, "анрыіеоткслдцуямпвзгчйжёхбьшўюэф", "№", alphabet},
	{"Bulgarian", cyrillic, "аеиотнрсвдлпкмзъбягучжцшщфйхюь", "№", alphabet},
	{"Serbian and Macedonian", cyrillic, "аеионртсвкудпјмлзбгчцшњжфљћхђџѓќѕ", "", alphabet},
	{"Greek", []string{"windows-1253"}, "αοετινσρμπκηυςλίόάέήδγχωθύφβώξζψϊϋΐΰ", "·", alphabet},
	{"Hebrew", []string{"windows-1255"}, "יוהלתמרבאנשקדםפעסטגחכצןךזףץ", "״׳₪־\u200e\u200f", alphabet},
	{"Arabic", []string{"windows-1256"}, "اليمرتونةفدعسبحكهقصجأطخشغىإذضزئءظؤآًَُِّْ",
		"،؛؟ـ\u200e\u200f", alphabet},
	{"Persian and Urdu", []string{"windows-1256"}, "اینردوهتمبسشلکپخزفگجعقحچطصآظغضژذئثءؤأ",
		"،؛؟\u200c\u200e\u200f", alphabet},
	{"Japanese", []string{"shift_jis", "euc-jp"}, kanaAndKanji, "、。「」・（）！？：『』【】〜～％／\u3000", ideographs},
	{"Chinese, simplified", []string{"gb18030"}, simplified, "，。、；：？！（）《》\u3000", ideographs},
	{"Chinese, traditional", []string{"big5"}, traditional, "，。、「」；：？！（）《》『』\u3000", ideographs},
	{"Korean", []string{"euc-kr"}, hangul, "·「」※～", ideographs},
}

var (
	western  = []string{"windows-1252"}
	central  = []string{"windows-1250"}
	cyrillic = []string{"windows-1251", "koi8-r"}
)

// vowels of the alphabets that write them, for telling words from rows of
// letters.
const vowels = "аеиоуыэюяёіїєўѝαεηιουωάέήίόύώϊϋΐΰ"
