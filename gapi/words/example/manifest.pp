package { 'nginx': ensure => installed }
file { '/etc/nginx/conf.d/site.conf':
  content => "server { listen 80; root /srv/www; }\n",
  owner   => 'root',
  mode    => '0644',
  require => Package['nginx'],
  notify  => Service['nginx'],
}
service { 'nginx':
  ensure => running,
  enable => true,
}
user { 'deploy':
  ensure => present,
  home   => '/srv/www',
  shell  => '/bin/bash',
}
exec { 'openssl dhparam -out /etc/nginx/dh.pem 2048':
  path    => '/usr/bin:/bin',
  creates => '/etc/nginx/dh.pem',
  require => Package['nginx'],
}
