package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
)

// The credentials below are made up; those of repeated letters are built so that
// no scanner takes this file for a leak.
var (
	letters = strings.Repeat("a1B2", 12)
	jwt     = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	awsID   = "AKIA" + "IOSFODNN7EXAMPLE"
	awsKey  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	pem     = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
)

func digestOf(s string) string {
	return fmt.Sprintf(`{"sha256":"%x","bytes":%d}`, sha256.Sum256([]byte(s)), len(s))
}

func text(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestArgumentsAreMasked(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, c := range []struct{ name, arguments, want string }{
		{"ordinary values stay", `{"path":"src/a.go","limit":10,"deep":[true,null,1.50]}`, `{"deep":[true,null,1.50],"limit":10,"path":"src/a.go"}`},
		{"big and exact numbers stay", `[1e400,9007199254740993]`, `[1e400,9007199254740993]`},
		{"no arguments", ``, ``},
		{"a content parameter becomes a digest, however short", `{"content":"hi"}`, `{"content":` + digestOf("hi") + `}`},
		{"a content parameter within a list of objects", `{"edits":[{"content":"hi"}]}`, `{"edits":[{"content":` + digestOf("hi") + `}]}`},
		{"a content parameter that is no text", `{"content":["a",1]}`, `{"content":` + digestOf(`["a",1]`) + `}`},
		{"256 bytes stay", `"` + long[1:] + `"`, `"` + long[1:] + `"`},
		{"257 bytes become a digest", `"` + long + `"`, digestOf(long)},
		{"a long number becomes a digest", strings.Repeat("7", 300), digestOf(strings.Repeat("7", 300))},
		{"a password before a value that is too long", `["mysqladmin","password","hunter2","` + long + `"]`, `["mysqladmin","password","[masked]",` + digestOf(long) + `]`},
		{"a long key is not kept", `{"` + long + `":1}`, `{"[masked] ` + fmt.Sprintf("%x", sha256.Sum256([]byte(long))) + `":1}`},

		{"a JSON web token", text(jwt), `"[masked]"`},
		{"a JSON web token within a text", text("see " + jwt + " there"), `"see [masked] there"`},
		{"an AWS key id", text(awsID), `"[masked]"`},
		{"an AWS secret key", text(awsKey), `"[masked]"`},
		{"an AWS secret key in a command", text("aws configure set x " + awsKey), `"aws configure set x [masked]"`},
		{"a GitHub token", text("ghp_" + letters[:36]), `"[masked]"`},
		{"a fine-grained GitHub token", text("github_pat_" + letters[:22] + "_" + letters), `"[masked]"`},
		{"a GitHub token in a clone URL", text("git clone https://ghs_" + letters[:36] + "@github.com/o/r"), `"git clone https://[masked]@github.com/o/r"`},
		{"a GitLab token", text("glpat-" + letters[:20]), `"[masked]"`},
		{"a Slack token", text("xoxb-" + letters), `"[masked]"`},
		{"a Slack webhook", text("https://hooks.slack.com/services/T0/B0/" + letters), `"https://hooks.slack.com/services/[masked]"`},
		{"an OpenAI key", text("sk-proj-" + letters), `"[masked]"`},
		{"an Anthropic key", text("sk-ant-api03-" + letters), `"[masked]"`},
		{"a Stripe key", text("sk_live_" + letters[:24]), `"[masked]"`},
		{"a Google key", text("AIza" + letters[:35]), `"[masked]"`},
		{"an npm token", text("npm_" + letters[:36]), `"[masked]"`},
		{"a PEM private key", text("key: " + pem + " end"), `"key: [masked] end"`},
		{"a PEM private key without its end", text("-----BEGIN PRIVATE " + "KEY-----\nMIIEow"), `"[masked]"`},
		{"user and password in a URL", text("psql postgres://me:hunter2@db/x"), `"psql postgres://[masked]@db/x"`},
		{"a password with an @ in it", text("ftp://me:hun@ter2@h/"), `"ftp://[masked]@h/"`},
		{"an Authorization header", text(`curl -H "Authorization: Basic aHVudGVyMg==" http://h`), `"curl -H \"Authorization: [masked]\" http://h"`},
		{"a digest in an Authorization header", text("Authorization: Digest username=\"u\", response=\"6629fae4\"\nHost: h"), `"Authorization: [masked]\nHost: h"`},
		{"a bearer token alone", text("bearer abcdefgh1234"), `"bearer [masked]"`},
		{"a cookie", text("curl -H 'Cookie: sid=hunter2; a=b' h"), `"curl -H 'Cookie: [masked]' h"`},
		{"an assignment", text("PGPASSWORD=hunter2 psql"), `"PGPASSWORD=[masked] psql"`},
		{"a quoted assignment", text(`export API_KEY="hun ter2"; ls`), `"export API_KEY=[masked]; ls"`},
		{"JSON within a text", text(`{"password": "hunter2", "a": 1}`), `"{\"password\": [masked], \"a\": 1}"`},
		{"a query parameter", text("https://h/x?access_token=hunter2&a=b"), `"https://h/x?access_token=[masked]&a=b"`},
		{"an option", text("mysql --password hunter2 -h db"), `"mysql --password [masked] -h db"`},
		{"an option with =", text("mysql --password=hunter2"), `"mysql --password=[masked]"`},

		{"a value under a telling key", `{"api_key":"x","GITHUB_TOKEN":"x","Authorization":"x","dbPassword":"x","client-secret":"x"}`, `{"Authorization":"[masked]","GITHUB_TOKEN":"[masked]","api_key":"[masked]","client-secret":"[masked]","dbPassword":"[masked]"}`},
		{"a telling key over anything", `{"credentials":{"user":"u","id":1},"tokens":["a"],"password":1234}`, `{"credentials":"[masked]","password":"[masked]","tokens":"[masked]"}`},
		{"a telling key over a long value", `{"secret":"` + long + `"}`, `{"secret":"[masked]"}`},
		{"keys that only sound like it", `{"max_tokens":100,"token_count":5,"author":"a","PWD":"/w","use_cookies":true}`, `{"PWD":"/w","author":"a","max_tokens":100,"token_count":5,"use_cookies":true}`},
		{"a list of options", `["--password","hunter2","-v","--name","n"]`, `["--password","[masked]","-v","--name","n"]`},
		{"pairs of name and value", `[{"name":"Authorization","value":"hunter2"},{"name":"Accept","value":"*/*"}]`, `[{"name":"Authorization","value":"[masked]"},{"name":"Accept","value":"*/*"}]`},
		{"a credential as a key", `{"` + awsID + `":1}`, `{"[masked]":1}`},

		{"a git hash stays", text("git show 3f786850e387550fdab836ed7e6dc881de23001b"), `"git show 3f786850e387550fdab836ed7e6dc881de23001b"`},
		{"a URL without a password stays", text("ssh://git@github.com/o/r http://h:80/a@b"), `"ssh://git@github.com/o/r http://h:80/a@b"`},
		{"a name that begins like a key stays", text("task-force/sk-translations-of-old-texts"), `"task-force/sk-translations-of-old-texts"`},
		{"a public key stays", text("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"), `"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"`},

		{"arguments that are not JSON", `{"password": hunter2}`, digestOf(`{"password": hunter2}`)},
		{"arguments that end too early", `{"password": "hunter2"`, digestOf(`{"password": "hunter2"`)},
		{"two values", `{} {"password":"hunter2"}`, digestOf(`{} {"password":"hunter2"}`)},
		{"a text behind the value", `{} hunter2`, digestOf(`{} hunter2`)},
		{"nesting beyond what JSON readers take", strings.Repeat("[", 20_000), digestOf(strings.Repeat("[", 20_000))},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := audit.MaskArguments(json.RawMessage(c.arguments), map[string]bool{"content": true})
			if string(got) != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTheCallersArgumentsAreLeftAlone(t *testing.T) {
	raw := json.RawMessage(`{"password":"hunter2"}`)
	audit.MaskArguments(raw, nil)
	if string(raw) != `{"password":"hunter2"}` {
		t.Errorf("%s", raw)
	}
}

// Wherever a secret stands, and whatever stands around it, it must not come out.
func FuzzMaskArguments(f *testing.F) {
	for _, seed := range []string{"x", "\"", `\`, "a=b ", "https://", "Authorization: ", "[", "{\"a\":", "\xff", "password="} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		secret := "ghp_" + strings.Repeat("Zq9", 12)
		for _, raw := range []string{
			text(before + " " + secret + " " + after),
			`{"password":` + text(before+secret+after) + `}`,
			`{` + text(before) + `:[` + text(secret) + `]}`,
			before + secret + after,
		} {
			got := audit.MaskArguments(json.RawMessage(raw), nil)
			if !json.Valid(got) {
				t.Errorf("%q became %q, which is not JSON", raw, got)
			}
			if bytes.Contains(got, []byte(secret)) && !json.Valid([]byte(raw)) {
				t.Errorf("%q became %q", raw, got)
			}
			if json.Valid([]byte(raw)) && bytes.Contains(got, []byte("Zq9Zq9Zq9")) {
				t.Errorf("%q became %q", raw, got)
			}
		}
	})
}

func BenchmarkMaskArguments(b *testing.B) {
	raw := json.RawMessage(`{"path":"src/internal/server/main.go","pattern":"func .*Handler\\(","limit":100,"env":{"PATH":"/usr/bin:/bin"}}`)
	b.ReportAllocs()
	for b.Loop() {
		audit.MaskArguments(raw, nil)
	}
}
