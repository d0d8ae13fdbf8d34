package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const corpus = 100_000

// sentence is one of very many memories, half of them Japanese and half English. As in
// what models keep, some words stand in nearly all of them and most in few.
func sentence(i int) string {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	pick := func(words string) string {
		all := strings.Fields(words)
		x := r.Float64()
		return all[int(x*x*float64(len(all)))]
	}
	var b strings.Builder
	for range 1 + int(r.ExpFloat64()*1.2) {
		if i%2 == 0 {
			fmt.Fprintf(&b, "ユーザーの%sは%s%s（番号%d）", pick(topicsJA), pick(valuesJA), pick(endsJA), r.IntN(corpus))
		} else {
			fmt.Fprintf(&b, "The user's favourite %s is %s, which was %s in ticket %d. ", pick(topicsEN), pick(valuesEN), pick(endsEN), r.IntN(corpus))
		}
	}
	return b.String() + fmt.Sprint(i)
}

const (
	topicsJA = "好きな色 好きな食べ物 誕生日 住所 電話番号 趣味 仕事 会社 計画 締め切り 会議 旅行 予定 家族 兄 妹 母 父 友人 猫 犬 ペット 音楽 映画 本 作家 言語 設定 サーバー データベース 通勤 朝食 運動 健康 薬 アレルギー 車 駅 学校 専攻 資格 スポーツ 天気 季節 花 温泉 料理 珈琲 日本酒 寿司"
	valuesJA = "青 赤 緑 黄色 東京 大阪 京都 札幌 福岡 りんご みかん カレー 蕎麦 うどん 三月五日 来週の月曜日 水泳 登山 読書 将棋 ピアノ 英語 中国語 太郎 花子 渋谷 横浜 神戸 仙台 柴犬 三毛猫 図書館 公園 喫茶店 病院 銀行 空港 新幹線 徒歩 毎朝六時 週末 夏休み"
	endsJA   = "です。 だそうです。 と言っていました。 に変更しました。 を希望しています。 を毎日使っています。 に興味があるようです。"
	topicsEN = "colour food birthday address phone hobby job company project deadline meeting holiday schedule family brother sister mother friend cat dog pet music film book author language editor terminal password backup server database commute breakfast exercise health medicine allergy car train school degree sport weather season flower recipe coffee whisky sushi neighbour organisation"
	valuesEN = "blue red green yellow Tokyo Osaka Kyoto apples oranges curry Monday Friday swimming climbing reading chess piano English French Go Rust Alice Bob London Paris library park hospital bank airport walking weekend summer postgres kubernetes emacs vim dark verbose metric vegetarian penicillin"
	endsEN   = "mentioned changed confirmed discussed reminded postponed cancelled recommended organised"
)

// questions are what is asked, ordinary and hard: the last ones have words that nearly
// every memory has, and as many words as count.
var questions = []string{
	"好きな色", "ユーザーの好きな色は何", "誕生日", "東京", "青い", "りんご", "会議の予定", "アレルギー 薬", "番号4711", "三毛猫",
	"favorite color", "favourite colour", "user's phone number", "meeting deadline", "what is the user's favourite food", "database backup server", "ticket 4711", "penicillin allergy", "好きな色 favorite color", "xylophone",
	"ユーザー user", "the user's favourite ticket is", "です", "ユーザーの好きな食べ物は東京の寿司と大阪のカレーだそうですと言っていました",
}

// BenchmarkRecall asks a corpus that is built once. It tells, besides the mean, how long
// half of the recalls took at most, and 99 of 100, and the longest.
func BenchmarkRecall(b *testing.B) {
	w := bigWorld(b)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if _, err := w.Recall(b.Context(), questions[i%len(questions)], 5); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for name, d := range map[string]time.Duration{"p50-ms": took[len(took)/2], "p99-ms": took[len(took)*99/100], "max-ms": took[len(took)-1]} {
		b.ReportMetric(float64(d.Microseconds())/1000, name)
	}
}

func BenchmarkRemember(b *testing.B) {
	w := bigWorld(b)
	for i := 0; b.Loop(); i++ {
		if _, _, err := w.Remember(b.Context(), Note{Content: fmt.Sprint(time.Now().UnixNano(), " ", sentence(i))}); err != nil {
			b.Fatal(err)
		}
	}
}

func bigWorld(b *testing.B) fixture {
	b.Helper()
	w := openWorld(b, filepath.Join(b.TempDir(), "big.db"), 10*corpus)
	w.fill(corpus, sentence)
	return w
}
