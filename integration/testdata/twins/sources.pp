file { '/srv/twin': ensure => directory }
file { '/srv/twin/main.cf': source => 'puppet:///modules/postfix/main.cf', mode => '0640', owner => 'daemon' }
file { '/srv/twin/lenses': ensure => directory, source => 'puppet:///modules/postfix/lenses', recurse => true, mode => '0644' }
file { '/srv/twin/psql': content => "#!/bin/sh\necho \"\$PGPASSWORD\" >>/srv/twin/asked\ntest \$(wc -l </srv/twin/asked) -lt 2 || echo 1\n", mode => '0755' }
postgresql_conn_validator { 'ready': psql_path => '/srv/twin/psql', run_as => 'root', db_name => 'app', db_password => 'twin', tries => 3, sleep => 0, require => File['/srv/twin/psql'] }
exec { 'after': command => '/usr/bin/touch /srv/twin/after', creates => '/srv/twin/after', require => Postgresql_conn_validator['ready'] }
