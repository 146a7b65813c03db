class { 'systemd': manage_journald => true, journald_settings => { 'Storage' => 'persistent', 'MaxRetentionSec' => '5day' } }
systemd::unit_file { 'app.service': content => "[Service]\nExecStart=/bin/true\n" }
systemd::dropin_file { 'app.conf': unit => 'app.service', content => "[Service]\nNice=5\n" }
systemd::tmpfile { 'app.conf': content => "d /run/app\n" }
