package audit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
)

// masked is what is stored of a command line.
func masked(t *testing.T, line string) string {
	t.Helper()
	var out struct{ Command string }
	raw := audit.MaskArguments(json.RawMessage(`{"command":`+text(line)+`}`), nil)
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out.Command
}

// In each of these lines HUNTER2 is a credential.
var giveaways = []string{
	`mysql -pHUNTER2`, `mysql -uroot -pHUNTER2 db`, `mysql '-pHUNTER2'`, `mysql -u root -p'HUNTER2 x' db`, `mysql -u root --password=HUNTER2`, `mysql --password HUNTER2`,
	`mysqldump -h db -u root -pHUNTER2 all > x.sql`, `/usr/bin/mysql -pHUNTER2`, `sudo mysql -pHUNTER2`, `docker exec db mysql -pHUNTER2`, `cd x && mysql -pHUNTER2; ls`,
	`bash -c "mysql -pHUNTER2"`, `ssh host 'mysql -pHUNTER2 -e "select 1"'`, `mysqladmin -u root password HUNTER2`, `mariadb -pHUNTER2`, `MYSQL_PWD=HUNTER2 mysql`,
	`curl -u a:HUNTER2 h`, `curl -ua:HUNTER2 h`, `curl -su a:HUNTER2 h`, `curl -sSLu 'a:HUNTER2' h`, `curl --user a:HUNTER2 h`, `curl --user=a:HUNTER2 h`, `curl -U a:HUNTER2 h`, `curl --proxy-user a:HUNTER2 h`,
	`curl -H 'Authorization: Basic HUNTER2' h`, `curl -H "X-Api-Key: HUNTER2" h`, `curl -H "PRIVATE-TOKEN:HUNTER2" h`, `curl -H 'X-Auth-Token: HUNTER2' h`, `curl --oauth2-bearer HUNTER2 h`, `curl -b 'sid=HUNTER2' h`,
	`curl --cookie "a=b; sid=HUNTER2" h`, `curl -E cert.pem:HUNTER2 h`, `curl -d 'user=u&password=HUNTER2' h`, `curl -d '{"password":"HUNTER2"}' h`, `curl --data "{\"api_key\": \"HUNTER2\"}" h`, `curl "h?api_key=HUNTER2&x=y"`, `curl https://u:HUNTER2@h/`,
	`wget --http-password=HUNTER2 h`, `wget --http-password HUNTER2 h`, `wget --password=HUNTER2 h`, `wget --ftp-password HUNTER2 h`, `wget --header='Authorization: Bearer HUNTER2xxxx' h`, `http -a u:HUNTER2 h`, `http --auth u:HUNTER2 h`,
	`x --password=HUNTER2`, `x --password HUNTER2`, `x --password "HUNTER2 y"`, `x -password HUNTER2`, `x --db-pass HUNTER2`, `x --pass HUNTER2`, `x --api-key HUNTER2`, `x --apiKey=HUNTER2`, `x --client-secret HUNTER2`, `x --access-token=HUNTER2`, `x --secret-key HUNTER2`, `x -storepass HUNTER2`,
	`PGPASSWORD=HUNTER2 psql`, `export SECRET_KEY=HUNTER2`, `export DB_PASS=HUNTER2`, `env API_TOKEN=HUNTER2 x`, `SECRET_KEY_BASE=HUNTER2 rails s`, `AWS_SECRET_ACCESS_KEY=HUNTER2 aws s3 ls`, `set DB_PASSWORD=HUNTER2`, `$env:DB_PASSWORD = "HUNTER2"`, `setx API_KEY HUNTER2 & x --api-key=HUNTER2`,
	`export "GITHUB_TOKEN=HUNTER2"`, `REDISCLI_AUTH=HUNTER2 redis-cli`, `docker run -e DB_PASSWORD=HUNTER2 x`, `docker run --env=DB_PASSWORD=HUNTER2 x`, `docker build --build-arg NPM_TOKEN=HUNTER2 .`, `echo "SECRET_KEY=HUNTER2" >> .env`, `printf 'password: HUNTER2\n' > c.yaml`, `cat <<EOF > c.yaml
user: u
password: HUNTER2
EOF`,
	`sshpass -p HUNTER2 ssh h`, `sshpass -pHUNTER2 ssh h`, `docker login -u u -p HUNTER2`, `docker login -pHUNTER2 r.io`, `docker login --password HUNTER2`, `podman login -u u -p HUNTER2 r`, `helm registry login -u u -p HUNTER2 r`, `helm install x --set auth.password=HUNTER2`, `skopeo copy --src-creds u:HUNTER2 a b`,
	`echo HUNTER2 | docker login -u u --password-stdin`, `printf '%s' HUNTER2 | docker login --password-stdin`, `printf %s "HUNTER2" | podman login --password-stdin r`, `docker login --password-stdin <<< HUNTER2`, `docker login --password-stdin <<<"HUNTER2"`, `echo HUNTER2 | sudo -S ls`, `echo "u:HUNTER2" | chpasswd`, `echo u:HUNTER2 | sudo chpasswd`,
	`echo HUNTER2 | passwd --stdin u`, `echo HUNTER2 | gh auth login --with-token`, `gh auth login --with-token <<< HUNTER2`, `echo HUNTER2 | docker secret create x -`, `echo HUNTER2 | cryptsetup luksOpen d n -`, `echo HUNTER2 | gpg --batch --passphrase-fd 0 -d f`, `echo HUNTER2 | openssl enc -aes256 -pass stdin`,
	`aws configure set aws_secret_access_key HUNTER2`, `aws configure set aws_session_token HUNTER2 --profile x`, `npm config set //registry.npmjs.org/:_authToken HUNTER2`, `npm config set //registry.npmjs.org/:_authToken=HUNTER2`, `redis-cli config set requirepass HUNTER2`, `git config --global x.token HUNTER2`, `pip config set global.password HUNTER2`,
	`aws secretsmanager create-secret --secret-string HUNTER2`, `aws rds create-db-instance --master-user-password HUNTER2`, `az login --service-principal -u u -p HUNTER2`, `az storage blob list --account-key HUNTER2`,
	`redis-cli -a HUNTER2`, `redis-cli -h h -a HUNTER2 ping`, `redis-cli AUTH HUNTER2`, `redis-cli auth default HUNTER2`, `mongo -u u -p HUNTER2`, `mongosh --password HUNTER2`, `mongodump -u u -pHUNTER2`, `mongosh "mongodb://u:HUNTER2@h/db"`,
	`psql "host=h password=HUNTER2"`, `psql -c "ALTER USER u PASSWORD 'HUNTER2'"`, `mysql -e "CREATE USER u IDENTIFIED BY 'HUNTER2'"`, `sqlcmd -S h -U u -P HUNTER2`, `sqlcmd -PHUNTER2`, `bcp t out f -U u -P HUNTER2`, `sqlplus u/HUNTER2@db`, `cqlsh -u u -p HUNTER2`, `influx -password HUNTER2`, `clickhouse-client --password HUNTER2`,
	`git clone https://u:HUNTER2@h/r`, `git clone https://HUNTER2aaaaaaaaaaaaaaaaaaaaaaa@github.com/o/r`, `git -c http.extraHeader="Authorization: Bearer HUNTER2xx" fetch`, `git remote set-url origin https://oauth2:HUNTER2@gitlab.com/x`, `svn co --username u --password HUNTER2 h`,
	`openssl rsa -in k -passin pass:HUNTER2`, `openssl pkcs12 -export -passout pass:HUNTER2`, `openssl enc -aes-256-cbc -k HUNTER2`, `openssl enc -aes-256-cbc -pass 'pass:HUNTER2'`, `openssl passwd -6 HUNTER2`, `htpasswd -b f u HUNTER2`, `htpasswd -nbB u HUNTER2`, `htpasswd -c -b f u HUNTER2`,
	`ansible-playbook p.yml --extra-vars 'pw=HUNTER2'`, `ansible-playbook p.yml -e "ansible_password=HUNTER2 x=y"`, `ansible-playbook p.yml -e '{"db_password":"HUNTER2"}'`, `ansible all -e ansible_become_pass=HUNTER2`, `terraform apply -var 'db_password=HUNTER2'`, `terraform apply -var="db_password=HUNTER2"`,
	`kubectl create secret generic s --from-literal=k=HUNTER2`, `kubectl create secret generic s --from-literal k=HUNTER2`, `kubectl create secret generic s --from-literal='k=HUNTER2'`, `kubectl create secret docker-registry r --docker-password=HUNTER2`, `kubectl config set-credentials u --token=HUNTER2`, `kubectl --token HUNTER2 get pods`,
	`vault kv put secret/a b=HUNTER2`, `vault write auth/userpass/login/u password=HUNTER2`, `vault login HUNTER2`, `vault login token=HUNTER2`, `VAULT_TOKEN=HUNTER2 vault read x`, `cargo login HUNTER2`, `twine upload -u u -p HUNTER2 d/*`, `gh secret set X --body HUNTER2`, `gh secret set X -b HUNTER2`, `gh secret set X -bHUNTER2`, `glab auth login -t HUNTER2`, `dotnet nuget push p -k HUNTER2`, `nuget push p -ApiKey HUNTER2`,
	`net use Z: \\s\d /user:u HUNTER2`, `net use \\s\d HUNTER2 /user:u`, `net user u HUNTER2 /add`, `cmdkey /add:h /user:u /pass:HUNTER2`, `smbclient -U u%HUNTER2 //h/s`, `smbclient //h/s -U 'd\u%HUNTER2'`, `smbclient //h/s --user=u%HUNTER2`, `rpcclient -Uu%HUNTER2 h`, `mount -t cifs //h/s /m -o user=u,password=HUNTER2`, `mount -t cifs //h/s /m -o username=u,pass=HUNTER2`, `xfreerdp /u:u /p:HUNTER2 /v:h`, `plink -pw HUNTER2 h`,
	`7z a -pHUNTER2 x.7z d`, `7z x x.7z -pHUNTER2`, `zip -P HUNTER2 x.zip f`, `zip -rP HUNTER2 x.zip d`, `unzip -P HUNTER2 x.zip`, `rar a -hpHUNTER2 x.rar d`, `gpg --passphrase HUNTER2 -d f`, `gpg --batch --passphrase=HUNTER2 -c f`, `ssh-keygen -t ed25519 -N HUNTER2 -f k`, `ssh-keygen -N "HUNTER2" -f k`, `keytool -keystore k -storepass HUNTER2`, `jarsigner -keypass HUNTER2 x.jar a`,
	`snmpget -v3 -l authPriv -u u -A HUNTER2 -X x h oid`, `snmpwalk -v3 -X HUNTER2 h`, `snmpwalk -v2c -c HUNTER2 h`, `snmp -A HUNTER2`, `ipmitool -H h -U u -P HUNTER2 power on`, `ldapsearch -D cn=x -w HUNTER2`, `ldappasswd -s HUNTER2 -D cn=x`, `lftp -u u,HUNTER2 h`, `mosquitto_pub -u u -P HUNTER2 -t x`, `rabbitmqctl add_user u HUNTER2`, `useradd -p HUNTER2 u`, `nmcli d wifi connect ssid password HUNTER2`, `wpa_passphrase ssid HUNTER2`, `security add-generic-password -a u -s s -w HUNTER2`, `etcdctl --user root:HUNTER2 get x`, `poetry publish -u u -p HUNTER2`,
	"for h in a b; do\n  curl -u a:HUNTER2 $h\ndone", "x=$(curl -u a:HUNTER2 h)", "a=`mysql -pHUNTER2`", `true || mysql -pHUNTER2`, `time nice -n 5 mysql -pHUNTER2`,
}

