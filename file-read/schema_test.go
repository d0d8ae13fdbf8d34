package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// calls has a success and a failure for every tool of every vocabulary.
var calls = map[string]map[string][2]string{
	"standard": {
		"file_read":                {`{"path":"a.txt"}`, `{"path":"nothing"}`},
		"read_multiple_files":      {`{"paths":["a.txt","nothing"]}`, `{"paths":[]}`},
		"list_directory":           {`{"dir_path":"."}`, `{"dir_path":"a.txt"}`},
		"directory_tree":           {`{"path":"."}`, `{"path":"nothing"}`},
		"get_file_info":            {`{"path":"a.txt"}`, `{"path":"nothing"}`},
		"list_allowed_directories": {`{}`, `{"x":1}`},
		"find_files_by_pattern":    {`{"base_dir":".","pattern":"*"}`, `{"base_dir":".","pattern":"["}`},
		"search_content_in_files":  {`{"search_path":".","regex_pattern":"e","context_lines":1}`, `{"search_path":".","regex_pattern":"("}`},
	},
	"local-file": {
		"read_local_file":         {`{"file_path":"a.txt"}`, `{"file_path":"nothing"}`},
		"list_directory":          {`{"dir_path":"."}`, `{"dir_path":"a.txt"}`},
		"find_files_by_pattern":   {`{"base_dir":".","pattern":"*"}`, `{"base_dir":".","pattern":"["}`},
		"search_content_in_files": {`{"search_path":".","regex_pattern":"e"}`, `{"search_path":".","regex_pattern":"("}`},
	},
	"agent": {
		"read_file":  {`{"path":"a.txt"}`, `{"path":"nothing"}`},
		"list_files": {`{}`, `{"path":"a.txt"}`},
		"glob":       {`{"pattern":"*"}`, `{"pattern":"["}`},
		"grep":       {`{"pattern":"e"}`, `{"pattern":"("}`},
	},
	"filesystem": {
		"read_file":                 {`{"path":"a.txt"}`, `{"path":"nothing"}`},
		"read_text_file":            {`{"path":"a.txt","head":1}`, `{"path":"nothing"}`},
		"read_media_file":           {`{"path":"a.png"}`, `{"path":"nothing"}`},
		"read_multiple_files":       {`{"paths":["a.txt","nothing"]}`, `{"paths":[]}`},
		"list_directory":            {`{"path":"."}`, `{"path":"a.txt"}`},
		"list_directory_with_sizes": {`{"path":"."}`, `{"path":"a.txt"}`},
		"directory_tree":            {`{"path":"."}`, `{"path":"nothing"}`},
		"search_files":              {`{"path":".","pattern":"*"}`, `{"path":".","pattern":"["}`},
		"get_file_info":             {`{"path":"a.txt"}`, `{"path":"nothing"}`},
		"list_allowed_directories":  {`{}`, `{"x":1}`},
	},
}

func TestEverySuccessAndEveryFailureObeysItsSchema(t *testing.T) {
	for name, tools := range calls {
		s, _ := serve(t, name, confine.Options{}, "a.txt=one\ntwo\n", "sub/b.md=# b", "a.png=\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "link => a.txt")
		for _, tool := range s.Tools() {
			pair, ok := tools[tool.Name]
			if !ok {
				t.Errorf("%s of %s has no call in the table", tool.Name, name)
				continue
			}
			mcptest.Schema(t, tool.InputSchema())
			obeys := mcptest.Schema(t, tool.OutputSchema())
			for i, args := range pair {
				r := s.Call(context.Background(), tool.Name, json.RawMessage(args))
				if r.IsError != (i == 1) {
					t.Errorf("%s of %s with %s: isError is %t: %v", tool.Name, name, args, r.IsError, r.Content)
				}
				if err := obeys([]byte(structured(t, r))); err != nil {
					t.Errorf("%s of %s with %s: %v", tool.Name, name, args, err)
				}
			}
		}
	}
}
