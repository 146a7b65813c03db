file { '/srv/twin': ensure => directory, mode => '0750' }
file { '/srv/twin/plain': content => "plain\n", mode => '0640', owner => 'daemon', group => 'daemon' }
file { '/srv/twin/once': content => "never\n", replace => false, validate_cmd => '/bin/grep -q never %' }
file { '/srv/twin/link': ensure => link, target => 'plain' }
file { '/srv/twin/checked': content => "listen = 80\n", validate_cmd => '/bin/grep -q listen %' }
file { '/srv/twin/copy': ensure => directory, source => '/etc/default', recurse => true }
file { '/srv/twin/modes': ensure => directory, source => '/etc/default', recurse => true, mode => '0640' }
file { '/srv/twin/over': ensure => file, content => "over\n" }
file { '/etc/motd': ensure => absent }
exec { '/bin/ln -s plain /srv/twin/over': creates => '/srv/twin/over', require => File['/srv/twin'], before => File['/srv/twin/over'] }
exec { 'env': command => 'echo "$A" > /srv/twin/env', provider => shell, environment => ['A=b c'], creates => '/srv/twin/env', require => File['/srv/twin'] }
