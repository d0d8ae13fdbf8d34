package audit

import (
	"strings"
	"sync"
)

// takers are programs and the options by which they take a credential that does not look like one.
// A program with a blank in it, as "docker login", is one with a word that follows. Of an option,
//
//	-p     the next word is the credential
//	-p~    what is attached is, and the next word is not
//	-p*    either is
//	-u*:   the part behind the first colon; likewise % , and /; = is all of it if it has one
//	$1     the last word is, of at least so many that are no options
//	$batch likewise of two, where -b says so
//	$share every word is that names no share
//	=      the value of each NAME=VALUE is
var takers = []struct{ programs, options string }{
	{"mysql,mysqldump,mysqladmin,mysqlimport,mysqlshow,mysqlcheck,mysqlpump,mysqlbinlog,mysqlslap,mysqlsh," +
		"mariadb,mariadb-dump,mariadb-admin,mariadb-import,mycli,mydumper,xtrabackup,mariabackup", "-p~"},
	{"mysqladmin password", "$1"},
	{"mongo,mongosh,mongodump,mongorestore,mongoexport,mongoimport,mongostat,mongotop,cqlsh,beeline,sshpass,twine", "-p*"},
	{"redis-cli,valkey-cli,keydb-cli", "-a --pass"},
	{"redis-cli auth,valkey-cli auth,keydb-cli auth", "$1"},
	{"sqlcmd,bcp,osql,tsql,ipmitool,mosquitto_pub,mosquitto_sub,zip,zipcloak,unzip,zipinfo", "-P*"},
	{"sqlplus,sqlldr,expdp,impdp", "$user/password"},
	{"ldapsearch,ldapmodify,ldapadd,ldapdelete,ldapmodrdn,ldapcompare,ldapwhoami,ldapexop", "-w*"},
	{"ldappasswd", "-w* -s* -a*"},
	{"snmp", "-A* -X* -c*"},
	{"curl", "-u*: -U*: --user: --proxy-user: -b*= --cookie= -E*: --cert: --proxy-cert: --oauth2-bearer"},
	{"http,https,xh", "-a --auth"},
	{"docker login,podman login,buildah login,nerdctl login,helm login,skopeo login,crane login," +
		"oras login,az login,oc login,poetry publish", "-p*"},
	{"skopeo,buildah,podman", "--creds: --src-creds: --dest-creds:"},
	{"etcdctl", "--user:"},
	{"smbclient,smbget,rpcclient,winexe,smbcacls,smbtree,net,wmic", "-U*% --user%"},
	{"lftp", "-u*,"},
	{"7z,7za,7zr,7zz,rar,unrar", "-p~ -hp~"},
	{"openssl", "-k -K -hmac pass:~"},
	{"openssl passwd", "$1"},
	{"ssh-keygen", "-N* -P*"},
	{"useradd,usermod,ncftp,ncftpput,ncftpget,rdesktop,psexec,psexec64,evil-winrm,crackmapexec,netexec,nxc", "-p"},
	{"plink,pscp,psftp,putty", "-pw"},
	{"xfreerdp,xfreerdp3,wfreerdp", "/p:~"},
	{"schtasks", "/rp"},
	{"htpasswd,mosquitto_passwd", "$batch"},
	{"rabbitmqctl add_user,rabbitmqctl change_password,rabbitmqctl authenticate_user", "$2"},
	{"vault login,cargo login,rclone obscure", "$1"},
	{"vault put,vault write,vault patch", "="},
	{"wpa_passphrase,b2 authorize-account,b2 authorize_account,mc alias,dscl -passwd,net user", "$2"},
	{"net use", "$share"},
	{"gh secret", "-b* --body"},
	{"glab login,doctl,flyctl,fly,vercel,influx", "-t"},
	{"dotnet push", "-k"},
	{"nmcli", "password wifi-sec.psk 802-11-wireless-security.psk"},
	{"iwconfig", "key"},
	{"pdftk", "user_pw owner_pw input_pw"},
	{"security", "-w -p -P"},
	{"swaks", "-ap"},
	{"convertto-securestring", "$1"},
}

// taker is the options of a program, where its first word was there before.
type taker struct {
	first   string
	options []option
}

// programs are the takers by the last word of their names, put together when a command is first masked.
var programs = sync.OnceValue(func() map[string][]taker {
	all := map[string][]taker{}
	for _, row := range takers {
		for name := range strings.SplitSeq(row.programs, ",") {
			first, last, two := strings.Cut(name, " ")
			if !two {
				first, last = "", first
			}
			t := taker{first: first}
			for _, w := range strings.Fields(row.options) {
				t.options = append(t.options, optionOf(last, w))
			}
			all[last] = append(all[last], t)
		}
	}
	return all
})

// optionOf reads one of the words of the table; last is the last word of its program.
func optionOf(last, w string) option {
	if w == "=" || w[0] == '$' {
		return option{flag: last, special: w}
	}
	o := option{separate: true}
	if n := len(w) - 1; strings.IndexByte(":%,=", w[n]) >= 0 {
		w, o.part = w[:n], w[n:]
	}
	if strings.HasSuffix(w, "~") {
		o.separate, o.attached = false, true
	}
	o.attached = o.attached || strings.HasSuffix(w, "*")
	o.flag = strings.TrimRight(w, "~*")
	return o
}
