package toolkit

import "testing"

func TestTheNearestNameIsWhatAModelMeant(t *testing.T) {
	known := []string{"path", "offset", "limit", "max_results", "use_gitignore", "regex_pattern", "search_path", "include_hidden"}
	for _, c := range []struct{ given, want string }{
		{"pth", "path"}, {"paht", "path"}, {"Path", "path"}, {"file_path", "path"}, {"filePath", "path"},
		{"maxResults", "max_results"}, {"max_result", "max_results"}, {"max-results", "max_results"}, {"max", "max_results"},
		{"gitignore", "use_gitignore"}, {"regexp_pattern", "regex_pattern"}, {"pattern", "regex_pattern"}, {"showHidden", ""},
		{"of", ""}, {"", ""}, {"xyzzyplugh", ""}, {"recursive", ""},
	} {
		if got := nearest(c.given, known); got != c.want {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
	}
	if got := nearest("x", nil); got != "" {
		t.Errorf("of no names %q is the nearest", got)
	}
}
