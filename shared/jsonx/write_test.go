package jsonx

import (
	"math"
	"testing"
	"testing/quick"
)

func TestTextIsNotEscapedForHTML(t *testing.T) {
	result := struct {
		A string `json:"a"`
	}{"a<b> & c\u2028"}
	raw, err := Append(nil, result)
	if err != nil || string(raw) != `{"a":"a<b> & c\u2028"}` {
		t.Errorf("%s %v", raw, err)
	}
}

// mixed is all that quick can make up; its lists and tables are never nil.
type mixed struct {
	Text   string               `json:"text"`
	Maybe  string               `json:"maybe,omitempty"`
	Some   *string              `json:"some,omitempty"`
	Lists  [][]string           `json:"lists"`
	Tables map[string][]float64 `json:"tables,omitempty"`
	Zero   int16                `json:"zero,omitzero"`
	Small  uint8                `json:"small,omitempty"`
	Data   []byte               `json:"data"`
	Pair   [2]float32           `json:"pair"`
	Yes    bool                 `json:"yes,omitempty"`
	Inner  struct {
		Runes []rune `json:"runes"`
	} `json:"inner,omitempty"`
	Kids []mixed `json:"kids,omitempty"`
}

func TestResultsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	same := func(m mixed) bool {
		got, err := Append(nil, &m)
		want, theirs := Marshal(m)
		if err != nil || theirs != nil || string(got) != string(want) {
			t.Logf("%s %v\n%s %v", got, err, want, theirs)
			return false
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 50}); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	type odd struct {
		Share []map[string]*float64 `json:"share"`
	}
	nan := math.NaN()
	m := odd{[]map[string]*float64{{"a": &nan}}}
	if raw, err := Append(nil, m); err == nil {
		t.Errorf("%s", raw)
	}
}