func TestNoCredentialOfACommandIsStored(t *testing.T) {
	for _, line := range giveaways {
		if !strings.Contains(line, "HUNTER2") {
			t.Fatalf("%q holds none", line)
		}
		if got := masked(t, line); strings.Contains(got, "HUNTER2") {
			t.Errorf("%q became %q", line, got)
		} else if !strings.Contains(got, audit.Masked) {
			t.Errorf("%q became %q, which does not say so", line, got)
		}
	}
}

func TestTokensAreKnownByTheirLooks(t *testing.T) {
	for _, token := range []string{
		"ghp_" + letters[:36], "gho_" + letters[:36], "github_pat_" + letters[:22] + "_" + letters, "sk-" + letters, "sk-proj-" + letters, "sk-ant-api03-" + letters, "xoxb-" + letters, "xoxp-" + letters,
		awsID, awsKey, "glpat-" + letters[:20], "npm_" + letters[:36], "pypi-" + letters, "hf_" + letters[:34], "dckr_pat_" + letters[:27], jwt, pem, "AIza" + letters[:35], "sk_live_" + letters[:24],
	} {
		for _, line := range []string{"echo " + token, "x '" + token + "'", "x=" + token, token} {
			if got := masked(t, line); strings.Contains(got, token) {
				t.Errorf("%q became %q", line, got)
			}
		}
	}
}

