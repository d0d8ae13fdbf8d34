package text_test

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/text"
)

// writing is one way people write: real sentences and the encodings they are
// found in.
type writing struct {
	language  string
	encodings []string
	lines     []string
}

var writings = []writing{
	{"Japanese", []string{"shift_jis", "euc-jp", "iso-2022-jp"}, []string{
		"吾輩は猫である。名前はまだ無い。",
		"設定ファイルを読み込みます。",
		"この関数は引数の値を返す",
		"エラーが発生しました: ファイルが見つかりません",
		"東京都渋谷区の天気は晴れ、最高気温は25度です。",
		"ユーザー登録が完了しました。メールをご確認ください。",
		"データベース接続処理",
		"会議は午後三時から始まります。",
	}},
	{"Chinese, simplified", []string{"gb18030"}, []string{
		"人人生而自由，在尊严和权利上一律平等。",
		"读取配置文件，如果失败则返回错误",
		"这个函数计算两个数的和",
		"今天北京的天气很好，我们去公园吧。",
		"数据库连接失败，请检查网络设置。",
		"初始化变量",
		"用户登录成功",
	}},
	{"Chinese, traditional", []string{"big5"}, []string{
		"人人生而自由，在尊嚴和權利上一律平等。",
		"讀取設定檔，如果失敗則傳回錯誤",
		"今天臺北的天氣很好，我們去公園吧。",
		"這個函數計算兩個數的和",
	}},
	{"Korean", []string{"euc-kr"}, []string{
		"모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
		"설정 파일을 읽어 옵니다.",
		"오류가 발생했습니다: 파일을 찾을 수 없습니다",
		"안녕하세요, 오늘 날씨가 정말 좋네요.",
		"두 수의 합을 계산하는 함수",
		"데이터베이스 연결 처리",
	}},
	{"Russian", []string{"windows-1251", "koi8-r"}, []string{
		"Все люди рождаются свободными и равными в своём достоинстве и правах.",
		"Ошибка: файл не найден",
		"Функция возвращает сумму двух чисел",
		"Съешь же ещё этих мягких французских булок, да выпей чаю.",
		"Настройка соединения с базой данных",
	}},
	{"Ukrainian", []string{"windows-1251"}, []string{
		"Всі люди народжуються вільними і рівними у своїй гідності та правах.",
		"Помилка: файл не знайдено",
	}},
	{"Bulgarian", []string{"windows-1251"}, []string{
		"Всички хора се раждат свободни и равни по достойнство и права.",
	}},
	{"German", []string{"windows-1252"}, []string{
		"Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
		"Größe der Datei überschreitet das zulässige Maß",
		"Für die Änderung wird ein Schlüssel benötigt.",
		"Straße",
	}},
	{"French", []string{"windows-1252"}, []string{
		"Tous les êtres humains naissent libres et égaux en dignité et en droits.",
		"Erreur : le fichier n’a pas été trouvé à l’emplacement indiqué.",
		"Le cœur a ses raisons que la raison ne connaît point.",
		"déjà vu",
		"café",
	}},
	{"Spanish", []string{"windows-1252"}, []string{
		"¿Dónde está el archivo de configuración? ¡No se encontró!",
		"El niño comió una manzana en la montaña.",
	}},
	{"Portuguese", []string{"windows-1252"}, []string{
		"Não foi possível abrir o arquivo de configuração.",
	}},
	{"Swedish", []string{"windows-1252"}, []string{
		"Alla människor är födda fria och lika i värde och rättigheter.",
		"Filen kunde inte öppnas på grund av ett fel",
	}},
	{"Danish", []string{"windows-1252"}, []string{
		"Alle mennesker er født frie og lige i værdighed og rettigheder.",
		"Filen kunne ikke åbnes på grund af en fejl på næste linje",
	}},
	{"Icelandic", []string{"windows-1252"}, []string{
		"Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum.",
	}},
	{"English with typographic marks", []string{"windows-1252"}, []string{
		"It’s a “smart” quote — and a naïve one…",
		"Copyright © 2024 Example® Inc. 20 °C ± 5 £10",
	}},
	{"Greek", []string{"windows-1253"}, []string{
		"Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
		"Σφάλμα: το αρχείο δεν βρέθηκε",
		"Καλημέρα κόσμε",
	}},
	{"Turkish", []string{"windows-1254"}, []string{
		"Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
		"Dosya bulunamadı, lütfen yapılandırmayı kontrol ediniz. Çıkış için bir tuşa basınız.",
	}},
	{"Polish", []string{"windows-1250"}, []string{
		"Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
		"Zażółć gęślą jaźń",
		"Błąd: nie można otworzyć pliku",
	}},
	{"Czech", []string{"windows-1250"}, []string{
		"Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.",
		"Příliš žluťoučký kůň úpěl ďábelské ódy",
	}},
	{"Hungarian", []string{"windows-1250"}, []string{
		"Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az időjárás gyönyörű, a fű zöld.",
	}},
	{"Hebrew", []string{"windows-1255"}, []string{
		"כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
		"שגיאה: הקובץ לא נמצא",
		"שלום עולם",
	}},
	{"Arabic", []string{"windows-1256"}, []string{
		"يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.",
		"خطأ: لم يتم العثور على الملف",
		"مرحبا بالعالم",
	}},
	{"Lithuanian", []string{"windows-1257"}, []string{
		"Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Jiems suteiktas protas ir sąžinė ir jie turi elgtis vienas kito atžvilgiu kaip broliai.",
		"Įvyko klaida: nepavyko atidaryti nurodyto failo, nes jį šiuo metu naudoja kita programa, todėl kreipkitės į sistemos administratorių.",
	}},
	{"Latvian", []string{"windows-1257"}, []string{
		"Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās.",
	}},
}

