class { 'tftp': directory => '/srv/tftp', address => '127.0.0.1', inetd => false }
tftp::file { 'pxelinux.0': ensure => file, content => 'x' }
