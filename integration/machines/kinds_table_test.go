package machines

import "github.com/reactivegraph/mgmt/integration/hosts"

// kindCase is one kind of resource on a real machine. Its scripts are run by sh -eu in
// the machine, as root. (There "! a; b" goes on when a ends well: write "! a && b".)
type kindCase struct {
	kind, name string
	setup      string // makes what the kind needs and does not make itself
	have       params // the resource
	gone       params // the resource with which it is removed; nil if that is not a thing
	right      string // ends well where the machine is as have says
	absent     string // ends well where it is as gone says
	drifts     []string
}

// params are the parameters of a resource.
type params map[string]any

// kindCases has one entry for each kind. A drift is made with the tools that people have;
// it may be made several times, and after other ones.
var kindCases = []kindCase{{
	kind:   "file",
	name:   "/etc/app.conf",
	have:   params{"content": "port = 80\n", "mode": "0640", "owner": "daemon", "group": "mail"},
	gone:   params{"state": "absent"},
	right:  `test "$(cat /etc/app.conf)" = "port = 80"; test "$(stat -c %a:%U:%G /etc/app.conf)" = 640:daemon:mail`,
	absent: `! test -e /etc/app.conf`,
	drifts: []string{
		`echo "port = 81" >/etc/app.conf`,
		`echo more >>/etc/app.conf`,
		`rm -f /etc/app.conf`,
		`chmod 0777 /etc/app.conf`,
		`chown root:root /etc/app.conf`,
		`sed -i s/80/8080/ /etc/app.conf`,
		`mv /etc/app.conf /etc/app.old`,
		`truncate -s 0 /etc/app.conf`,
	},
}, {
	kind:   "exec",
	name:   "index",
	have:   params{"cmd": "/usr/bin/touch /var/lib/index", "creates": "/var/lib/index", "watchfiles": []string{"/var/lib/index"}},
	right:  `test -e /var/lib/index`,
	drifts: []string{`rm -f /var/lib/index`},
}, {
	kind:   "host",
	name:   "db",
	have:   params{"ip": "192.0.2.5", "host_aliases": []string{"db.example.com"}},
	gone:   params{"ensure": "absent"},
	right:  `test "$(getent hosts 192.0.2.5 | tr -s " ")" = "192.0.2.5 db db.example.com"`,
	absent: `! getent hosts db && getent hosts localhost`,
	drifts: []string{
		`sed -i /192.0.2.5/d /etc/hosts`,
		`sed -i s/192.0.2.5/192.0.2.6/ /etc/hosts`,
		`sed -i "s/ db.example.com//; s/\tdb.example.com//" /etc/hosts`,
		`echo 127.0.0.1 localhost >/etc/hosts`,
		`rm -f /etc/hosts`,
	},
}, {
	kind:   "crontab",
	name:   "backup",
	setup:  `useradd --create-home alice`,
	have:   params{"user": "alice", "command": "/bin/true", "minute": 5, "hour": []int{2, 14}},
	gone:   params{"user": "alice", "ensure": "absent"},
	right:  `crontab -u alice -l | grep -qx "5 2,14 \* \* \* /bin/true"`,
	absent: `! crontab -u alice -l | grep -q /bin/true`,
	drifts: []string{
		`crontab -u alice -r`,
		`echo "1 1 * * * /bin/false" | crontab -u alice -`,
		`crontab -u alice -l | sed "s/^5 /6 /" | crontab -u alice -`,
		`su alice -c "crontab -r"`,
		`rm -f /var/spool/cron/crontabs/alice`,
	},
}, {
	kind:   "ssh_authorized_key",
	name:   "laptop",
	setup:  `useradd --create-home bob`,
	have:   params{"user": "bob", "type": "ssh-ed25519", "key": "AAAAC3NzaC1lZDI1NTE5AAAAIO6GETXd7xt9QLRqKWCfMA5HdBsS4xeU87ctbVKTluNz", "options": []string{"no-pty"}},
	gone:   params{"user": "bob", "ensure": "absent"},
	right:  `grep -qx "no-pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO6GETXd7xt9QLRqKWCfMA5HdBsS4xeU87ctbVKTluNz laptop" ~bob/.ssh/authorized_keys; su bob -c "ssh-keygen -lf ~/.ssh/authorized_keys"`,
	absent: `! grep -q laptop ~bob/.ssh/authorized_keys`,
	drifts: []string{
		`rm -rf ~bob/.ssh`,
		`su bob -c "rm -f ~/.ssh/authorized_keys"`,
		`sed -i s/no-pty/no-x11-forwarding/ ~bob/.ssh/authorized_keys`,
		`su bob -c "mkdir -p ~/.ssh; echo >~/.ssh/authorized_keys"`,
	},
}, {
	kind:   "ini_setting",
	name:   "/etc/app.ini [main] port",
	setup:  `printf "[main]\n# kept\nport = 1\nother = 2\n" >/etc/app.ini`,
	have:   params{"value": "8080"},
	gone:   params{"ensure": "absent"},
	right:  `grep -qx "port *= *8080" /etc/app.ini`,
	absent: `! grep -q port /etc/app.ini && grep -qx "# kept" /etc/app.ini && grep -qx "other = 2" /etc/app.ini`,
	drifts: []string{
		`sed -i s/8080/80/ /etc/app.ini`,
		`sed -i /port/d /etc/app.ini`,
		`echo port = 9 >>/etc/app.ini`,
	},
}, {
	kind:   "apt_key",
	name:   "9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3",
	have:   params{"content": aptKey},
	gone:   params{"ensure": "absent"},
	right:  `gpg --batch --show-keys --with-colons /etc/apt/keyrings/* | grep -q ^fpr:.*9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3`,
	absent: `! ls /etc/apt/keyrings | grep -i 6F088CD3`,
	drifts: []string{
		`rm -f /etc/apt/keyrings/*`,
		`mv /etc/apt/keyrings/* /root`,
	},
}, {
	kind:   "line",
	name:   "forwarding",
	setup:  `printf "# forward = no\nlast" >/etc/line.conf`,
	have:   params{"file": "/etc/line.conf", "content": "forward = yes", "match": "^#? *forward *="},
	gone:   params{"file": "/etc/line.conf", "content": "forward = yes", "state": "absent"},
	right:  `test "$(grep -c "^forward = yes$" /etc/line.conf)" = 1`,
	absent: `! grep -q forward /etc/line.conf && grep -qx last /etc/line.conf`,
	drifts: []string{
		`sed -i s/yes/no/ /etc/line.conf`,
		`sed -i /forward/d /etc/line.conf`,
	},
}, {
	kind:   "sysctl",
	name:   "net.ipv4.ip_forward",
	have:   params{"value": 1},
	gone:   params{"state": "absent"},
	right:  `test "$(sysctl -n net.ipv4.ip_forward)" = 1; grep -qx "net.ipv4.ip_forward *= *1" /etc/sysctl.d/99-mgmt.conf`,
	absent: `! grep -q ip_forward /etc/sysctl.d/99-mgmt.conf`,
	drifts: []string{
		`sysctl -w net.ipv4.ip_forward=0`,
		`sed -i /ip_forward/d /etc/sysctl.d/99-mgmt.conf`,
		`rm -f /etc/sysctl.d/99-mgmt.conf`,
	},
}, {
	kind:   "mount",
	name:   "/srv/cache",
	setup:  `mkdir -p /srv/cache`,
	have:   params{"device": "tmpfs", "type": "tmpfs", "options": []string{"size=1m", "mode=0750", "nodev"}},
	gone:   params{"state": "absent"},
	right:  `test "$(findmnt -no FSTYPE /srv/cache)" = tmpfs; findmnt -no OPTIONS /srv/cache | grep nodev.*size=1024k; grep -q "^tmpfs.*/srv/cache.*size=1m" /etc/fstab`,
	absent: `! findmnt /srv/cache && ! grep -q /srv/cache /etc/fstab && test -d /srv/cache`,
	drifts: []string{
		`umount /srv/cache`,
		`mount -o remount,size=2m /srv/cache`,
		`mount -o remount,dev /srv/cache`,
		`systemctl --no-block stop srv-cache.mount`,
		`sed -i /cache/d /etc/fstab`,
		`umount -l /srv/cache; : >/etc/fstab`,
		`mount -t tmpfs else /srv/cache`,
		`mount --bind /opt /srv/cache`, // what is mounted on it then is mounted at /opt, too
		`sed -i s/size=1m/size=3m/ /etc/fstab; systemctl daemon-reload`,
		`umount /srv/cache; umount /srv/cache`,
		`rm -f /etc/fstab; umount /srv/cache; systemctl daemon-reload`,
	},
}, {
	kind:  "tar",
	name:  "/srv/site.tar",
	setup: `mkdir -p /srv/site; echo hello >/srv/site/index.html`,
	have:  params{"inputs": []string{"/srv/site"}, "mode": "0600"},
	right: `test "$(tar -xOf /srv/site.tar site/index.html)" = "$(cat /srv/site/index.html)"; test "$(stat -c %a /srv/site.tar)" = 600`,
	drifts: []string{
		`rm -f /srv/site.tar`,
		`echo broken >/srv/site.tar`,
		`date +%N >/srv/site/index.html`,
		`chmod 0644 /srv/site.tar`,
	},
}, {
	kind:  "gzip",
	name:  "/srv/page.gz",
	setup: `echo hello >/srv/page`,
	have:  params{"input": "/srv/page"},
	right: `gzip -dc /srv/page.gz | cmp - /srv/page`,
	drifts: []string{
		`rm -f /srv/page.gz`,
		`gzip -d -f /srv/page.gz`,
		`date +%N >/srv/page`,
	},
}, {
	kind: "download",
	name: "/srv/app",
	setup: `mkdir -p /srv/www; echo one >/srv/www/app
		systemd-run --quiet --unit=www busybox httpd -f -p 127.0.0.1:8000 -h /srv/www
		until busybox wget -q -O /dev/null http://127.0.0.1:8000/app; do sleep 0.02; done`,
	have:  params{"url": "http://127.0.0.1:8000/app", "checksum": "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806", "mode": "0640"},
	right: `test "$(cat /srv/app)" = one; test "$(stat -c %a /srv/app)" = 640`,
	drifts: []string{
		`rm -f /srv/app`,
		`echo two >/srv/app`,
		`chmod 0777 /srv/app`,
	},
}, {
	kind: "svc",
	name: "web",
	setup: `mkdir -p /srv/web; echo here >/srv/web/index.html
		printf "[Service]\nExecStart=busybox httpd -f -p 127.0.0.1:8001 -h /srv/web\n[Install]\nWantedBy=multi-user.target\n" >/etc/systemd/system/web.service
		systemctl daemon-reload`,
	have: params{"state": "running", "startup": "enabled"},
	gone: params{"state": "stopped", "startup": "disabled"},
	right: `systemctl is-enabled web # it is active some time before it listens
		for i in 1 2 3 4 5 6 7 8 9; do test "$(busybox wget -q -O - http://127.0.0.1:8001/)" = here && exit; sleep 0.1; done; false`,
	absent: `! systemctl is-active web && ! systemctl is-enabled web`,
	drifts: []string{
		`systemctl stop web`,
		`systemctl disable web`,
		`systemctl kill -s KILL web`,
		`systemctl disable --now web`,
		`systemctl disable web; systemctl enable --runtime web`, // which is so until the next boot only
		`systemctl mask --runtime --now web`,
		`rm -f /etc/systemd/system/multi-user.target.wants/web.service; systemctl daemon-reload`, // which tells of it
	},
}, {
	kind:  "hostname",
	name:  "renamed",
	have:  params{"pretty_hostname": "A Machine"},
	right: `test "$(hostname) $(cat /etc/hostname) $(. /etc/machine-info; echo "$PRETTY_HOSTNAME")" = "renamed renamed A Machine"`,
	drifts: []string{
		`hostname other`,
		`hostnamectl set-hostname other`,
		`hostnamectl set-hostname --pretty Other`,
		`echo other >/etc/hostname`,
		`rm -f /etc/machine-info`,
	},
}, {
	kind:  "net",
	name:  "lan0",
	setup: `ip link add lan0 type veth peer name lan1; ip link set lan1 up`,
	have: params{
		"mtu": 1400, "addrs": []string{"192.0.2.5/24", "2001:db8::5/64"}, "gateway": "192.0.2.1",
		"routes": []params{{"to": "198.51.100.0/24", "via": "192.0.2.9"}, {"to": "203.0.113.0/24", "via": "10.9.9.9", "onlink": true, "metric": 7}},
	},
	gone: params{"state": "down"},
	right: `ip -o link show lan0 | grep "<.*[<,]UP[,>].* mtu 1400 "; test "$(ip -o addr show dev lan0 scope global | awk "{print \$4}" | sort | tr "\n" " ")" = "192.0.2.5/24 2001:db8::5/64 "
		test "$(ip route show dev lan0 proto static | sed "s/ *$//")" = "default via 192.0.2.1
198.51.100.0/24 via 192.0.2.9
203.0.113.0/24 via 10.9.9.9 metric 7 onlink"; test -z "$(ip route show dev lan0 proto boot)"`,
	absent: `! ip -o link show lan0 | grep "<.*[<,]UP[,>]" && ip link show lan0`,
	drifts: []string{
		`ip link set lan0 down`,
		`ip link set lan0 mtu 1300`,
		`ip addr flush dev lan0`,
		`ip addr del 192.0.2.5/24 dev lan0`,
		`ip addr add 192.0.2.6/24 dev lan0`,
		`ip -6 addr replace 2001:db8::6/64 dev lan0`,
		`ip -6 addr del 2001:db8::5/64 dev lan0`,
		`ip route del default`,
		`ip route replace default via 192.0.2.7 dev lan0`,
		`ip route add 198.18.0.0/15 via 192.0.2.7`,
		`ip route flush dev lan0`,
		`ip link del lan0; ip link add lan0 type veth peer name lan1; ip link set lan1 up`,
	},
}, {
	kind:   "user",
	name:   "carol",
	have:   params{"uid": 4001, "group": "users", "groups": []string{"audio", "games"}, "membership": "inclusive", "shell": "/bin/sh", "comment": "Carol", "homedir": "/home/carol", "managehome": true, "password": "$6$salt$hash", "expiry": "2038-01-19"},
	gone:   params{"state": "absent", "managehome": true},
	right:  `test "$(getent passwd carol)" = "carol:x:4001:100:Carol:/home/carol:/bin/sh"; test "$(id -Gn carol | tr " " "\n" | sort | tr "\n" " ")" = "audio games users "; getent shadow carol | grep -qF ":\$6\$salt\$hash:"; test "$(getent shadow carol | cut -d: -f8)" = 24855; test -d /home/carol`,
	absent: `! id carol && ! getent shadow carol && ! test -e /home/carol`,
	drifts: []string{
		`usermod -s /usr/sbin/nologin carol`,
		`usermod -aG mail carol`,
		`usermod -g mail carol`,
		`usermod -g $(id -g daemon) -G mail,users carol`,
		`gpasswd -d carol audio`,
		`chfn -f Somebody carol`,
		`passwd -d carol`,
		`usermod -u 4002 carol`,
		`userdel carol`,
		`userdel -r carol`,
		`rm -rf /home/carol`,
		`usermod -d /srv/carol carol`,
		`usermod -d /srv/carol -m carol`,
		`chage -E -1 carol`,
		`chage -E 2020-01-01 carol`,
		`usermod -L carol`,
		`sed -i /^carol:/d /etc/passwd`,
	},
}, {
	kind:   "group",
	name:   "team",
	have:   params{"gid": 4100, "members": []string{"daemon"}, "auth_membership": true},
	gone:   params{"state": "absent"},
	right:  `test "$(getent group team)" = team:x:4100:daemon`,
	absent: `! getent group team`,
	drifts: []string{
		`groupdel team`,
		`gpasswd -d daemon team`,
		`gpasswd -a games team`,
		`groupmod -g 4101 team`,
		`sed -i "s/^team:x:4100:.*/team:x:4100:games,mail/" /etc/group`,
		`useradd -M -g team dave; groupmod -g 4102 team; userdel dave`,
	},
}, {
	kind:   "cron",
	name:   "nightly",
	setup:  `printf "[Service]\nType=oneshot\nExecStart=/bin/true\n" >/etc/systemd/system/nightly.service; systemctl daemon-reload`,
	have:   params{"trigger": "OnCalendar", "time": "*-*-* 03:00:00", "persistent": true},
	gone:   params{"state": "absent"},
	right:  `systemctl is-active nightly.timer; systemctl is-enabled nightly.timer; systemctl show -P TimersCalendar nightly.timer | grep 03:00:00; test "$(systemctl show -P Persistent nightly.timer)" = yes`,
	absent: `! systemctl cat nightly.timer && ! systemctl is-active nightly.timer && systemctl cat nightly.service`,
	drifts: []string{
		`systemctl stop nightly.timer`,
		`systemctl disable nightly.timer`,
		`sed -i s/03:00/04:00/ /etc/systemd/system/nightly.timer`,
		`sed -i s/03:00/05:00/ /etc/systemd/system/nightly.timer; systemctl daemon-reload`,
		`rm -f /etc/systemd/system/nightly.timer`,
		`rm -f /etc/systemd/system/nightly.timer; systemctl daemon-reload`,
	},
}, {
	kind:   "pkg",
	name:   "tiny",
	have:   params{"state": "1.0", "allowdowngrade": true},
	gone:   params{"state": "uninstalled"},
	right:  `test "$(dpkg-query -W -f "\${Version} \${db:Status-Status}" tiny)" = "1.0 installed"; test "$(cat /usr/share/tiny)" = one`,
	absent: `! test -e /usr/share/tiny && ! dpkg-query -W tiny`,
	drifts: []string{
		`apt-get -qq remove tiny`,
		`dpkg --purge tiny`,
		`apt-get -qq install tiny=2.0`,
	},
}}

// repository is what apt can install in the machine.
var repository = []hosts.Package{
	{Name: "tiny", Version: "1.0", Files: map[string]string{"/usr/share/tiny": "one"}},
	{Name: "tiny", Version: "2.0", Files: map[string]string{"/usr/share/tiny": "two"}},
}

// aptKey is a key that nobody signs with.
const aptKey = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawFshBYJKwYBBAHaRw8BAQdA7oYRNd3vG31AtGopYJ8wDkd0GxLjF5Tzty1t
UpOW43m0FlRlc3QgYSA8YUBleGFtcGxlLmNvbT6IkAQTFggAOBYhBJ5pSgpqttpD
2meMpsAajmJvCIzTBQJrAWyEAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJ
EMAajmJvCIzTJDABANTQShrmuU3g3eZesLB+XZvyh2aMZ5mGp2p0+E6/SrmYAP9k
qeCfXjxrFHksyCM76YqZeOSW2HpCjXMthKBm2jt6Aw==
=rkBH
-----END PGP PUBLIC KEY BLOCK-----`