// Nothing of these lines is a credential.
func TestOrdinaryLinesStay(t *testing.T) {
	for _, line := range []string{
		`tar -xpf a.tar`, `mkdir -p a/b`, `cp -p a b`, `docker run -p 80:80 nginx`, `docker run --rm -it -u 1000:1000 x`, `ssh -p 22 host`, `scp -P 22 a h:b`, `nmap -p 80 h`, `ps -u root`, `ls -la`, `sort -k 2 f`, `git log -p -- f`, `patch -p1 < f`, `sed -u s/a/b/`, `psql -p 5432 -U postgres db`, `mysql -u root -P 3306 -h db`, `mysql -u root -p db`, `mysql -p`,
		`curl -o x http://h/`, `curl -sSL https://h/x -o y`, `curl -X POST -d a=b h`, `curl -b cookies.txt h`, `curl -H 'Accept: application/json' h`, `curl -u user h`, `curl http://h:8080/a@b`, `grep -A 3 x f`, `grep -rn "password" src`, `grep -c token f`, `tail -n 5 f`, `redis-cli -p 6379 ping`, `redis-cli get a`, `mongosh --port 27017`, `zip -r a.zip d`, `unzip -p x.zip f`, `7z a -t7z x.7z d`, `7z x a.7z -y`, `7z x a.7z -p`,
		`docker login -u u`, `docker login r.io`, `docker push r.io/token:latest`, `python -m pip install x`, `go test -run TestToken ./...`, `cat token.go`, `cat secrets.md`, `token_count=5`, `max_tokens=100`, `passwd root`, `sudo -u postgres psql`, `git commit -m "rotate the token: done"`, `git commit -m 'fix password reset'`, `git push origin main`, `git clone git@github.com:o/r`, `git clone https://github.com/o/r`, `ssh://git@github.com/o/r`, `git config credential.helper store`, `git config user.name x`,
		`openssl req -new -key k.pem`, `openssl rsa -in k -passin env:X`, `openssl rsa -in k -passin file:p`, `openssl passwd -6`, `htpasswd -c f u`, `vault kv get secret/a`, `vault kv put -h`, `kubectl get secret x -o yaml`, `kubectl create secret generic s --from-file=f`, `kubectl -n x logs p`, `aws configure set region eu-west-1`, `aws s3 cp a b`, `npm config set registry https://r`, `npm run build -- --port 80`, `echo hello | grep secret`, `echo hello | tee f`, `echo x | sudo tee /etc/f`, `echo hi | docker build -`,
		`ok pass=3 fail=0`, `--- PASS: TestFoo (0.00s)`, `PWD=/w ls`, `OLDPWD=/x`, `PASSWORD_FILE=/run/x ./a`, `x --password-file /run/x`, `x --token-url https://h/t`, `x --secret-name n`, `AWS_ACCESS_KEY_ID_FILE=x`, `tokenizer=bpe`, `author=me`, `x --author me`, `bypass=yes`, `compass -p x`, `monkey=1`, `keyboard: us`, `key=value`, `sort --key 2`, `x --keep-going`, `useAuth=true`, `password=true`, `tr -d '\n' <a >b`, `find . -name '*.go' -print0 | xargs -0 gofmt -l`,
		`net use`, `net user`, `smbclient -L //h -U u`, `snmpwalk -v2c h`, `ssh-keygen -t ed25519 -f k`, `ssh-keygen -l -f k`, `gpg --verify a.sig`, `useradd -m u`, `make -j8 PASS=1`, `awk -F: '{print $1}' /etc/passwd`, `cut -d: -f1 /etc/passwd`, `docker exec -it db sh`, `terraform apply -var region=eu`, `ansible-playbook -i hosts p.yml`, `ldapsearch -x -b dc=x`, `wget -q -O - http://h`, `http GET h/x a==b`, `it's a "test" of (quotes) & more; done`, `a <<EOF`, `sed 's/:/=/'`, `for i in 1 2; do echo $i; done`,
	} {
		if got := masked(t, line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestNoCredentialAmongArgumentsIsStored(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"command":"mysql","args":["-uroot","-pHUNTER2","db"]}`, `{"args":["-uroot","-p[masked]","db"],"command":"mysql"}`},
		{`{"command":"curl","args":["-u","a:HUNTER2","h"]}`, `{"args":["-u","a:[masked]","h"],"command":"curl"}`},
		{`{"argv":["docker","login","-p","HUNTER2"]}`, `{"argv":["docker","login","-p","[masked]"]}`},
		{`{"argv":["bash","-c","mysql -pHUNTER2"]}`, `{"argv":["bash","-c","mysql -p[masked]"]}`},
		{`["sshpass","-p","HUNTER2","ssh","h"]`, `["sshpass","-p","[masked]","ssh","h"]`},
		{`{"command":"mysql","args":["-pHUNTER2",` + text(strings.Repeat("x", 300)) + `]}`, `{"args":["-p[masked]",` + digestOf(strings.Repeat("x", 300)) + `],"command":"mysql"}`},
		{`{"command":"x","args":["-p","80:80"]}`, `{"args":["-p","80:80"],"command":"x"}`},
		{`[1,"-p","80"]`, `[1,"-p","80"]`},
	} {
		if got := audit.MaskArguments(json.RawMessage(c.raw), nil); string(got) != c.want {
			t.Errorf("%s\nbecame %s\nwant   %s", c.raw, got, c.want)
		}
	}
}

// What is kept of a line is all there, as it was.
func FuzzMaskedLines(f *testing.F) {
	for _, seed := range append(giveaways, `a 'b`, `"`, `\`, "a\\\n b", `<<< `, `a | | b`, ` ; `) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 200 || !json.Valid([]byte(text(line))) {
			return
		}
		got := masked(t, line)
		if !strings.Contains(got, audit.Masked) && got != string([]rune(line)) {
			t.Errorf("%q became %q", line, got)
		}
		if again := masked(t, got); strings.Contains(again, "HUNTER2") && !strings.Contains(got, "HUNTER2") {
			t.Errorf("%q became %q", got, again)
		}
	})
}