func TestOneLineOrManyInTheirEncoding(t *testing.T) {
	for _, w := range writings {
		for _, name := range w.encodings {
			for _, line := range w.lines {
				expect(t, w.language+", one line", name, line)
				expect(t, w.language+", one line with its end", name, line+"\r\n")
				expect(t, w.language+", in a source file", name, sourceWith(line))
			}
			expect(t, w.language+", all lines", name, strings.Join(w.lines, "\n"))
			expect(t, w.language+", a long text", name, strings.Repeat(strings.Join(w.lines, "\n")+"\n", 100))
		}
	}
}

func sourceWith(comment string) string {
	return "package main\n\nimport \"fmt\"\n\n// " + comment + "\nfunc main() {\n\tfmt.Println(\"hello, world\", 1<<3)\n}\n"
}

func expect(t *testing.T, what, name, s string) {
	t.Helper()
	b := encode(t, name, s)
	if got := text.Detect(b, true); got.Encoding.Name() != name || got.Binary {
		t.Errorf("%s (%s): found %q, binary %v: %.60q", what, name, got.Encoding.Name(), got.Binary, s)
	}
}

func encode(t *testing.T, name, s string) []byte {
	t.Helper()
	e, err := text.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Encode(s, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestATextCutWithinACharacterIsStillText(t *testing.T) {
	for _, w := range writings {
		for _, name := range append([]string{"utf-8"}, w.encodings...) {
			b := encode(t, name, strings.Join(w.lines, "\n"))
			for end := len(b) - 5; end < len(b); end++ {
				if got := text.Detect(b[:end], false); got.Encoding.Name() != name {
					t.Errorf("%s (%s), cut at %d of %d: found %q", w.language, name, end, len(b), got.Encoding.Name())
				}
			}
		}
	}
}

func TestVietnameseInItsEncodingIsFoundWhereItsAccentsStandApart(t *testing.T) {
	// windows-1258 holds the five tones as separate, combining characters.
	expect(t, "Vietnamese", "windows-1258", "Tâ\u0301t ca\u0309 mo\u0323i ngươ\u0300i sinh ra đê\u0300u đươ\u0323c tư\u0323 do va\u0300 bi\u0300nh đă\u0309ng.")
}

func TestShortTextsThatDoNotSayTheirEncodingAreWindows1252(t *testing.T) {
	for _, c := range []struct{ what, truth, text string }{
		{"one accented letter", "windows-1252", "naïve"},
		{"the same letter at the same place", "windows-1250", "málo"},
		{"one letter of Turkish", "windows-1254", "şey"},
		{"one letter of Lithuanian", "windows-1257", "žmogus"},
		{"one letter of Croatian", "windows-1250", "čaj"},
	} {
		b := encode(t, c.truth, c.text)
		if got := text.Detect(b, true); got.Encoding.Name() != "windows-1252" {
			t.Errorf("%s: %q, found %q", c.what, c.text, got.Encoding.Name())
		}
	}
}

func TestUnicodeTexts(t *testing.T) {
	for _, c := range []struct {
		what, bytes, name string
	}{
		{"the empty file", "", "utf-8"},
		{"ASCII", "hello\n", "utf-8"},
		{"a mark and nothing else", "\xEF\xBB\xBF", "utf-8"},
		{"a mark and text", "\xEF\xBB\xBFhello", "utf-8"},
		{"one character beyond ASCII", "é", "utf-8"},
		{"emoji", "done 👍🏽\n", "utf-8"},
		{"a terminal log with escape codes", "\x1b[31mred\x1b[0m\r\n", "utf-8"},
		{"one stray control character in a longer text", "a field\x1fand another field, separated\n", "utf-8"},
		{"a text with form feeds and an end mark of DOS", "page 1\n\fpage 2\n\x1a", "utf-8"},
		{"words that begin like an executable, a bitmap, a GIF", "MZ and BM and GIF89a are words here\n", "utf-8"},
		{"a log with one broken byte among many good ones", strings.Repeat("Grüße aus Köln\n", 20) + "kaputt: \xFF\n", "utf-8"},
		{"UTF-16 with its mark", "\xFF\xFEh\x00i\x00", "utf-16le"},
		{"UTF-16 with the other mark", "\xFE\xFF\x00h\x00i", "utf-16be"},
		{"a mark of UTF-16 and nothing else", "\xFF\xFE", "utf-16le"},
		{"UTF-16 without a mark", "h\x00e\x00l\x00l\x00o\x00\r\x00\n\x00", "utf-16le"},
		{"UTF-16 the other way round, without a mark", "\x00h\x00e\x00l\x00l\x00o\x00\n", "utf-16be"},
		{"GB18030 with its mark", "\x84\x31\x95\x33hello", "gb18030"},
	} {
		if got := text.Detect([]byte(c.bytes), true); got.Encoding.Name() != c.name || got.Binary {
			t.Errorf("%s: found %q, binary %v", c.what, got.Encoding.Name(), got.Binary)
		}
	}
}

func TestEveryLanguageInUTF16WithoutAMark(t *testing.T) {
	for _, w := range writings {
		for _, name := range []string{"utf-16le", "utf-16be"} {
			expect(t, w.language, name, strings.Join(w.lines, "\n")+"\n")
			expect(t, w.language+", in a source file", name, sourceWith(w.lines[0]))
		}
	}
}

func TestBinaries(t *testing.T) {
	noise := make([]byte, 4096)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(strings.Repeat("some text\n", 100)))
	_ = z.Close()
	for _, c := range []struct {
		what, bytes, mime string
	}{
		{"an ELF header", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00", "application/x-executable"},
		{"a PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x06\x00\x00\x00", "image/png"},
		{"a ZIP", "PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00!\x00\xb0\xbf\x8a\x9e", "application/zip"},
		{"a gzip", zipped.String(), "application/gzip"},
		{"an SQLite database", "SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20", "application/vnd.sqlite3"},
		{"a PDF with bytes beyond ASCII", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "application/pdf"},
		{"a PDF of ASCII only", "%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n", "application/pdf"},
		{"a JPEG", "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01", "image/jpeg"},
		{"a WebAssembly module", "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60", "application/wasm"},
		{"random bytes", string(noise), "application/octet-stream"},
		{"text with one NUL", "hello\x00world, this is not text for anybody\n", "application/octet-stream"},
		{"names with NUL between them", "alpha\x00beta\x00gamma\x00delta\x00one\x00two\x00", "application/octet-stream"},
		{"names with NUL between them, even lengths", "ab\x00cd\x00efg\x00hijk\x00lm\x00no", "application/octet-stream"},
		{"UTF-32, which is not known here", "\xff\xfe\x00\x00h\x00\x00\x00i\x00\x00\x00", "application/octet-stream"},
		{"control characters", "\x01\x02\x03\x04", "application/octet-stream"},
		{"zeros", strings.Repeat("\x00", 512), "application/octet-stream"},
	} {
		got := text.Detect([]byte(c.bytes), true)
		if !got.Binary || got.MIME != c.mime || got.Encoding != (text.Encoding{}) {
			t.Errorf("%s: binary %v, %q, encoding %q", c.what, got.Binary, got.MIME, got.Encoding.Name())
		}
	}
}

func TestRandomBytesAreNotText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{256, 1024, 4096} {
		for range 300 {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(1 + r.IntN(255)) // no NUL, which would make it easy
			}
			if got := text.Detect(b, true); !got.Binary {
				t.Fatalf("%d random bytes are %q: %x", size, got.Encoding.Name(), b)
			}
		}
	}
}

func TestTypesOfText(t *testing.T) {
	page := "<!DOCTYPE html>\n<html><head><title>日本語のページ</title></head></html>\n"
	for _, c := range []struct{ what, bytes, mime string }{
		{"plain text", "hello\n", "text/plain"},
		{"the empty file", "", "text/plain"},
		{"HTML", page, "text/html"},
		{"HTML in Shift_JIS", string(encode(t, "shift_jis", page)), "text/html"},
		{"HTML in UTF-16", string(encode(t, "utf-16be", page)), "text/html"},
		{"JSON", `{"a": [1, 2, 3]}`, "application/json"},
		{"a shell script", "#!/bin/sh\necho hi\n", "text/x-shellscript"},
		{"SVG", `<svg xmlns="http://www.w3.org/2000/svg"></svg>`, "image/svg+xml"},
		{"text that begins like an executable", "MZ is where it begins\n", "text/plain"},
	} {
		if got := text.Detect([]byte(c.bytes), true); got.Binary || got.MIME != c.mime {
			t.Errorf("%s: binary %v, %q", c.what, got.Binary, got.MIME)
		}
	}
}
